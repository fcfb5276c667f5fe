// Convolutions' innermost loops, of floats in vectors as wide as the processor has, with what is summed kept in its registers. Each is compiled
// for one set of instructions (vectors_*.cc), which is why nothing else is included here than numbers.
//
// x: what the first place's window begins with; further places of its row are `step` apart. Channels lie together.
#pragma once

#include <cstdint>

namespace rouse::library::cpu {

// What of a window is summed: parts of `length` elements that lie together, each so far from the window's beginning, and from the weights'.
struct WindowPart {
  std::int64_t x, w;
};
struct WindowParts {
  const WindowPart* parts;
  std::int64_t count, length;
};

struct VectorLoops {
  std::int64_t lanes;   // floats of a vector
  std::int64_t places;  // most at once

  // to[place][filter] = sum over the parts of x times w, for `places` places and `filters` filters, which are at most two vectors; places of
  // `to` are `spacing` apart. w: for each element of the window one or two whole vectors, whatever filters there are, `wStep` apart.
  void (*products)(std::int64_t filters, std::int64_t places, const float* x, std::int64_t step, const WindowParts& parts, const float* w, std::int64_t wStep, float* to,
                   std::int64_t spacing);
  // to[place][channel] = sum over the parts of x[channel] times w[channel], for one vector of channels, of which `channels` are stored. WindowParts
  // have one element, of which a vector is read.
  void (*depthwise)(std::int64_t channels, std::int64_t places, const float* x, std::int64_t step, const WindowParts& parts, const float* w, float* to, std::int64_t spacing);
};

extern const VectorLoops kVectors512, kVectors256;
// Of this processor; null: it has no such instructions.
const VectorLoops* vectorLoops();

}  // namespace rouse::library::cpu
