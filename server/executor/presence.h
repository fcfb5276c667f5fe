// Where the memory of one session is: on the device, at home in host memory, or on the way.
//
//   here ── beginLeaving() → leaving ── away ── beginArriving() → arriving ── here
//
// What is on the device and has changed since it came, or never was at home, is saved before its chunk is given up: there
// is no moment at which the only copy of a granule is dropped. Reactor thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "memory/device.h"
#include "memory/extent_map.h"
#include "server/executor/homes.h"
#include "server/executor/physical_memory.h"

namespace rouse::executor {

class Presence {
 public:
  enum class Where : std::uint8_t { here, leaving, away, arriving };

  // All outlive it. `extents`: what the session has mapped; its chunks are kNoChunk while they are away. Without homes the session
  // stays for good.
  Presence(memory::OwnerId owner, memory::Device& device, PhysicalMemory& memory, Homes* homes,
           memory::ExtentMap& extents);

  // Promised nothing, as after release().
  void startAnew() { enroll(); }

  Where where() const { return where_; }
  bool here() const { return where_ == Where::here; }
  bool mayLeave() const { return homes_ != nullptr; }

  // A home for `bytes` more, promised or given back. An owner without any keeps what it has on the device.
  Status promise(std::uint64_t bytes);
  void giveBack(std::uint64_t bytes);

  // A granule that is here is not the session's any more: its chunk is on its way to the pool.
  void forget(std::uint64_t address);

  // --- Leaving: the context is idle, and nothing is submitted to it until the session is here again.
  void beginLeaving(memory::Context& context);
  // True once it is away: the chunks are the pool's.
  Result<bool> leave(memory::Context& context);
  // --- Arriving: the pool has wanted() chunks.
  void beginArriving(memory::Context& context);
  Result<bool> arrive(memory::Context& context);
  // The context is about to end, with whatever is on its way.
  void endStream() { stream_.reset(); }
  // It has ended: gives back all chunks and homes, and all promises. What is mapped is for the caller to forget.
  void release();

  // For all of it to be here, while it is away; and what has chunks now.
  std::uint64_t wantedBytes() const { return where_ == Where::away ? extents_.backedBytes() : 0; }
  std::uint64_t heldBytes() const { return where_ == Where::away ? 0 : extents_.backedBytes(); }
  std::uint64_t homeBytes() const { return homed_.size() * kGranuleBytes; }
  // By all departures: what had changed, or had no copy at home.
  std::uint64_t savedBytes() const { return savedBytes_; }
  std::uint64_t arrivals() const { return arrivals_; }
  std::uint64_t departures() const { return departures_; }

 private:
  struct Home {
    Homes::Slot slot;
    bool current;  // holds what the granule holds, or held when it last left
  };
  void enroll();
  memory::Stream& stream(memory::Context& context);
  void findChanges(memory::Context& context);

  const memory::OwnerId owner_;
  memory::Device& device_;
  PhysicalMemory& memory_;
  Homes* const homes_;
  memory::ExtentMap& extents_;
  std::unordered_map<std::uint64_t, Home> homed_;  // by address
  std::unique_ptr<memory::Stream> stream_;         // for what moves
  std::vector<std::uint64_t> changed_;
  Where where_ = Where::here;
  std::uint64_t savedBytes_ = 0, arrivals_ = 0, departures_ = 0;
};

}  // namespace rouse::executor
