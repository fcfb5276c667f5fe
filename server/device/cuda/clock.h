#pragma once

#include <time.h>

#include <cstdint>

namespace rouse::cuda {

// Nanoseconds of CLOCK_MONOTONIC, by which slots are stamped, too.
inline std::uint64_t steadyNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace rouse::cuda
