#include "server/device/ptx/source_line.h"

#include <charconv>

namespace rouse::ptx {
namespace {

constexpr std::string_view kBlanks = " \t\r";

void skipBlanks(std::string_view& line) { line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size())); }

bool skipWord(std::string_view& line, std::string_view word) {
  skipBlanks(line);
  if (!line.starts_with(word) || line.size() == word.size() || kBlanks.find(line[word.size()]) == std::string_view::npos) return false;
  line.remove_prefix(word.size());
  return true;
}

std::optional<std::uint32_t> number(std::string_view& line) {
  skipBlanks(line);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return value;
}

// `.file number "name"`, anywhere in the module.
std::string fileName(std::string_view text, std::uint32_t wanted) {
  for (std::size_t at = text.find(".file"); at != std::string_view::npos; at = text.find(".file", at + 1)) {
    std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (!skipWord(line, ".file") || number(line) != wanted) continue;
    const std::size_t open = line.find('"'), close = line.find('"', open + 1);
    if (open != std::string_view::npos && close != std::string_view::npos) return std::string(line.substr(open + 1, close - open - 1));
  }
  return {};
}

bool beginsFunction(std::string_view line) {
  skipBlanks(line);
  for (const std::string_view word : {".visible", ".weak", ".extern", ".entry", ".func"})
    if (line.starts_with(word)) return true;
  return false;
}

// What a `.loc` says: `.loc file line column[, function_name label[+n]][, inlined_at file line column]`, files by number.
struct Location {
  std::uint32_t file = 0, line = 0;
  bool inlined = false;
  std::uint32_t outerFile = 0, outerLine = 0;
};

std::optional<Location> located(std::string_view line) {
  constexpr std::string_view kInlined = "inlined_at";
  if (!skipWord(line, ".loc")) return std::nullopt;
  const auto file = number(line), row = number(line);
  if (!file || !row) return std::nullopt;
  Location found{*file, *row};
  if (const std::size_t at = line.find(kInlined); at != std::string_view::npos) {
    line.remove_prefix(at + kInlined.size());
    const auto outerFile = number(line), outerLine = number(line);
    found.inlined = outerFile && outerLine;
    if (found.inlined) found.outerFile = *outerFile, found.outerLine = *outerLine;
  }
  return found;
}

// The last one before `end`, of the same function, that the caller wants. `end` becomes where its line begins.
template <class Wanted>
std::optional<Location> before(std::string_view text, std::size_t& end, Wanted wanted) {
  while (end > 0) {
    const std::size_t newline = text.rfind('\n', end - 1);
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = text.substr(begin, end - begin);
    if (beginsFunction(line)) return std::nullopt;
    end = begin == 0 ? 0 : begin - 1;
    if (const auto found = located(line); found && wanted(*found)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<SourceLine> sourceLineAt(std::string_view all, std::size_t offset) {
  // Of the unit that it is in: another's files have numbers of their own.
  constexpr std::string_view kUnit = "\n.version";
  const std::size_t last = all.rfind(kUnit, offset);
  const std::size_t begin = last == std::string_view::npos ? 0 : last;
  const std::string_view text = all.substr(begin, all.find(kUnit, std::max(offset, begin + 1)) - begin);
  std::size_t end = std::min(offset - begin, text.size());
  const auto innermost = before(text, end, [](const Location&) { return true; });
  if (!innermost) return std::nullopt;
  SourceLine found{fileName(text, innermost->file), innermost->line, {}, 0};
  if (!innermost->inlined) return found;
  // A place that something was inlined at has been told before, with where that was inlined.
  Location outermost{innermost->outerFile, innermost->outerLine};
  while (const auto outer = before(text, end, [&](const Location& each) { return each.inlined && each.file == outermost.file && each.line == outermost.line; }))
    outermost = {outer->outerFile, outer->outerLine};
  found.inlinedFile = fileName(text, outermost.file);
  found.inlinedLine = outermost.line;
  return found;
}

}  // namespace rouse::ptx
