// Flows that share links max-min fairly: the model of swap/link_model.h on flat memory, so that several processes can hold the
// state of it in common.
//
// Pure. Times are nanoseconds of the monotonic clock, as doubles: exact to the nanosecond for a hundred days after a boot.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

namespace rouse::device {

// Two directions each of 64 GPUs, of as many switches, and of NVLinks between any two of the GPUs.
inline constexpr std::size_t kMaxLinks = 256 + 64 * 63;
inline constexpr std::size_t kMaxPath = 4;
inline constexpr std::size_t kMaxFlows = 512;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct LinkRate {
  double bytesPerNs = 0;
  double latencyNs = 0;
};

struct LinkPath {
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMaxPath> links{};  // none twice
};

struct Flow {
  std::uint64_t id = 0;  // not 0
  double movesAt = 0;    // its latencies are over
  double remaining = 0;  // bytes
  double rate = 0;       // bytes a nanosecond, as of the latest share()
  LinkPath path;         // not empty
  std::uint32_t reserved = 0;
};

struct LinkFlows {
  double now = 0;
  std::uint64_t count = 0;
  std::array<Flow, kMaxFlows> flows;

  std::span<Flow> all() { return {flows.data(), count}; }
  Flow* find(std::uint64_t id);
  // False when there are kMaxFlows.
  bool add(const Flow& flow);
  void remove(Flow& flow);
  // Moves bytes until then; flows that have moved all of theirs are gone. A time before `now` is `now`.
  void progress(std::span<const LinkRate> links, double until);
  // When a flow will have no more than `remaining` bytes left, if no other is added before. `now` if it is gone. Uses the state
  // up.
  double whenLeft(std::span<const LinkRate> links, std::uint64_t id, double remaining);

 private:
  void share(std::span<const LinkRate> links);
  // Everything that moves goes on to `to`, at the rates there are; `ends`: the one that has nothing left then.
  void move(double to, const Flow* ends);
  double nextEvent(Flow*& of);
};

}  // namespace rouse::device
