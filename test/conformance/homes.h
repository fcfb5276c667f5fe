// Where granules of a test come from.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "test/conformance/backend.h"

namespace rouse::conformance {

// Host memory given to the device, as long as the device.
class Homes {
 public:
  Homes(memory::Device& device, std::size_t granules) : bytes_(granules * kGranuleBytes) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    memory_ = static_cast<std::byte*>(memory);
    REQUIRE(device.useHost({memory_, bytes_}));
  }
  std::byte* operator[](std::size_t granule) { return memory_ + granule * kGranuleBytes; }

 private:
  std::size_t bytes_;
  std::byte* memory_;  // unmapped by the end of the process: the device may be destroyed later than this
};

inline std::vector<std::uint8_t> pattern(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::uint8_t> made(bytes);
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = (i + seed) * 0x9e3779b97f4a7c15;
    std::memcpy(&made[i], &word, 8);
  }
  return made;
}

}  // namespace rouse::conformance
