// Which function that waits for room on its GPU is taken to which other one, when there is room. Keeps notes of who was moved when, so
// that functions do not go to and fro, and of those that would not be moved.
//
// Pure; times are nanoseconds of any steady clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace rouse::daemon {

class RebalancePolicy {
 public:
  // Who has been moved stays for so long at least: where it is, it has been given its turn. A refusal counts as well, twice as long
  // each time in a row: what ties a function to its GPU will hardly change.
  static constexpr std::uint64_t kStayNs = 2'000'000'000;
  static constexpr unsigned kMostRefusals = 5;  // that make a difference: about a minute

  struct Waiting {
    std::uint64_t session = 0;
    std::uint64_t wantedBytes = 0;    // of the device, to come
    std::uint64_t reservedBytes = 0;  // needs homes
  };
  struct Gpu {
    std::uint32_t number = 0;
    std::uint64_t roomBytes = 0, idleBytes = 0;  // that nobody has; that idle functions would give back
    std::uint64_t homeBytes = 0;                 // of its part of the host store, promised to nobody
    std::uint32_t waiting = 0;
  };

  // Whether it is worth asking the other GPUs how they are.
  bool considers(std::uint64_t session, std::uint64_t now) const;
  // One of the others, where nobody waits, there is room for all of it, and homes: the one with most room, or if none has it without
  // somebody leaving, the one with most of both.
  static std::optional<std::uint32_t> choose(const Waiting&, std::span<const Gpu> others);
  void ended(std::uint64_t session, bool moved, std::uint64_t now);
  // It has been moved by somebody else, or is gone; notes() is how many are kept.
  void forget(std::uint64_t session) { notes_.erase(session); }
  // Forgets those whose time is over.
  void forgetOld(std::uint64_t now);
  std::size_t notes() const { return notes_.size(); }

 private:
  struct Note {
    std::uint64_t until = 0;
    unsigned refusals = 0;
  };
  std::map<std::uint64_t, Note> notes_;  // by session
};

}  // namespace rouse::daemon
