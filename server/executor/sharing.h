// Lets more sessions share a device than fit on it: who has something to do and no memory gets it, in the order in which they began to
// wait, and who is in the way is asked to leave (swap/eviction_plan.h).
//
// A session that is asked to leave reads no more commands until its queued work has ended. That may never be: work may wait for
// something that only commands behind it bring about, on another device say. So asking is for a while only, and then
// it is left alone for a while, twice as long each time.
//
// Reactor thread only.
#pragma once

#include <cstdint>
#include <span>

#include "server/executor/session.h"

namespace rouse::executor {

class Sharing {
 public:
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000;
  static constexpr unsigned kMostRefusals = 6;  // that make a difference: it is left alone for about a minute then

  explicit Sharing(Surroundings& surroundings) : surroundings_(surroundings) {}

  // Looks at all sessions. True if anything was set in motion. `now`: nanoseconds of a steady clock, which may be coarse.
  bool turn(std::span<Session* const> sessions, std::uint64_t now);
  // Somebody waits: turn() is to be called again soon, also when nothing else happens.
  bool waiting() const { return waiting_; }

 private:
  bool makeRoom(std::span<Session* const> sessions, Session& head, std::uint64_t chunks, std::uint64_t now);

  Surroundings& surroundings_;
  bool waiting_ = false;
};

}  // namespace rouse::executor
