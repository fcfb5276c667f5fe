// What a context's kernels may access, where that is checked, and was freed not long ago. One thread's; what it gives out never changes.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "schemas/base/range.h"
#include "server/device/cpu/runtime/access_check.h"

namespace rouse::cpu {

class AccessBounds {
 public:
  // Of those that are freed, so many are remembered.
  static constexpr std::size_t kMostFreed = 1024;

  void allow(AddressRange range);
  void forbid(AddressRange range);
  // As of now, for a launch. Made anew only if something has changed.
  std::shared_ptr<const Allocations> now();

 private:
  std::map<std::uint64_t, std::uint64_t> live_;  // base, bytes
  std::deque<AddressRange> freed_;
  std::shared_ptr<const Allocations> now_;
};

}  // namespace rouse::cpu
