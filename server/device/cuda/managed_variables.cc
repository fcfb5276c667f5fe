#include "server/device/cuda/managed_variables.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <span>

#include "server/device/cuda/ptx_tokens.h"

namespace rouse::cuda {
namespace {

constexpr std::string_view kOurs = "rouse_managed_", kRegister = "%rouse_managed_", kValue = "rouse_managed_value_";

struct Edit {
  std::size_t at = 0, bytes = 0;
  std::string text;
};

// Bytes of an element of a declaration's type; 0: it says none.
std::uint64_t elementBytes(std::span<const std::string_view> words) {
  std::uint64_t bytes = 0, elements = 1;
  for (const std::string_view w : words) {
    if (w == ".v2") elements = 2;
    if (w == ".v4") elements = 4;
    for (const auto& [types, size] : {std::pair<std::string_view, std::uint64_t>{" .b8 .u8 .s8 ", 1}, {" .b16 .u16 .s16 .f16 .bf16 ", 2}, {" .b32 .u32 .s32 .f32 .f16x2 .bf16x2 ", 4}, {" .b64 .u64 .s64 .f64 ", 8}, {" .b128 ", 16}})
      if (w.starts_with(".") && types.find(" " + std::string(w) + " ") != std::string_view::npos) bytes = size;
  }
  return bytes * elements;
}

// What a text's outermost braces hold.
enum class Block { function, section, value };

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) {}

  Result<ManagedText> run() {
    split();
    if (Status status = declarations(); !status) return status.error();
    ManagedText made;
    if (names_.empty()) return made;
    if (Status status = uses(); !status) return status.error();
    made.variables = std::move(variables_);
    made.ptx = edited();
    return made;
  }

 private:
  using Words = std::span<const std::string_view>;

