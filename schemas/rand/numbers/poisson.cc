#include "schemas/rand/numbers/poisson.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rouse::rand {

Poisson::Poisson(double lambda) {
  // What lies outside is rarer than numbers of 32 bits tell apart.
  const double width = 10 * std::sqrt(lambda) + 25, mode = std::floor(lambda);
  first_ = static_cast<std::uint32_t>(std::max(0.0, mode - width));
  const auto count = static_cast<std::size_t>(mode + width) - first_ + 1, middle = static_cast<std::size_t>(mode) - first_;
  // In proportion to the most likely.
  cumulative_.assign(count, 1.0);
  for (std::size_t i = middle; i > 0; --i) cumulative_[i - 1] = cumulative_[i] * static_cast<double>(first_ + i) / lambda;
  for (std::size_t i = middle + 1; i < count; ++i) cumulative_[i] = cumulative_[i - 1] * lambda / static_cast<double>(first_ + i);
  double sum = 0;
  for (double& each : cumulative_) each = sum += each;
  for (double& each : cumulative_) each /= sum;
  cumulative_.back() = std::numeric_limits<double>::infinity();
  std::uint32_t at = 0;
  for (std::uint32_t begin = 0; begin < 1u << (32 - kShift); ++begin) {
    while (cumulative_[at] < (static_cast<double>(begin << kShift) + 0.5) * 0x1p-32) ++at;
    begins_.push_back(at);
  }
}

}  // namespace rouse::rand
