// Host memory in which the sessions of this executor have a place for every granule that they were promised. Pages of it are
// made ready for transfers once, at start-up: nothing is allocated or pinned when a session leaves or comes.
//
// Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "memory/chunk_pool.h"
#include "memory/device.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::executor {

class Homes {
 public:
  using Slot = std::uint32_t;  // a granule's place
  static constexpr Slot kNone = ~Slot{0};

  // The part [offset, offset + bytes) of a memfd, in whole granules, mapped and given to the device.
  static Result<std::unique_ptr<Homes>> open(memory::Device& device, const wire::OwnedFd& file, std::uint64_t offset,
                                             std::uint64_t bytes);
  // The device has been destroyed, or uses it no more.
  ~Homes();
  Homes(const Homes&) = delete;

  // memoryAllocation, naming what is left, when not every promise could be kept.
  Status promise(memory::OwnerId owner, std::uint64_t granules);
  // Promised, and not taken.
  void giveBack(memory::OwnerId owner, std::uint64_t granules);
  // One of those promised. Holds whatever it held.
  Slot take(memory::OwnerId owner);
  void drop(memory::OwnerId owner, Slot slot);
  // Forgets an owner that has dropped all its slots.
  void release(memory::OwnerId owner);

  // For telling what has changed: random, and no program ever sees it or what it makes.
  const memory::FingerprintKey& key() const { return key_; }
  std::byte* at(Slot slot) const { return base_ + std::uint64_t{slot} * kGranuleBytes; }
  std::uint64_t totalBytes() const { return total_ * kGranuleBytes; }
  std::uint64_t promisableBytes() const { return (total_ - promised_) * kGranuleBytes; }
  std::uint64_t usedBytes() const { return (total_ - free_.size()) * kGranuleBytes; }

 private:
  struct Account {
    std::uint64_t promised = 0, taken = 0;
  };
  Homes(std::byte* base, std::uint64_t granules, const memory::FingerprintKey& key);

  std::byte* base_;
  memory::FingerprintKey key_;
  std::uint64_t total_;
  std::uint64_t promised_ = 0;
  std::vector<Slot> free_;
  std::unordered_map<memory::OwnerId, Account> accounts_;
};

}  // namespace rouse::executor
