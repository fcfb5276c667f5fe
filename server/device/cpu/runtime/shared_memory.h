// A block's shared memory. A shared-space address is an offset of 32 bits, so the region reserves 4 GiB of addresses
// behind the base: whatever a kernel computes from an offset lands in its own memory or faults, and an index just past
// the end faults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/base/range.h"
#include "server/device/cpu/abi.h"

namespace rouse::cpu {

inline constexpr std::uint32_t kMaxSharedBytes = 227u << 10;  // a block's limit on compute capability 9.0

class SharedMemory {
 public:
  // Bytes that may be accessed: whole pages, of which a block's memory is the last part.
  static constexpr std::size_t kUsable = roundUp(kMaxSharedBytes + kReservedSharedBytes, 4096);

  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory();

  // Base for `bytes` (at most kMaxSharedBytes, and what is reserved), aligned so (KernelCode::sharedAlignment); null when the system has no room. Contents are
  // undefined.
  std::byte* prepare(std::uint32_t bytes, std::uint32_t alignment = kLeastSharedAlignment);

 private:
  std::byte* region_ = nullptr;
};

}  // namespace rouse::cpu
