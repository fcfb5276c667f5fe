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
#include <vector>

#include "server/executor/session.h"
#include "server/executor/sharer.h"

namespace rouse::executor {

class Sharing {
 public:
  static constexpr std::uint64_t kPatienceNs = 1'000'000'000;
  static constexpr unsigned kMostRefusals = 6;  // that make a difference: it is left alone for about a minute then

  // Who has done nothing for so long is no reason for others to stay away.
  static constexpr std::uint64_t kIdleNs = 100'000'000;
  // How long who waits here without all of its memory waits before another device is thought of, altogether where it waits again and again:
  // as long as the way there takes, about (copying homes, bytes a second; and the rest of it). So it never waits more than twice as long
  // as whoever knew how long it would have to (Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", 1988).
  static constexpr std::uint64_t kCopyRate = 4'000'000'000;
  static constexpr std::uint64_t kLeastWaitNs = 20'000'000;
  // Who has not waited for so long begins anew.
  static constexpr std::uint64_t kForgetNs = 10'000'000'000;
  // Where there was no better place for it, this is asked again after as much waiting as before, or so much.
  static constexpr std::uint64_t kTellAgainNs = 1'000'000'000;

  explicit Sharing(Surroundings& surroundings) : surroundings_(surroundings) {}

  // Looks at all sessions and guests. True if anything was set in motion. `now`: nanoseconds of a steady clock, which may be coarse.
  bool turn(std::span<Sharer* const> sharers, std::uint64_t now);
  bool turn(std::span<Session* const> sessions, std::uint64_t now) {
    return turn(std::vector<Sharer*>(sessions.begin(), sessions.end()), now);
  }
  // Somebody waits: turn() is to be called again soon, also when nothing else happens.
  bool waiting() const { return waiting_; }
  // Somebody cannot come for want of chunks, and what is lent is wanted back (Session::share()). After turn().
  bool wantsLent() const { return lacking_ != 0; }
  // How many those are, which others are to make room for.
  std::uint64_t lackingChunks() const { return lacking_; }
  // Who mayMove() and has waited for longer than its way would take, since that was asked last, or twice as long as then. After turn().
  static std::vector<channel::SessionWaits> impatient(std::span<Session* const> sessions, std::uint64_t now);
  // What those have that have done nothing for kIdleNs and would leave if they were asked.
  static std::uint64_t idleBytes(std::span<Session* const> sessions, std::uint64_t now);

 private:
  bool makeRoom(std::span<Sharer* const> sharers, Sharer& head, std::uint64_t chunks, std::uint64_t now);

  Surroundings& surroundings_;
  bool waiting_ = false;
  std::uint64_t lacking_ = 0;
};

}  // namespace rouse::executor
