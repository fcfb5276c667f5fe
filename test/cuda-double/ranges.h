// Which memory an address is of, and whether queued work may use it.
#pragma once

#include <cuda.h>

#include <optional>
#include <vector>

#include "memory/device.h"

namespace rouse::cuda_double {

enum class MemoryKind { device, registered, pageable };
enum class Expect { device, host, any, array };  // array: rows of one, whatever its address

// Rows of memory, as a copy or fill sees one of its sides.
struct Rows {
  std::uint64_t base = 0, pitch = 0, slicePitch = 0;
  std::uint64_t width = 0, height = 1, depth = 1;  // bytes, rows, slices
  std::uint64_t row(std::uint64_t y, std::uint64_t z) const { return base + z * slicePitch + y * pitch; }
  // From the first byte to the last, gaps included.
  AddressRange span() const { return {base, row(height - 1, depth - 1) + width - base}; }
};

// The kind of all the bytes, in the current context; nothing, with a violation, unless every one can be used as
// expected. `name` for the message: "source". `reading`: they will not be written.
std::optional<MemoryKind> usable(const Rows& rows, Expect expect, const char* name, bool reading = false);

}  // namespace rouse::cuda_double
