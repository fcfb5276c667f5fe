#include "server/device/cuda/variable_names.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "server/fatbin/fatbin.h"
#include "server/fatbin/format.h"

namespace rouse::cuda {
namespace {

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '%';
}

// Strings and other constants that the compiler made and no program can name.
bool isCompilers(std::string_view name) { return name.empty() || name[0] == '$' || name.starts_with("__unnamed"); }

template <class T>
bool read(std::string_view file, std::uint64_t offset, T& value) {
  if (offset > file.size() || file.size() - offset < sizeof value) return false;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return true;
}

std::string_view stringAt(std::string_view file, const Elf64_Shdr& table, std::uint64_t index) {
  if (table.sh_offset > file.size() || table.sh_size > file.size() - table.sh_offset || index >= table.sh_size)
    return {};
  const std::string_view strings = file.substr(table.sh_offset, table.sh_size);
  const std::string_view rest = strings.substr(index);
  return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

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
  Elf64_Ehdr header{};
  if (!read(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return found;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  for (std::size_t i = 0; i < sections.size(); ++i)
    if (!read(file, header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return found;
  if (header.e_shstrndx >= sections.size()) return found;
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol{};
      if (!read(file, table.sh_offset + at, symbol)) return found;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx >= sections.size()) continue;
      const std::string_view section = stringAt(file, sections[header.e_shstrndx], sections[symbol.st_shndx].sh_name);
      const std::string_view name = stringAt(file, sections[table.sh_link], symbol.st_name);
      const bool constant = section.starts_with(".nv.constant3");
      if ((constant || section.starts_with(".nv.global")) && !isCompilers(name))
        found.push_back({std::string(name), constant});
    }
  }
  return found;
}

Result<std::vector<NamedVariable>> variableNames(std::span<const std::byte> module, std::uint32_t capability) {
  const std::string_view bytes(reinterpret_cast<const char*>(module.data()), module.size());
  std::uint32_t magic = 0;
  if (bytes.starts_with(std::string_view(ELFMAG, SELFMAG))) return variablesOfElf(bytes);
  if (!read(bytes, 0, magic) || magic != fatbin::kMagic) {
    if (bytes.find(".version") == std::string_view::npos)
      return Error{CudaError::invalidKernelImage,
                   "module of " + std::to_string(bytes.size()) + " bytes is neither a fatbin nor a cubin nor PTX text"};
    return variablesOfPtx(bytes.substr(0, bytes.find('\0')));
  }
  auto entries = fatbin::entries(module);
  if (!entries) return std::move(entries).error();
  // Machine code for this GPU if there is any, else PTX. Which of several the driver takes does not matter: they are
  // one source.
  std::vector<NamedVariable> found;
  std::set<std::string> known;
  for (const fatbin::Entry& entry : *entries) {
    const bool fits = entry.kind == fatbin::EntryKind::ptx ||
                      (entry.architecture / 10 == capability / 10 && entry.architecture <= capability);
    if (!fits) continue;
    auto image = fatbin::image(entry);
    if (!image) return std::move(image).error();
    for (NamedVariable& variable :
         entry.kind == fatbin::EntryKind::ptx ? variablesOfPtx(*image) : variablesOfElf(*image))
      if (known.insert(variable.name).second) found.push_back(std::move(variable));
  }
  return found;
}

}  // namespace rouse::cuda