  // Directives that end with their line are no part of a statement.
  void split() {
    PtxTokens tokens(text_);
    bool begins = true;
    for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
      if (begins && (token == ".version" || token == ".target" || token == ".address_size" || token == ".file" || token == ".loc")) {
        tokens.skipLine();
        continue;
      }
      words_.push_back(token);
      begins = token == ";" || token == "{" || token == "}" || token == ":";
    }
  }

  std::size_t at(std::string_view word) const { return static_cast<std::size_t>(word.data() - text_.data()); }
  std::string_view word(std::size_t index) const { return index < words_.size() ? words_[index] : std::string_view(); }

  Error refused(std::string_view word, const std::string& why) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at(word)), '\n');
    return Error{CudaError::notSupported, "managed variable " + std::string(word) + ", line " + std::to_string(line) + " of its PTX: " + why +
                                              "; use cudaMallocManaged, or __device__ and copies"};
  }

  // One after another, the declarations outside braces (without what follows a brace), and what braces hold.
  template <class Declared, class Inside>
  Status each(Declared&& declared, Inside&& inside) {
    for (std::size_t begin = 0; begin < words_.size();) {
      std::size_t end = begin;
      while (end < words_.size() && words_[end] != ";" && words_[end] != "{") ++end;
      const Words head(words_.data() + begin, end - begin);
      if (Status status = declared(head); !status) return status;
      if (word(end) != "{") {
        begin = end + 1;
        continue;
      }
      const auto says = [&](std::string_view which) { return std::find(head.begin(), head.end(), which) != head.end(); };
      const Block block = says("=") ? Block::value : says(".func") || says(".entry") ? Block::function : Block::section;
      std::size_t close = end + 1;
      for (int depth = 1; close < words_.size(); ++close) {
        if (words_[close] == "{") ++depth;
        if (words_[close] == "}" && --depth == 0) break;
      }
      if (Status status = inside(block, end, std::min(close, words_.size())); !status) return status;
      begin = close + 1;
      if (block == Block::value && word(begin) == ";") ++begin;
    }
    return {};
  }

  Status declarations() {
    return each(
        [&](Words head) -> Status {
          const auto managed = std::find(head.begin(), head.end(), ".managed");
          if (managed == head.end()) return {};
          const auto known = std::find_if(head.begin(), head.end(), [](std::string_view w) { return w == "[" || w == "="; });
          const std::string_view name = known == head.begin() ? head.back() : *(known - 1);
          if (!isWord(name) || name[0] == '.') return refused(*managed, "a declaration without a name");
          const auto attribute = std::find(head.begin(), head.end(), ".attribute");
          if (head.end() - attribute < 4 || attribute[1] != "(" || attribute[2] != ".managed" || attribute[3] != ")")
            return refused(name, "it has further attributes");
          if (std::find(head.begin(), head.end(), ".extern") != head.end()) return refused(name, "it belongs to another module");
          if (names_.empty()) table_ = at(head.front());
          if (!names_.emplace(name, names_.size()).second) return refused(name, "declared twice");
          variables_.push_back({std::string(name), known == head.end() || *known != "[" ? 0 : shorten(head, Words(known, head.end()))});
          edits_.push_back({at(attribute[0]), at(attribute[3]) + 1 - at(attribute[0]), ""});
          edits_.push_back({at(name), name.size(), managedValue(name)});
          declared_.insert(name.data());
          return {};
        },
        [](Block, std::size_t, std::size_t) -> Status { return {}; });
  }

  // Leaves one element of an array without a value. Its bytes; 0: nothing is changed.
  std::uint64_t shorten(Words head, Words extents) {
    std::uint64_t bytes = elementBytes(head);
    std::vector<Edit> ones;
    for (std::size_t i = 0; i < extents.size(); i += 3) {
      std::uint64_t extent = 0;
      if (extents.size() - i < 3 || extents[i] != "[" || extents[i + 2] != "]") return 0;
      const std::string_view digits = extents[i + 1];
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
      if (error != std::errc{} || end != digits.data() + digits.size() || __builtin_mul_overflow(bytes, extent, &bytes)) return 0;
      ones.push_back({at(digits), digits.size(), "1"});
    }
    if (bytes != 0) edits_.insert(edits_.end(), ones.begin(), ones.end());
    return bytes;
  }

  Status uses() {
    for (const std::string_view w : words_)
      if (w.starts_with(kOurs) || w.starts_with(kRegister)) return refused(w, "the name is kept for what is put in the place of managed variables");
    return each(
        [&](Words head) -> Status {
          for (const std::string_view w : head)
            if (names_.contains(w) && !declared_.contains(w.data())) return refused(w, "named by another declaration");
          return {};
        },
        [&](Block block, std::size_t begin, std::size_t end) -> Status {
          if (block == Block::function) return body(begin, end);
          for (std::size_t i = begin; i < end; ++i) {
            if (!names_.contains(words_[i])) continue;
            if (block == Block::value) return refused(words_[i], "its address is another variable's initial value");
            // Debugging information names memory, not what is in a register.
            edits_.push_back({at(words_[i]), words_[i].size(), managedValue(words_[i])});
          }
          return {};
        });
  }

  // From the brace that opens it to the one that closes it.
  Status body(std::size_t begin, std::size_t end) {
    std::set<std::size_t> used;
    std::size_t statement = begin + 1;
    int brackets = 0;
    for (std::size_t i = begin + 1; i < end; ++i) {
      const std::string_view w = words_[i];
      if (w == ";" || w == "{" || w == "}" || w == ":") {
        statement = i + 1;
        brackets = 0;
      }
      brackets += w == "[" ? 1 : w == "]" ? -1 : 0;
      const auto found = names_.find(w);
      if (found == names_.end()) continue;
      if (word(statement).starts_with(".") || i == statement || word(i + 1) == ":") return refused(w, "another thing of the function's has its name");
      const std::string place = std::string(kRegister) + std::to_string(found->second);
      used.insert(found->second);
      edits_.push_back({at(w), w.size(), place});
      if (brackets > 0 || (word(i + 1) != "+" && word(i + 1) != "-" && word(i + 1) != "[")) continue;
      // An address so far from it is a constant to the assembler; from a register it has to be computed.
      std::size_t operation = statement;
      if (word(operation) == "@") operation += word(operation + 1) == "!" ? 3 : 2;
      if (word(i + 1) != "+" || (word(operation) != "mov.u64" && word(operation) != "mov.b64" && word(operation) != "mov.s64") || word(i - 1) != ",")
        return refused(w, "an address near it is used in a way that cannot be followed");
      edits_.push_back({at(word(operation)), word(operation).size(), "add.s64"});
      edits_.push_back({at(word(i + 1)), 1, ","});
    }
    std::string loads;
    for (const std::size_t place : used) {
      const std::string name = std::string(kRegister) + std::to_string(place);
      loads += "\n\t.reg .b64 " + name + ";\n\tld.global.u64 " + name + ", [" + std::string(kManagedPlaces) + "+" + std::to_string(8 * place) + "];";
    }
    edits_.push_back({at(words_[begin]) + 1, 0, loads});
    return {};
  }

  std::string edited() {
    edits_.push_back({table_, 0, ".visible .global .align 8 .u64 " + std::string(kManagedPlaces) + "[" + std::to_string(names_.size()) + "];\n"});
    // What is put in front of a word comes before what takes its place.
    std::sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) { return a.at != b.at ? a.at < b.at : a.bytes < b.bytes; });
    std::string made;
    std::size_t from = 0;
    for (const Edit& edit : edits_) {
      made.append(text_, from, edit.at - from).append(edit.text);
      from = edit.at + edit.bytes;
    }
    return made.append(text_, from);
  }

  std::string_view text_;
  std::vector<std::string_view> words_;
  std::map<std::string, std::size_t, std::less<>> names_;  // -> place in the table
  std::vector<ManagedVariable> variables_;                 // by that
  std::set<const char*> declared_;                         // where their declarations name them
  std::size_t table_ = 0;                                  // before the first of them
  std::vector<Edit> edits_;
};

}  // namespace

std::string managedValue(std::string_view name) { return std::string(kValue) + std::string(name); }

bool isOfManaged(std::string_view name) { return name.starts_with(kOurs); }

Result<ManagedText> reachManagedThroughTable(std::string_view ptx) {
  if (ptx.find(".managed") == std::string_view::npos) return ManagedText{};
  return Rewriter(ptx).run();
}

}  // namespace rouse::cuda
