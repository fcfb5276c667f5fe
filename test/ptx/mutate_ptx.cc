#include "test/ptx/mutate_ptx.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <vector>

namespace rouse::test {
namespace {

using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t count) { return random() % count; }

template <std::size_t N>
std::string_view any(Random& random, const std::array<std::string_view, N>& of) {
  return of[below(random, N)];
}

constexpr std::array<std::string_view, 26> kTypes = {".u8",  ".u16", ".u32", ".u64",  ".s8",   ".s16",    ".s32",  ".s64",    ".b8",  ".b16",   ".b32",   ".b64",  ".b128",
                                                     ".f16", ".f32", ".f64", ".pred", ".bf16", ".f16x2",  ".tf32", ".bf16x2", ".e4m3", ".u16x2", ".u8x4", ".u4x8", ".b1024"};
constexpr std::array<std::string_view, 40> kModifiers = {".sat",  ".ftz",    ".rn",     ".rz",     ".rm",    ".rp",    ".rni",  ".rzi",   ".lo",      ".hi",
                                                         ".wide", ".cc",     ".approx", ".full",   ".uni",   ".sync",  ".global", ".shared", ".local", ".const",
                                                         ".param", ".v2",    ".v4",     ".v8",     ".eq",    ".ltu",   ".nan",  ".and",   ".xor",     ".add",
                                                         ".cas",  ".volatile", ".relaxed", ".acquire", ".gpu", ".sys", ".idx",  ".bfly",  ".aligned", ".m16n8k16"};
constexpr std::array<std::string_view, 64> kOperations = {
    "add",     "sub",   "mul",   "mad",    "div",     "rem",   "abs",    "neg",     "min",      "max",    "popc",   "clz",     "bfind",  "brev",   "bfe",      "bfi",
    "fma",     "rcp",   "sqrt",  "rsqrt",  "sin",     "cos",   "lg2",    "ex2",     "tanh",     "setp",   "set",    "selp",    "slct",   "and",    "or",       "xor",
    "not",     "cnot",  "lop3",  "shf",    "shl",     "shr",   "prmt",   "mov",     "ld",       "st",     "cvta",   "cvt",     "isspacep", "atom", "red",      "bar",
    "barrier", "shfl",  "vote",  "match",  "redux",   "bra",   "brx",    "call",    "ret",      "exit",   "trap",   "mma",     "ldmatrix", "cp",   "mbarrier", "tex"};
constexpr std::array<std::string_view, 22> kNumbers = {"0",  "1",   "-1",  "2",  "31", "32", "63", "64", "255", "65536", "2147483647", "-2147483648", "4294967295",
                                                       "9223372036854775807", "-9223372036854775808", "18446744073709551615", "18446744073709551616",
                                                       "0x", "0f7fc00000", "0d7ff0000000000000", "0fffffffffff", "1e400"};
constexpr std::array<std::string_view, 12> kStatements = {
    ".reg .b32 %z<4000000000>;", ".shared .align 4096 .b8 big[18446744073709551615];", ".local .b8 deep[2147483648];", ".param .b64 p;", "@%p1 bra L0;", "L0:",
    ".pragma \"nounroll\";",      ".loc 1 1 1",                                          ".branchtargets L0, L0;",       "{",             "}",            "bar.sync 0;"};

// A statement is what ends with ;, {, } or a label's colon, with what stands before it.
std::vector<std::string> statementsOf(std::string_view text) {
  std::vector<std::string> statements(1);
  bool quoted = false;
  for (const char c : text) {
    statements.back() += c;
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == ';' || c == '{' || c == '}' || c == ':' || c == '\n') && statements.back().size() > 1) statements.emplace_back();
  }
  if (statements.back().empty()) statements.pop_back();
  return statements;
}

std::string joined(const std::vector<std::string>& statements, std::size_t most) {
  std::string text;
  for (const std::string& one : statements) {
    if (text.size() + one.size() > most) break;
    text += one;
  }
  return text;
}

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%'; }

struct Word {
  std::size_t at, length;
};

