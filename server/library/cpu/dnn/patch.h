// The part of an image that some places' windows cover, as the loops of vectors.h read it: where it lies, if channels lie together there, else
// copied so. What of windows lies beside the image is left out of what is summed; or is zeros, which a copy has there: then places at the
// edges are summed together with the others.
#pragma once

#include <algorithm>
#include <vector>

#include "server/library/cpu/dnn/columns.h"
#include "server/library/cpu/dnn/vectors.h"

namespace rouse::library::cpu {

// Taps [first, end) of a window along d, at this place, lie within the image.
struct Taps {
  std::int64_t first, end;
};
inline Taps tapsWithin(const Convolution& conv, int d, std::int64_t place) {
  const std::int64_t begin = place * conv.stride[d] - conv.pad[d], dilation = conv.dilation[d];
  const std::int64_t first = begin >= 0 ? 0 : blocksOf(-begin, dilation);
  const std::int64_t end = begin >= conv.in[d] ? 0 : std::min(conv.window[d], (conv.in[d] - 1 - begin) / dilation + 1);
  return {std::min(first, conv.window[d]), std::max(end, std::min(first, conv.window[d]))};
}

class Patch {
 public:
  enum class Edges { leftOut, zeros };
  // Of image n, channels [channel, channel + count), under those places. wholeVectors: of so many floats at a time, channels are read.
  Patch(const Convolution& conv, const Box& places, std::int64_t n, std::int64_t channel, std::int64_t count, Edges edges, std::int64_t wholeVectors = 1);

  // run(x, step, parts, how many places, which place of the box) for runs of at most `most` places, all of one row, in their order. Weights'
  // distances are in elements of the window, counted tap by tap, channel inside. tapByTap: parts of one tap each, which x has a vector of.
  template <class Run>
  void eachRun(std::int64_t most, bool tapByTap, Run&& run) const;

 private:
  // Places of a row, next to each other, that have the same taps of it within the image.
  struct Columns {
    std::int64_t first, count, tap, endTap;
  };
  std::vector<Columns> columns(std::int64_t most) const;
  Taps tapsOf(int d, std::int64_t place) const { return padded_ ? Taps{0, conv_.window[d]} : tapsWithin(conv_, d, place); }

  const Convolution& conv_;
  const Box& places_;
  const std::int64_t channels_;
  bool padded_ = false;
  std::int64_t begin_[3], strides_[3];  // of x: what it begins with in the image
  const float* x_;
  Buffer<float> own_;
};

// Runs that for each row of the box: of a layout with channels apart that stays near, written to or read from one with channels together.
template <class Run>
void eachRow(const Box& box, Run&& run) {
  Box row = box;
  row.extent[2] = row.extent[3] = 1;
  for (std::int64_t a = 0; a < box.extent[2]; ++a) {
    for (std::int64_t b = 0; b < box.extent[3]; ++b) {
      row.begin[2] = box.begin[2] + a;
      row.begin[3] = box.begin[3] + b;
      run(row, (a * box.extent[3] + b) * box.extent[4]);
    }
  }
}

// How many floats such a box's patch may be copied to.
double patchElements(const Convolution& conv, const Box& places, std::int64_t channels);

template <class Run>
void Patch::eachRun(std::int64_t most, bool tapByTap, Run&& run) const {
  const std::vector<Columns> row = columns(most);
  const std::int64_t *b = places_.begin + 2, *e = places_.extent + 2;
  // Taps of a row that lie together with all their channels are one part.
  const bool joined = !tapByTap && strides_[2] == channels_ && conv_.dilation[2] == 1;
  std::vector<WindowPart> parts;
  std::int64_t place = 0;
  for (std::int64_t p0 = b[0]; p0 < b[0] + e[0]; ++p0) {
    const Taps taps0 = tapsOf(0, p0);
    for (std::int64_t p1 = b[1]; p1 < b[1] + e[1]; ++p1, place += e[2]) {
      const Taps taps1 = tapsOf(1, p1);
      for (const Columns& c : row) {
        parts.clear();
        for (std::int64_t t0 = taps0.first; t0 < taps0.end; ++t0) {
          for (std::int64_t t1 = taps1.first; t1 < taps1.end; ++t1) {
            const std::int64_t line = t0 * conv_.dilation[0] * strides_[0] + t1 * conv_.dilation[1] * strides_[1], tap = (t0 * conv_.window[1] + t1) * conv_.window[2];
            for (std::int64_t t2 = c.tap; t2 < (joined ? std::min(c.tap + 1, c.endTap) : c.endTap); ++t2)
              parts.push_back({line + t2 * conv_.dilation[2] * strides_[2], (tap + t2) * channels_});
          }
        }
        // May lie before the image: its first taps are left out then.
        const std::int64_t at = (p0 * conv_.stride[0] - conv_.pad[0] - begin_[0]) * strides_[0] + (p1 * conv_.stride[1] - conv_.pad[1] - begin_[1]) * strides_[1] +
                                ((b[2] + c.first) * conv_.stride[2] - conv_.pad[2] - begin_[2]) * strides_[2];
        for (WindowPart& part : parts) part.x += at;
        const std::int64_t length = tapByTap ? 1 : joined ? (c.endTap - c.tap) * channels_ : channels_;
        run(x_, conv_.stride[2] * strides_[2], WindowParts{parts.data(), static_cast<std::int64_t>(parts.size()), length}, c.count, place + c.first);
      }
    }
  }
}

}  // namespace rouse::library::cpu
