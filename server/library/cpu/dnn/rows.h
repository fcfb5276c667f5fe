// A tensor as rows: some dimensions are averaged or summed over, which gives one number for each place in the others.
#pragma once

#include "server/library/cpu/dnn/view.h"

namespace rouse::library::cpu {

class Rows {
 public:
  // `summed`: bits, dimensions of x that become 1.
  Rows(const View& x, std::uint32_t summed);

  // Pieces: some of the places each, with all that is summed for them.
  std::uint64_t pieces() const { return places_.count(); }
  // Of tensors with one number a place.
  Box places(std::uint64_t piece) const { return places_.box(piece); }
  // What is summed for these places, part by part.
  std::uint64_t parts() const { return parts_.count(); }
  Box part(const Box& places, std::uint64_t number) const;
  std::int64_t mostElements() const { return places_.most() * parts_.most(); }
  // Numbers that are summed for one place.
  std::int64_t length() const { return length_; }
  // Places outside, what is summed inside: a part is a row for each place.
  const Order& order() const { return order_; }

 private:
  Order order_;
  std::uint32_t rank_, summed_;
  std::int64_t length_ = 1;
  Cut places_, parts_;
};

// Sums in double, in an order that depends on the count alone.
template <class Of>
double sumOf(std::int64_t count, Of&& of) {
  double lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int j = 0; j < 8; ++j) lanes[j] += of(i + j);
  }
  for (; i < count; ++i) lanes[i & 7] += of(i);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

}  // namespace rouse::library::cpu