// Names, numbers, and modifiers with their dot.
std::vector<Word> wordsOf(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + (text[i] == '.' || text[i] == '-');
    while (end < text.size() && isWord(text[end])) ++end;
    if (end > i + (text[i] == '.' || text[i] == '-')) {
      words.push_back({i, end - i});
      i = end;
    } else {
      ++i;
    }
  }
  return words;
}

// Another of its kind, or of another.
std::string another(Random& random, std::string_view word, std::string_view text) {
  if (below(random, 8) == 0) return std::string(any(random, kNumbers));
  if (word.front() == '.') return std::string(below(random, 2) == 0 ? any(random, kTypes) : any(random, kModifiers));
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 || word.front() == '-') return std::string(any(random, kNumbers));
  if (word.front() != '%' && below(random, 2) == 0) return std::string(any(random, kOperations));
  const std::vector<Word> words = wordsOf(text);
  std::vector<Word> same;
  std::copy_if(words.begin(), words.end(), std::back_inserter(same), [&](const Word& one) { return (text[one.at] == '%') == (word.front() == '%'); });
  const std::vector<Word>& of = same.empty() ? words : same;
  if (of.empty()) return std::string(any(random, kNumbers));
  const Word& chosen = of[below(random, of.size())];
  return std::string(text.substr(chosen.at, chosen.length));
}

void changeWord(Random& random, std::string& statement, std::string_view text) {
  const std::vector<Word> words = wordsOf(statement);
  if (words.empty()) return;
  const Word& word = words[below(random, words.size())];
  const std::string_view old = std::string_view(statement).substr(word.at, word.length);
  switch (below(random, 6)) {
    case 0:
      statement.erase(word.at, word.length);
      break;
    case 1:
      statement.insert(word.at + word.length, std::string(below(random, 2) == 0 ? any(random, kTypes) : any(random, kModifiers)));
      break;
    default: {
      const std::string with = another(random, old, text);
      statement.replace(word.at, word.length, with);
    }
  }
}

void changeOnce(Random& random, std::vector<std::string>& statements, std::string_view text) {
  const std::size_t here = below(random, statements.size()), there = below(random, statements.size());
  const auto at = [&](std::size_t i) { return statements.begin() + static_cast<std::ptrdiff_t>(i); };
  switch (below(random, 16)) {
    case 0:
      if (statements.size() > 1) statements.erase(at(here));
      break;
    case 1:
      statements.insert(at(here), std::string(statements[there]));
      break;
    case 2:
      std::swap(statements[here], statements[there]);
      break;
    case 3:
      statements.insert(at(here), std::string(any(random, kStatements)) + "\n");
      break;
    case 4: {  // one statement often, or blocks in blocks
      const std::string often = below(random, 2) == 0 ? std::string("{") : statements[there];
      statements.insert(at(here), std::size_t{1} << below(random, 12), often);
      break;
    }
    case 5:
      statements.resize(here + 1);
      break;
    case 6: {  // a run of them, elsewhere
      const std::size_t count = std::min<std::size_t>(1 + below(random, 16), statements.size() - there);
      const std::vector<std::string> run(at(there), at(there + count));
      statements.insert(at(here), run.begin(), run.end());
      break;
    }
    default:
      changeWord(random, statements[here], text);
  }
}

}  // namespace

std::string mutatePtx(std::string_view text, std::uint32_t seed, std::size_t most) {
  Random random(seed);
  std::vector<std::string> statements = statementsOf(text);
  if (statements.empty()) statements.emplace_back(".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n");
  for (std::size_t changes = 1 + below(random, 4); changes != 0 && !statements.empty(); --changes) changeOnce(random, statements, text);
  return joined(statements, most);
}

std::string crossPtx(std::string_view one, std::string_view other, std::uint32_t seed, std::size_t most) {
  Random random(seed);
  std::vector<std::string> statements = statementsOf(one);
  const std::vector<std::string> more = statementsOf(other);
  if (statements.empty() || more.empty()) return std::string(one.substr(0, most));
  const std::size_t from = below(random, more.size()), count = std::min<std::size_t>(1 + below(random, 32), more.size() - from);
  const auto first = more.begin() + static_cast<std::ptrdiff_t>(from);
  statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(below(random, statements.size())), first, first + static_cast<std::ptrdiff_t>(count));
  return joined(statements, most);
}

}  // namespace rouse::test
