// Who leaves the device so that somebody else can come: the least recently used of those that do nothing, and if they are
// not enough, those that wait for memory themselves, and those whose turn is over.
//
// Pure; times are nanoseconds of any steady clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rouse::swap {

struct Resident {
  enum class State : std::uint8_t {
    quiet,    // no work, no commands
    waiting,  // for memory, for less long than whom this is done for
    busy,
  };
  std::uint64_t chunks = 0;  // that leaving gives back
  State state = State::quiet;
  std::uint64_t activeAt = 0;   // when it was last seen to do anything
  std::uint64_t hereSince = 0;  // since its memory came
  std::uint64_t tookToCome = 0; // from when it could until then
};

// A busy resident is not asked to leave before it has been there for as long as its memory took to come, within these bounds: a visit must be
// worth its transfers. Programs that take turns then spend half of their time on their work at least, as long as what they have comes within
// the larger bound; that is what others may have to wait for at most.
inline constexpr std::uint64_t kTurnNs = 50'000'000;
inline constexpr std::uint64_t kLongestTurnNs = 5'000'000'000;

// Its turn is not over.
bool inTurn(std::uint64_t hereSince, std::uint64_t tookToCome, std::uint64_t now);

// Indices of residents that together give back at least `chunks`, in the order in which they should leave, none of them
// needlessly. Empty: there are not enough yet.
std::vector<std::size_t> planEviction(std::uint64_t chunks, std::span<const Resident> residents, std::uint64_t now);

}  // namespace rouse::swap
