// What one session may use of one device: bytes reserved (promised), bytes mapped (in use) and the limit.
//
// Invariant: mapped <= reserved <= limit. Not thread-safe. Errors name the number asked for and what was left of which
// limit.
#pragma once

#include <cstdint>

#include "schemas/base/result.h"

namespace rouse::memory {

class Quota {
 public:
  explicit Quota(std::uint64_t limitBytes) : limit_(limitBytes) {}

  // memoryAllocation when the limit would be passed.
  Status reserve(std::uint64_t bytes);
  // invalidValue when more than the unmapped part of the reservation is given back.
  Status giveBack(std::uint64_t bytes);
  // invalidValue when more is mapped than is reserved and not mapped yet.
  Status map(std::uint64_t bytes);
  // invalidValue when more is unmapped than is mapped.
  Status unmap(std::uint64_t bytes);
  // Nothing reserved, nothing mapped.
  void clear() { reserved_ = mapped_ = 0; }

  std::uint64_t limit() const { return limit_; }
  std::uint64_t reserved() const { return reserved_; }
  std::uint64_t mapped() const { return mapped_; }
  std::uint64_t reservable() const { return limit_ - reserved_; }
  std::uint64_t mappable() const { return reserved_ - mapped_; }

 private:
  std::uint64_t limit_;
  std::uint64_t reserved_ = 0;
  std::uint64_t mapped_ = 0;
};

}  // namespace rouse::memory
