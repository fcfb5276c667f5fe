// Graphs whose passing tensors are larger than what they are made of, as attention's scores, batch by batch and head by head: what passes is then that
// of one slice at a time.
#pragma once

#include "schemas/dnn/check.h"
#include "server/library/cpu/dnn/view.h"

namespace rouse::library::cpu {

// How many indices of the leading dimensions no operation mixes.
struct Slices {
  std::int64_t counts[2] = {1, 1};
  std::int64_t count() const { return counts[0] * counts[1]; }
};

// Of passing tensors together, from which on a graph is sliced; and up to which.
inline constexpr std::uint64_t kMostAtOnce = std::uint64_t{256} << 20, kMostSliced = std::uint64_t{64} << 30;

// The parts have been checked. One slice: the graph is not sliced.
Slices slicesOf(const dnn::Parts& parts);
dnn::Parts sliceOf(const dnn::Parts& parts, const Slices& slices, std::int64_t number);

}  // namespace rouse::library::cpu
