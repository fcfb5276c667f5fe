// Hands out windows of virtual addresses, for functions' device and host memory, that are unique on the node: no two
// live windows overlap, and an address that was freed is not handed out again while fresh ones are left, nor sooner
// than those freed before it. Pure bookkeeping: maps nothing. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::memory {

inline constexpr std::uint64_t kWindowAlignment = std::uint64_t{1} << 30;

class AddressPlan {
 public:
  // Where windows lie unless the configuration says otherwise: far from what the kernel places near the ends of an
  // x86-64 process's 47 bits. In sanitizer builds: the one gap that AddressSanitizer, ThreadSanitizer and their shadow
  // all leave to the application.
  static AddressRange defaultRange();

  // The range is a multiple of kWindowAlignment at both ends.
  explicit AddressPlan(AddressRange range = defaultRange());

  // A window of at least `bytes`, rounded up to kWindowAlignment. memoryAllocation, naming the largest that could be
  // had, when there is none; invalidValue for 0 bytes.
  Result<AddressRange> allocate(std::uint64_t bytes);
  // Exactly this one, which another plan of the same range has handed out: multiples of kWindowAlignment; invalidValue if it is not, or not all of it
  // is free.
  Status claim(AddressRange window);
  // Exactly a window that allocate() or claim() returned and that is live; invalidValue otherwise.
  Status free(AddressRange window);

  AddressRange range() const { return range_; }
  std::uint64_t freeBytes() const;
  std::size_t live() const { return live_.size(); }

 private:
  struct Free {
    std::uint64_t bytes;
    std::uint64_t freedAt;  // 0: never used
  };
  bool take(std::uint64_t bytes, AddressRange& window);
  void merge();

  AddressRange range_;
  std::map<std::uint64_t, Free> free_;           // by base; disjoint
  std::map<std::uint64_t, std::uint64_t> live_;  // base -> bytes
  std::uint64_t clock_ = 0;                      // counts frees
};

}  // namespace rouse::memory
