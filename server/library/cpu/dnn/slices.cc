#include "server/library/cpu/dnn/slices.h"

#include <algorithm>

namespace rouse::library::cpu {
namespace {

// Whether what a node writes at an index of this dimension follows from what its inputs have at the same index, or at that of the heads they share.
bool keepsApart(const dnn::Parts& parts, const dnn::Node& node, std::uint32_t dimension) {
  const dnn::Tensor &first = parts.tensors[node.inputs[0]], &to = parts.tensors[node.outputs[0]];
  switch (node.operation) {
    case dnn::Operation::pointwise: return node.mode != 501 || node.numbers[dnn::kAxis] != dimension;  // an index
    case dnn::Operation::reduction: return first.dims[dimension] == to.dims[dimension];
    case dnn::Operation::matrixProduct: return dimension + 2 < to.rank;
    case dnn::Operation::reorder: {
      std::uint8_t order[dnn::kMaxRank] = {};
      dnn::reorderedBy(first, to, order);
      return order[dimension] == dimension;
    }
    default: return false;
  }
}

bool slicesAlong(const dnn::Parts& parts, std::uint32_t dimension, std::int64_t count) {
  const auto fits = [&](const dnn::Tensor& tensor) { return tensor.rank > dimension && count % tensor.dims[dimension] == 0; };
  if (!std::ranges::all_of(parts.tensors, fits)) return false;
  for (const dnn::Node& node : parts.nodes) {
    if (!keepsApart(parts, node, dimension)) return false;
    // Each element in memory is written by one slice.
    const dnn::Tensor& to = parts.tensors[node.outputs[0]];
    if (to.kind == dnn::TensorKind::memory && to.dims[dimension] != count) return false;
  }
  return true;
}

// Whether what is written is read as well, or written twice: in which order matters then.
bool writesWhatItReads(const dnn::Parts& parts) {
  std::vector<dnn::Range> ranges;
  if (!dnn::ranges(parts, ranges)) return true;
  for (const dnn::Range& written : ranges) {
    if (!written.written) continue;
    for (const dnn::Range& other : ranges) {
      if (&other != &written && other.address < written.address + written.bytes && written.address < other.address + other.bytes) return true;
    }
  }
  return false;
}

}  // namespace

Slices slicesOf(const dnn::Parts& parts) {
  double passing = 0;
  for (const dnn::Tensor& tensor : parts.tensors) {
    if (tensor.kind == dnn::TensorKind::passing) passing += static_cast<double>(dnn::elementsOf(tensor)) * dnn::bytesOf(tensor.type);
  }
  Slices slices;
  if (passing <= static_cast<double>(kMostAtOnce) || passing > static_cast<double>(kMostSliced) || writesWhatItReads(parts)) return slices;
  for (const std::uint32_t dimension : {0u, 1u}) {
    std::int64_t count = 1;
    for (const dnn::Tensor& tensor : parts.tensors) count = std::max(count, tensor.rank > dimension ? tensor.dims[dimension] : 1);
    if (!slicesAlong(parts, dimension, count)) break;
    slices.counts[dimension] = count;
  }
  return slices;
}

dnn::Parts sliceOf(const dnn::Parts& parts, const Slices& slices, std::int64_t number) {
  dnn::Parts made = parts;
  const std::int64_t at[2] = {number / slices.counts[1], number % slices.counts[1]};
  for (dnn::Tensor& tensor : made.tensors) {
    for (const std::uint32_t dimension : {0u, 1u}) {
      if (slices.counts[dimension] == 1) continue;
      const std::int64_t index = at[dimension] * tensor.dims[dimension] / slices.counts[dimension];
      if (tensor.kind == dnn::TensorKind::memory && tensor.dims[dimension] != 1) tensor.address += static_cast<std::uint64_t>(index * tensor.strides[dimension]) * dnn::bytesOf(tensor.type);
      tensor.dims[dimension] = 1;
    }
  }
  return made;
}

}  // namespace rouse::library::cpu
