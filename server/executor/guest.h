// Memory of this GPU that executors elsewhere have: an isolated function's, as the shared executor sees it; all of the rest, as an isolated
// function's sees it. Each chunk of the GPU has memory in one of them at a time. A guest has its place in the line here like any session
// (sharing.h): it is promised memory by count, waits for it, is let in, and is asked to make room. What it takes gives its memory up
// (Device::withdraw()), and the daemon has the other executor make as much (Device::supply()). So who comes when is decided in one place, the
// shared executor, and all that can ever be promised on the GPU is in that one's book.
//
// What is asked of the other side is a level, how much it should have, not an amount to be moved: messages that cross do no harm.
//
// Reactor thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "server/control/message.h"
#include "server/executor/physical_memory.h"
#include "server/executor/sharer.h"

namespace rouse::executor {

class Guest final : public Sharer {
 public:
  // What all others have, in an isolated executor; in a shared one, who had it when that was started, until they say so (takeFrom()).
  static constexpr std::uint64_t kOthers = 0;

  // `rules`: it comes first, and may take its time: the line that counts is there.
  Guest(std::uint64_t number, PhysicalMemory& memory, bool rules);
  ~Guest();  // its chunks have been returned, or the process ends
  Guest(const Guest&) = delete;

  // So much in all, from now on. memoryAllocation, and nothing has changed, when that cannot be.
  Status promise(std::uint64_t bytes, memory::Tenure tenure);
  // At start-up: the first chunks, which have no memory yet, are its.
  void holdAbsent(std::uint64_t bytes);
  // What another has been holding for it.
  Status takeFrom(Guest& other, std::uint64_t bytes);
  // It is to have at least so much in all.
  void want(std::uint64_t bytes);
  // So much of its memory is the device's again. invalidValue: it has not got so much.
  Status giveBack(std::uint64_t bytes);
  // It has ended: all of it.
  void leave();
  bool gone() const { return leaving_ && chunks_.empty(); }
  // Its sessions have been seen at work.
  void noteActivity(std::uint64_t now) { activeAt_ = now; fresh_ = true; }

  // Takes what it may, and makes what it has given back the device's again, a few chunks at a time. `lacking`: that somebody here waits for. True if
  // anything was done; fails with the device.
  struct Told {
    std::function<void(const channel::GuestGrant&)> grant;
    std::function<void(const channel::GuestCall&)> call;
  };
  Result<bool> turn(std::uint64_t lacking, std::uint64_t now, const Told& told);
  // turn() is to be called again soon.
  bool waiting() const { return returning_ != 0; }

  std::uint64_t number() const { return number_; }
  std::uint64_t bytes() const { return chunks_.size() * kGranuleBytes; }
  std::uint64_t promised() const { return promised_; }

  // Sharer
  std::uint64_t id() const override { return owner_; }
  std::uint64_t wantedChunks() const override;
  void admit() override { admitted_ = true; }
  bool admitted() const override { return admitted_; }
  void askToLeave() override { leaveAsked_ = true; }
  void letStay() override { leaveAsked_ = false; }
  bool leaveAsked() const override { return leaveAsked_; }
  bool mustLeave() const override { return leaveAsked_ || leaving_; }
  bool mayLeave() const override { return visits_ && !leaveAsked_ && !leaving_ && heldChunks() != 0; }
  bool mayTakeLong() const override { return rules_; }
  bool quiet() const override { return !busy_; }
  bool active() override;
  bool present() const override { return heldChunks() != 0; }
  bool serving() const override { return !leaving_; }
  std::uint64_t heldChunks() const override { return chunks_.size() - returning_; }
  std::uint64_t lentChunks() const override { return returning_; }

  // Session numbers count from 1, and never come near.
  static memory::OwnerId ownerOf(std::uint64_t number) { return (memory::OwnerId{1} << 63) | number; }

 private:
  // Giving one up or making one takes a driver some ten microseconds, or as many as are neighbours; this many a turn keep rings moving.
  static constexpr std::size_t kChunksPerTurn = memory::Placement::kLargeBlock;
  // Without a sign of work for so long it is taken for quiet. Signs come every kActiveNs (executor.cc).
  static constexpr std::uint64_t kQuietNs = 200'000'000;
  static constexpr std::uint64_t kRetryNs = 10'000'000;
  static constexpr std::uint64_t kNoCall = ~std::uint64_t{0};

  // What its promise and its chunks need of the pool's count.
  Status account();

  const std::uint64_t number_;
  const memory::OwnerId owner_;
  PhysicalMemory& memory_;
  const bool rules_;
  std::vector<memory::Chunk> chunks_;  // without memory here, so that one is as good as another
  std::size_t returning_ = 0;          // of these, what is to have memory again
  std::uint64_t promised_ = 0, reserved_ = 0, wanted_ = 0;  // bytes
  std::uint64_t call_ = kNoCall;                             // as the other side has been told, bytes
  std::uint64_t activeAt_ = 0, retryAt_ = 0;
  bool visits_ = true, admitted_ = false, leaveAsked_ = false, leaving_ = false, busy_ = false, fresh_ = false;
};

}  // namespace rouse::executor
