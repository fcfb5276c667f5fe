// The Poisson distribution by inversion of its cumulative one, in a table. Immutable once made; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace rouse::rand {

class Poisson {
 public:
  // 0 < lambda <= kMostLambda. Throws std::bad_alloc.
  explicit Poisson(double lambda);

  // Of a number that is equally distributed among all of 32 bits.
  std::uint32_t operator()(std::uint32_t bits) const {
    const double u = (bits + 0.5) * 0x1p-32;
    std::uint32_t at = begins_[bits >> kShift];
    while (cumulative_[at] < u) ++at;  // the last is infinite
    return first_ + at;
  }

  // What the distribution has from first() on.
  std::uint32_t first() const { return first_; }
  const std::vector<double>& cumulative() const { return cumulative_; }

 private:
  static constexpr std::uint32_t kShift = 20;
  std::uint32_t first_ = 0;
  std::vector<double> cumulative_;     // that a result is first_ and its index, or less
  std::vector<std::uint32_t> begins_;  // where the search for numbers of the same highest bits begins
};

}  // namespace rouse::rand
