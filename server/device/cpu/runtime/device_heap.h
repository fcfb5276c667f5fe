// Device-side malloc and free: one heap a context, limited by cudaLimitMallocHeapSize.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "schemas/base/range.h"

namespace rouse::cpu {

inline constexpr std::uint64_t kDefaultHeapBytes = std::uint64_t{8} << 20;  // cudaLimitMallocHeapSize's default

// Any thread. Blocks live until they are freed or the heap goes.
class DeviceHeap {
 public:
  DeviceHeap() = default;
  DeviceHeap(const DeviceHeap&) = delete;
  ~DeviceHeap();

  void setLimit(std::uint64_t bytes);
  // Aligned to 16; null for no bytes and when the heap is full, as in CUDA.
  void* allocate(std::uint64_t bytes);
  // False when there is no such block. Null is fine.
  bool release(void* block);
  std::uint64_t used() const;
  // The block that begins at the address or next before it, as it was asked for; empty: there is none.
  AddressRange before(std::uint64_t address) const;
  // The same, of one that holds the address.
  AddressRange at(std::uint64_t address) const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t limit_ = kDefaultHeapBytes;
  std::uint64_t used_ = 0;
  std::map<std::uint64_t, std::uint64_t> blocks_;  // address, bytes as asked for
};

}  // namespace rouse::cpu
