#include "server/library/cpu/dnn/rows.h"

#include <algorithm>

namespace rouse::library::cpu {
namespace {

Order rowOrder(const View& x, std::uint32_t summed) {
  const Order all = memoryOrder(x);
  Order order;
  std::uint32_t count = 0;
  for (const std::uint32_t inside : {0u, 1u}) {
    for (std::uint32_t i = 0; i < x.rank; ++i) {
      if ((summed >> all.dims[i] & 1) == inside) order.dims[count++] = all.dims[i];
    }
  }
  return order;
}

std::int64_t lengthOf(const View& x, std::uint32_t summed) {
  std::int64_t length = 1;
  for (std::uint32_t d = 0; d < x.rank; ++d) {
    if ((summed >> d & 1) != 0) length *= x.dims[d];
  }
  return length;
}

// Places that lie beside each other in memory are read together, or most of what is read would be thrown away.
std::int64_t placesAtOnce(const View& x, std::uint32_t summed, std::int64_t length) {
  std::int64_t least = 1;
  for (std::uint32_t d = 0; d < x.rank; ++d) {
    if ((summed >> d & 1) == 0 && x.dims[d] > 1 && x.strides[d] == 1) least = std::min<std::int64_t>(x.dims[d], 16);
  }
  return std::max(least, kPieceElements / length);
}

}  // namespace

Rows::Rows(const View& x, std::uint32_t summed)
    : order_(rowOrder(x, summed)),
      rank_(x.rank),
      summed_(summed),
      length_(lengthOf(x, summed)),
      places_(x, order_, placesAtOnce(x, summed, length_), 0, summed),
      parts_(x, order_, std::max<std::int64_t>(kPieceElements / places_.most(), 16), 0, ~summed) {}

Box Rows::part(const Box& places, std::uint64_t number) const {
  Box box = parts_.box(number);
  for (std::uint32_t d = 0; d < rank_; ++d) {
    if ((summed_ >> d & 1) != 0) continue;
    box.begin[d] = places.begin[d];
    box.extent[d] = places.extent[d];
  }
  return box;
}

}  // namespace rouse::library::cpu
