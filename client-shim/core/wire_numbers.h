// Numbers for objects on one ring, by layout.h's rule: the lowest index that was never used, or a used one with the
// next generation. Guarded by the ring lock: numbers must appear in the ring in the order they are taken.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/wire/layout.h"

namespace rouse::client {

class WireNumbers {
 public:
  // The first index that may be used.
  explicit WireNumbers(std::uint32_t first) : first_(first), next_(first) {}

  wire::Handle take() {
    if (free_.empty()) return {next_++, 1};
    const wire::Handle used = free_.back();
    free_.pop_back();
    return {used.index, used.generation + 1};
  }
  void give(wire::Handle handle) { free_.push_back(handle); }
  void reset() {
    next_ = first_;
    free_.clear();
  }

 private:
  const std::uint32_t first_;
  std::uint32_t next_;
  std::vector<wire::Handle> free_;
};

}  // namespace rouse::client
