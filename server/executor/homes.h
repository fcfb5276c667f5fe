// Host memory in which the sessions of this executor have a place for every granule that they were promised: the host store's
// book-keeping (memory/home_store.h), its memory, and what is known of the way there. Pages of it are made ready for
// transfers once, at start-up: nothing is allocated or pinned when a session leaves or comes. No two granules share a home yet.
//
// Reactor thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory/device.h"
#include "memory/home_store.h"
#include "schemas/wire/owned_fd.h"
#include "swap/group_plan.h"

namespace rouse::executor {

class Homes {
 public:
  using Slot = memory::SlotId;  // a granule's place
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
  // Promised again.
  void drop(memory::OwnerId owner, Slot slot);
  // All that the owner has, and was promised.
  void release(memory::OwnerId owner) { store_.release(owner); }

  // For telling what has changed: random, and no program ever sees it or what it makes.
  const memory::FingerprintKey& key() const { return key_; }
  // Of the link to the device, as that has measured it or its model says.
  const swap::BandwidthCurve& curve() const { return curve_; }
  std::byte* at(Slot slot) const { return base_ + std::uint64_t{slot} * kGranuleBytes; }
  // Where that is in the file, of which others have other parts.
  std::uint64_t fileOffset(Slot slot) const { return fileOffset_ + std::uint64_t{slot} * kGranuleBytes; }
  std::uint64_t totalBytes() const { return store_.slots() * kGranuleBytes; }
  std::uint64_t promisableBytes() const { return store_.promisable() * kGranuleBytes; }
  std::uint64_t usedBytes() const { return store_.usedBytes(); }

 private:
  Homes(std::byte* base, std::uint64_t fileOffset, std::uint32_t granules, const memory::FingerprintKey& key, swap::BandwidthCurve curve);

  std::byte* base_;
  std::uint64_t fileOffset_;
  memory::FingerprintKey key_;
  swap::BandwidthCurve curve_;
  memory::HomeStore store_;
};

}  // namespace rouse::executor
