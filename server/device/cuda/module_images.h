// What of a module the driver may take: its machine code for this GPU, its PTX.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::cuda {

struct ModuleImage {
  bool ptx = false;  // else an ELF file
  std::string content;
};

// `module`: a fatbin, a cubin or PTX text, from a client; anything else is refused, and so is a fatbin whose lengths do
// not add up, which the driver would read past its end. `capability`: 90. Pure.
Result<std::vector<ModuleImage>> imagesFor(std::span<const std::byte> module, std::uint32_t capability);

}  // namespace rouse::cuda
