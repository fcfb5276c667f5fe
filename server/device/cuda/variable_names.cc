#include "server/device/cuda/variable_names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "server/device/cuda/elf_file.h"

namespace rouse::cuda {
namespace {

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%';
}

// Strings and other constants that the compiler made and no program can name.
bool isCompilers(std::string_view name) { return name.empty() || name[0] == '$' || name.starts_with("__unnamed"); }

}  // namespace

// Statements outside braces that declare .global or .const: the name is the last word before '[', '=' or ';'.
std::vector<NamedVariable> variablesOfPtx(std::string_view text) {
  std::vector<NamedVariable> found;
  std::vector<std::string_view> words;
  int depth = 0;
  bool named = false;  // '[' or '=' has come: what follows is size and value
  std::string_view name;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (c == '"') {
      const std::size_t end = text.find('"', at + 1);
      at = end == std::string_view::npos ? text.size() : end + 1;
    } else if (c == '{') {
      ++depth;
      ++at;
    } else if (c == '}') {
      if (--depth == 0 && !named) words.clear();  // the end of a function
      ++at;
    } else if (depth > 0) {
      ++at;
    } else if (isWord(c)) {
      std::size_t end = at;
      while (end < text.size() && isWord(text[end])) ++end;
      const std::string_view word = text.substr(at, end - at);
      // Directives that end with their line.
      if (words.empty() &&
          (word == ".version" || word == ".target" || word == ".address_size" || word == ".file" || word == ".loc"))
        end = std::min(text.find('\n', at), text.size());
      else if (!named)
        words.push_back(word);
      at = end;
    } else {
      if ((c == '[' || c == '=') && !named && !words.empty()) {
        named = true;
        name = words.back();
      }
      if (c == ';') {
        if (!named && !words.empty()) name = words.back();
        const auto has = [&](std::string_view directive) {
          return std::find(words.begin(), words.end(), directive) != words.end();
        };
        const bool constant = has(".const");
        if ((constant || has(".global")) && !has(".extern") && !isCompilers(name) && name[0] != '.')
          found.push_back({std::string(name), constant});
        words.clear();
        named = false;
      }
      ++at;
    }
  }
  return found;
}

// Data objects in .nv.global, .nv.global.init and .nv.constant3 (CUDA Binary Utilities; cuobjdump -elf shows them).
std::vector<NamedVariable> variablesOfElf(std::string_view file) {
  std::vector<NamedVariable> found;
  const ElfFile elf(file);
  for (const ElfFile::Symbol& symbol : elf.symbols()) {
    if (ELF64_ST_TYPE(symbol.entry.st_info) != STT_OBJECT || symbol.entry.st_shndx >= elf.sections().size()) continue;
    const std::string_view section = elf.nameOf(elf.sections()[symbol.entry.st_shndx]);
    const bool constant = section.starts_with(".nv.constant3");
    if ((constant || section.starts_with(".nv.global")) && !isCompilers(symbol.name))
      found.push_back({std::string(symbol.name), constant});
  }
  return found;
}

std::vector<NamedVariable> variableNames(std::span<const ModuleImage> images) {
  std::vector<NamedVariable> found;
  std::set<std::string> known;
  for (const ModuleImage& image : images) {
    for (NamedVariable& variable : image.ptx ? variablesOfPtx(image.content) : variablesOfElf(image.content))
      if (known.insert(variable.name).second) found.push_back(std::move(variable));
  }
  return found;
}

}  // namespace rouse::cuda
