#include "bench/functions/reference/planes.h"

#include <algorithm>
#include <limits>

namespace networks::reference {

Planes convolved(const Planes& from, const Numbers& filter, std::size_t out, std::size_t side, std::size_t stride, std::size_t pad) {
  Planes to(out, (from.height + 2 * pad - side) / stride + 1, (from.width + 2 * pad - side) / stride + 1);
  // A frame of zeros, so that no place is special.
  Planes framed(from.count, from.height + 2 * pad, from.width + 2 * pad);
  for (std::size_t plane = 0; plane < from.count; ++plane)
    for (std::size_t y = 0; y < from.height; ++y)
      for (std::size_t x = 0; x < from.width; ++x) framed.at(plane, y + pad, x + pad) = from.at(plane, y, x);
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t plane = 0; plane < from.count; ++plane)
      for (std::size_t dy = 0; dy < side; ++dy)
        for (std::size_t dx = 0; dx < side; ++dx) {
          const double weight = filter[((o * from.count + plane) * side + dy) * side + dx];
          for (std::size_t y = 0; y < to.height; ++y) {
            const double* in = &framed.numbers[(plane * framed.height + y * stride + dy) * framed.width + dx];
            double* sum = &to.numbers[(o * to.height + y) * to.width];
            for (std::size_t x = 0; x < to.width; ++x) sum[x] += weight * in[x * stride];
          }
        }
  return to;
}

Planes greatest(const Planes& from, std::size_t side, std::size_t stride, std::size_t pad) {
  Planes to(from.count, (from.height + 2 * pad - side) / stride + 1, (from.width + 2 * pad - side) / stride + 1);
  for (std::size_t plane = 0; plane < to.count; ++plane)
    for (std::size_t y = 0; y < to.height; ++y)
      for (std::size_t x = 0; x < to.width; ++x) {
        double most = -std::numeric_limits<double>::infinity();
        for (std::size_t dy = 0; dy < side; ++dy)
          for (std::size_t dx = 0; dx < side; ++dx) {
            const std::size_t atY = y * stride + dy - pad, atX = x * stride + dx - pad;  // below 0: very large
            if (atY < from.height && atX < from.width) most = std::max(most, from.at(plane, atY, atX));
          }
        to.at(plane, y, x) = most;
      }
  return to;
}

void rectify(Planes& planes) {
  for (double& one : planes.numbers) one = std::max(one, 0.0);
}

}  // namespace networks::reference
