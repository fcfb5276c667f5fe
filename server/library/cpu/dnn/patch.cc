#include "server/library/cpu/dnn/patch.h"

#include <algorithm>

namespace rouse::library::cpu {
namespace {

std::int64_t coveredBy(const Convolution& conv, int d, std::int64_t places) { return (places - 1) * conv.stride[d] + (conv.window[d] - 1) * conv.dilation[d] + 1; }

}  // namespace

double patchElements(const Convolution& conv, const Box& places, std::int64_t channels) {
  double elements = static_cast<double>(channels);
  for (int d = 0; d < 3; ++d) elements *= static_cast<double>(coveredBy(conv, d, places.extent[d + 2]));
  return elements;
}

Patch::Patch(const Convolution& conv, const Box& places, std::int64_t n, std::int64_t channel, std::int64_t count, Edges edges, std::int64_t wholeVectors)
    : conv_(conv), places_(places), channels_(count) {
  const View& x = conv.x;
  std::int64_t extents[3];
  Box box;  // what of it lies in the image
  box.begin[0] = n, box.begin[1] = channel;
  box.extent[0] = 1, box.extent[1] = count;
  bool inside = true;
  for (int d = 0; d < 3; ++d) {
    begin_[d] = places.begin[d + 2] * conv.stride[d] - conv.pad[d];
    extents[d] = coveredBy(conv, d, places.extent[d + 2]);
    box.begin[d + 2] = std::clamp<std::int64_t>(begin_[d], 0, conv.in[d]);
    box.extent[d + 2] = std::clamp<std::int64_t>(begin_[d] + extents[d], box.begin[d + 2], conv.in[d]) - box.begin[d + 2];
    inside = inside && box.extent[d + 2] == extents[d];
  }
  if (x.type == dnn::Type::f32 && (x.dims[1] == 1 || x.strides[1] == 1) && count % wholeVectors == 0 && (inside || edges == Edges::leftOut)) {
    x_ = reinterpret_cast<const float*>(x.base) + (x.dims[0] == 1 ? 0 : n * x.strides[0]) + channel;
    for (int d = 0; d < 3; ++d) begin_[d] = 0, strides_[d] = x.dims[d + 2] == 1 ? 0 : x.strides[d + 2];
    return;
  }
  padded_ = true;
  strides_[2] = count, strides_[1] = extents[2] * count, strides_[0] = extents[1] * strides_[1];
  const std::int64_t elements = extents[0] * strides_[0];
  own_ = bufferOf<float>(elements + wholeVectors);
  if (!inside) std::fill_n(own_.get(), elements, 0.0f);
  // What lies behind the last channel is read, and is no part of anything that is kept.
  std::fill_n(own_.get() + elements, wholeVectors, 0.0f);
  if (box.extent[2] != 0 && box.extent[3] != 0 && box.extent[4] != 0)
    eachRow(box, [&](const Box& row, std::int64_t) {
      read(x, row, Order{{0, 2, 3, 4, 1}},
           own_.get() + (row.begin[2] - begin_[0]) * strides_[0] + (row.begin[3] - begin_[1]) * strides_[1] + (row.begin[4] - begin_[2]) * strides_[2]);
    });
  x_ = own_.get();
}

std::vector<Patch::Columns> Patch::columns(std::int64_t most) const {
  std::vector<Columns> all;
  const std::int64_t begin = places_.begin[4], count = places_.extent[4];
  for (std::int64_t i = 0; i < count;) {
    const Taps taps = tapsOf(2, begin + i);
    std::int64_t end = i + 1;
    for (; end < count; ++end) {
      if (const Taps next = tapsOf(2, begin + end); next.first != taps.first || next.end != taps.end) break;
    }
    // Runs of about the same length.
    const std::int64_t length = blocksOf(end - i, blocksOf(end - i, most));
    for (; i < end; i += length) all.push_back({i, std::min(length, end - i), taps.first, taps.end});
    i = end;
  }
  return all;
}

}  // namespace rouse::library::cpu
