#include "server/device/cuda/variable_names.h"

#include <algorithm>
#include <set>

#include "server/device/cuda/elf_file.h"
#include "server/device/cuda/ptx_tokens.h"

namespace rouse::cuda {
namespace {

// Strings and other constants that the compiler made and no program can name.
bool isCompilers(std::string_view name) { return name.empty() || name[0] == '$' || name.starts_with("__unnamed"); }

}  // namespace

// Statements outside braces that declare .global or .const: the name is the last word before '[', '=' or ';'.
std::vector<NamedVariable> variablesOfPtx(std::string_view text) {
  std::vector<NamedVariable> found;
  std::vector<std::string_view> words;
  PtxTokens tokens(text);
  int depth = 0;
  bool named = false;  // '[' or '=' has come: what follows is size and value
  std::string_view name;
  for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
    if (token == "{") {
      ++depth;
    } else if (token == "}") {
      if (--depth == 0 && !named) words.clear();  // the end of a function
    } else if (depth > 0) {
      continue;
    } else if (isWord(token)) {
      // Directives that end with their line.
      if (words.empty() && (token == ".version" || token == ".target" || token == ".address_size" || token == ".file" ||
                            token == ".loc"))
        tokens.skipLine();
      else if (!named)
        words.push_back(token);
    } else if ((token == "[" || token == "=") && !named && !words.empty()) {
      named = true;
      name = words.back();
    } else if (token == ";") {
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
