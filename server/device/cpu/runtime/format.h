// CUDA's device printf (Programming Guide, "Formatted Output"): the host's formats over arguments that the compiler
// packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rouse::cpu {

inline constexpr std::size_t kMaxFormattedBytes = std::size_t{64} << 10;  // of one call; the rest is cut off

// Appends to `out`. `arguments`: 4- and 8-byte values (float promoted to double), each at its natural alignment;
// strings are pointers. May fault where the kernel's memory cannot be read, and then leaves `out` valid. Returns the
// number of arguments used, as vprintf does on a GPU.
std::int32_t format(std::string& out, const char* format, const std::byte* arguments);

}  // namespace rouse::cpu
