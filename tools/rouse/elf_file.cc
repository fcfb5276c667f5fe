#include "tools/rouse/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace rouse::cli {
namespace {

Error malformed(const std::string& what) { return {CudaError::invalidValue, "malformed ELF file: " + what}; }

// Sections that nvcc puts fatbins in; the second one with relocatable device code.
constexpr std::string_view kFatbinSections[] = {".nv_fatbin", "__nv_relfatbin"};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  Result<ElfFile> read() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
      return Error{CudaError::invalidValue, "not an ELF file"};
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
      return Error{CudaError::invalidValue, "not a 64-bit little-endian ELF file"};
    }
    file_.machine = header->e_machine;
    if (header->e_shoff == 0) return malformed("no section headers");
    if (header->e_shentsize != sizeof(Elf64_Shdr)) return malformed("size of section headers");
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header->e_shoff, i);
      if (!section) return malformed("section headers beyond the end");
      sections_.push_back(*section);
    }
    if (header->e_shstrndx >= sections_.size()) return malformed("index of the section names");
    const auto names = content(sections_[header->e_shstrndx]);
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_NOBITS) continue;
      const std::string_view name = text(names, section.sh_name);
      if (std::ranges::find(kFatbinSections, name) != std::end(kFatbinSections))
        file_.fatbins.push_back(content(section));
      if (section.sh_type == SHT_DYNAMIC) readDynamic(section);
      if (section.sh_type == SHT_DYNSYM) readSymbols(section);
    }
    return std::move(file_);
  }

 private:
  // A record by value: the file's alignment is not to be relied on.
  template <class Record>
  std::optional<Record> at(std::uint64_t offset, std::uint64_t index = 0) const {
    if (offset > bytes_.size() || index >= (bytes_.size() - offset) / sizeof(Record)) return std::nullopt;
    Record record;
    std::memcpy(&record, bytes_.data() + offset + index * sizeof(Record), sizeof record);
    return record;
  }
  std::span<const std::byte> content(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) return {};
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  std::span<const std::byte> linked(const Elf64_Shdr& section) const {
    return section.sh_link < sections_.size() ? content(sections_[section.sh_link]) : std::span<const std::byte>();
  }
  static std::string_view text(std::span<const std::byte> strings, std::uint64_t offset) {
    if (offset >= strings.size()) return {};
    const auto* begin = reinterpret_cast<const char*>(strings.data()) + offset;
    return {begin, ::strnlen(begin, strings.size() - offset)};
  }

  void readDynamic(const Elf64_Shdr& section) {
    const auto strings = linked(section);
    for (std::uint64_t i = 0; i < content(section).size() / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(section.sh_offset, i);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) file_.needed.emplace_back(text(strings, entry->d_un.d_val));
      if (entry->d_tag == DT_SONAME) file_.soname = text(strings, entry->d_un.d_val);
    }
  }
  void readSymbols(const Elf64_Shdr& section) {
    const auto strings = linked(section);
    for (std::uint64_t i = 1; i < content(section).size() / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(section.sh_offset, i);
      if (symbol && symbol->st_shndx == SHN_UNDEF) file_.imports.emplace_back(text(strings, symbol->st_name));
    }
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Shdr> sections_;
  ElfFile file_;
};

}  // namespace

Result<ElfFile> readElf(std::span<const std::byte> bytes) { return Reader(bytes).read(); }

}  // namespace rouse::cli
