// What a session that is away has left on its device: granules that are still mapped, hold what their homes hold, and lie in chunks that
// anybody may have. A departure costs nothing for them; whoever needs a chunk pays for its unmapping, and who comes again before
// that finds them as they were.
//
// Reactor thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "memory/device.h"
#include "memory/extent_map.h"
#include "server/executor/physical_memory.h"
#include "swap/access_order.h"

namespace rouse::executor {

class Resting final : public RestingOwner {
 public:
  // All outlive it. `extents`: kNoChunk stands for a granule that has been given up. `order`: in which they will be wanted again.
  Resting(memory::OwnerId owner, PhysicalMemory& memory, memory::ExtentMap& extents, const swap::AccessOrder& order)
      : owner_(owner), memory_(memory), extents_(extents), order_(order) {}

  // The owner is away from now on: whatever it has is mapped in this context, which nothing uses, and is saved.
  void begin(memory::Context& context);
  // It comes again, or ends: what is left is its own. Nothing happens where it does not rest.
  void end();

  // Meanwhile nobody can have any of it: another device reads it. Until yield() or end(). Only where it rests.
  void hold();
  void yield();
  bool held() const { return held_; }

  // Of all that the owner has, what is here still; nothing where it does not rest.
  std::uint64_t leftBytes() const { return count_ * kGranuleBytes; }
  // Some of it could not be unmapped: the session has to end, which unmaps everything.
  const std::optional<Error>& fault() const { return fault_; }

  // RestingOwner: what is wanted last goes first.
  Status giveUp(std::size_t count) override;

 private:
  void arrange();

  const memory::OwnerId owner_;
  PhysicalMemory& memory_;
  memory::ExtentMap& extents_;
  const swap::AccessOrder& order_;
  memory::Context* context_ = nullptr;  // null: it does not rest
  bool held_ = false;
  bool arranged_ = false;
  std::uint64_t count_ = 0;          // granules left
  std::vector<std::uint32_t> left_;  // they, those wanted first in front; made when the first is given up
  std::optional<Error> fault_;
};

}  // namespace rouse::executor
