// Reads what doctor wants to know of an executable or shared library. The file may be anything: every offset and size
// in it is checked against its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::cli {

struct ElfFile {
  std::uint16_t machine = 0;  // EM_X86_64: 62
  std::string soname;
  std::vector<std::string> needed;                  // DT_NEEDED
  std::vector<std::string> imports;                 // undefined dynamic symbols
  std::vector<std::span<const std::byte>> fatbins;  // contents of the sections that hold device code
};

// 64-bit little-endian ELF. The spans point into `bytes`.
Result<ElfFile> readElf(std::span<const std::byte> bytes);

}  // namespace rouse::cli
