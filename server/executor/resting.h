// What a session that is away has left on its device: granules that are still mapped, hold what their homes hold, and lie in chunks that
// anybody may have. A departure costs nothing for them; whoever needs a chunk pays for its unmapping, and who comes again before
// that finds them as they were.
//
// Reactor thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "memory/device.h"
#include "memory/extent_map.h"
#include "memory/placement.h"
#include "server/executor/physical_memory.h"
#include "swap/access_order.h"

namespace rouse::executor {

class Resting final : public RestingOwner {
 public:
  // All outlive it. `extents`: kNoChunk stands for a granule that has been given up. `order`: in which they will be wanted again.
  Resting(memory::OwnerId owner, PhysicalMemory& memory, memory::ExtentMap& extents, const swap::AccessOrder& order)
      : owner_(owner), memory_(memory), extents_(extents), order_(order) {}

  // The owner is away from now on: whatever it has is mapped in this context, which nothing uses, and is saved; all but so many granules,
  // which have been given up already.
  void begin(memory::Context& context, std::uint64_t without = 0);
  // It comes again, or ends: what is left is its own. Nothing happens where it does not rest.
  void end();

  // Meanwhile nobody can have any of it: another device reads it. Until yield() or end(). Only where it rests.
  void hold();
  void yield();
  bool held() const { return held_; }

  // Others take so much of it before they take more, on top of what has been offered since it came to rest; 0: all of it, as if nothing had
  // been said. Before begin() as well, for the rest to come. So who decides what leaves (sched/) finds what it has decided.
  void offer(std::uint64_t bytes);

  // Of all that the owner has, what is here still; nothing where it does not rest.
  std::uint64_t leftBytes() const { return count_ * kGranuleBytes; }
  // Some of it could not be unmapped: the session has to end, which unmaps everything.
  const std::optional<Error>& fault() const { return fault_; }

  // RestingOwner: what is wanted last goes first; where the device maps several at once, among the last of it what leaves neighbours free.
  Status giveUp(std::size_t count) override;
  Status lose(std::uint64_t address) override;
  void reconsider() override;
  std::uint64_t offered() const override { return offered_; }

 private:
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  static constexpr std::size_t kLookAhead = 128;  // granules

  void arrange();
  // What is mapped in one piece with the granule, granules of the window.
  memory::Extent togetherWith(std::uint32_t granule) const;
  // Of the granules that are wanted last, whole mappings with `count` or somewhat more, so that who takes their chunks finds neighbours: blocks of chunks of
  // which nobody else has any; else the largest mappings that are not too large, else the smallest. Fewer where there are no more.
  std::set<std::uint32_t> chooseWhole(std::size_t count) const;
  std::uint64_t addressOf(std::uint32_t granule) const { return extents_.window().base + granule * kGranuleBytes; }
  Status unmap(AddressRange range);
  // It has no chunk any more: the one that it had.
  memory::Chunk takeOut(std::uint64_t address);

  const memory::OwnerId owner_;
  PhysicalMemory& memory_;
  memory::ExtentMap& extents_;
  const swap::AccessOrder& order_;
  memory::Context* context_ = nullptr;  // null: it does not rest
  bool held_ = false;
  bool arranged_ = false;
  std::uint64_t count_ = 0;          // granules left
  std::uint64_t offered_ = kAll;     // of them
  // They, those wanted first in front, made when the first is given up; some have been lost meanwhile. And those that others kept.
  std::vector<std::uint32_t> left_, kept_;
  std::optional<Error> fault_;
};

}  // namespace rouse::executor
