// How a function's requests went lately: a sliding window of one minute, in steps. Latencies are kept to a sixteenth of their value. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace rouse::router {

class Recent {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;
  static constexpr std::chrono::seconds kStep{5};
  static constexpr unsigned kSteps = 12;

  // A request that is over: how long it took, nothing if it was not answered, or not well.
  void add(Time now, std::optional<Duration> took, Duration deadline);

  struct Figures {
    std::uint32_t requests = 0, answered = 0, inTime = 0;
    double seconds = 0;    // that these are of: at most the window
    double perSecond = 0;  // requests, of the last step and the one that is under way
    std::optional<Duration> p50, p98;  // of those answered
    // Of all, answered or not; nothing asked is nothing missed.
    double compliance() const { return requests == 0 ? 1 : static_cast<double>(inTime) / requests; }
  };
  Figures figures(Time now) const;

 private:
  // Eight to each power of two from 2^16 ns (65 µs) to 2^40 ns (18 minutes); what is shorter or longer is in the first or last.
  static constexpr unsigned kLeast = 16, kOctaves = 24, kParts = 8, kBuckets = kOctaves * kParts;
  static unsigned bucket(Duration);
  static Duration middle(unsigned bucket);

  struct Step {
    std::int64_t number = -1;
    std::uint32_t requests = 0, answered = 0, inTime = 0;
    std::array<std::uint16_t, kBuckets> took{};  // full ones stay so
  };
  std::array<Step, kSteps> steps_{};
  std::optional<Time> since_;
};

}  // namespace rouse::router
