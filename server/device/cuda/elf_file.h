// Sections and symbols of an ELF file that may be anything: what lies outside it reads as nothing.
#pragma once

#include <elf.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace rouse::cuda {

class ElfFile {
 public:
  // Without sections where it is no 64-bit ELF file.
  explicit ElfFile(std::string_view bytes) : bytes_(bytes) {
    Elf64_Ehdr header{};
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
      return;
    std::vector<Elf64_Shdr> all(header.e_shnum);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!read(header.e_shoff + i * sizeof(Elf64_Shdr), all[i])) return;
    if (header.e_shstrndx >= all.size()) return;
    names_ = header.e_shstrndx;
    sections_ = std::move(all);
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view nameOf(const Elf64_Shdr& section) const { return stringAt(sections_[names_], section.sh_name); }
  std::string_view content(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) return {};
    return bytes_.substr(section.sh_offset, section.sh_size);
  }
  std::string_view stringAt(const Elf64_Shdr& table, std::uint64_t index) const {
    const std::string_view strings = content(table);
    if (index >= strings.size()) return {};
    const std::string_view rest = strings.substr(index);
    return rest.substr(0, rest.find('\0'));
  }

  struct Symbol {
    Elf64_Sym entry;
    std::string_view name;
  };
  // Of all symbol tables, one after the other; a cubin has one.
  std::vector<Symbol> symbols() const {
    std::vector<Symbol> found;
    for (const Elf64_Shdr& table : sections_) {
      if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections_.size()) continue;
      const std::string_view bytes = content(table);
      for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= bytes.size(); at += sizeof(Elf64_Sym)) {
        Symbol symbol{};
        std::memcpy(&symbol.entry, bytes.data() + at, sizeof(Elf64_Sym));
        symbol.name = stringAt(sections_[table.sh_link], symbol.entry.st_name);
        found.push_back(symbol);
      }
    }
    return found;
  }

 private:
  template <class T>
  bool read(std::uint64_t offset, T& value) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof value) return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return true;
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::size_t names_ = 0;
};

}  // namespace rouse::cuda
