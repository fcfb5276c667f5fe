// A copy that goes past the caches: for amounts that would not stay in them anyway.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rouse::cpu {

// From this size on copies are worth it (half of a common last-level cache).
inline constexpr std::uint64_t kStreamCopyBytes = std::uint64_t{8} << 20;

// Non-overlapping. Stores are ordered before the return.
void streamCopy(void* to, const void* from, std::size_t bytes);

}  // namespace rouse::cpu
