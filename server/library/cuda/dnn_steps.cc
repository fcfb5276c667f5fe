#include <algorithm>
#include <map>
#include <string>

#include "server/library/cuda/dnn_calls.h"

namespace rouse::library::cuda {
namespace {

constexpr std::uint64_t kAlignment = 256;

bool isFloat(dnn::Type type) { return type == dnn::Type::f32 || type == dnn::Type::f64 || type == dnn::Type::f16 || type == dnn::Type::bf16; }

// What passes lies, and has the type, as the first of the program's tensors of this shape: calls of the classic API want their tensors alike. So it is
// rounded to that type between two operations.
void liken(const dnn::Parts& parts, dnn::Tensor& passing) {
  for (const dnn::Tensor& each : parts.tensors) {
    if (each.kind != dnn::TensorKind::memory || each.rank != passing.rank || !std::equal(each.dims, each.dims + each.rank, passing.dims)) continue;
    std::copy_n(each.strides, each.rank, passing.strides);
    if (isFloat(each.type) && isFloat(passing.type)) passing.type = each.type;
    return;
  }
}

// One node, with its own tensors only: plans are told apart by what is in a graph.
dnn::Parts single(const dnn::Parts& parts, const std::vector<dnn::Tensor>& tensors, const dnn::Node& node) {
  dnn::Parts made;
  made.graph = parts.graph;
  std::map<std::uint16_t, std::uint16_t> numbers;
  const auto renumber = [&](std::uint16_t& tensor) {
    if (tensor == dnn::kNoTensor) return;
    const auto [place, fresh] = numbers.try_emplace(tensor, static_cast<std::uint16_t>(made.tensors.size()));
    if (fresh) made.tensors.push_back(tensors[tensor]);
    tensor = place->second;
  };
  dnn::Node copy = node;
  for (std::uint16_t& each : copy.inputs) renumber(each);
  for (std::uint16_t& each : copy.outputs) renumber(each);
  made.nodes.push_back(copy);
  made.graph.tensors = static_cast<std::uint32_t>(made.tensors.size());
  made.graph.nodes = 1;
  return made;
}

}  // namespace

std::uint64_t reachOf(const dnn::Tensor& tensor) {
  std::int64_t elements = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) elements += (tensor.dims[i] - 1) * (tensor.dims[i] > 1 ? tensor.strides[i] : 0);
  return static_cast<std::uint64_t>(elements) * dnn::bytesOf(tensor.type);
}

Result<Steps> stepsOf(const dnn::Parts& parts, Workspace own) {
  std::vector<dnn::Tensor> tensors = parts.tensors;
  std::uint64_t at = 0;
  for (dnn::Tensor& each : tensors) {
    if (each.kind != dnn::TensorKind::passing) continue;
    if (each.type == dnn::Type::boolean) return Error{CudaError::notSupported, "booleans between operations"};
    liken(parts, each);
    if (dnn::overlaps(each)) return Error{CudaError::notSupported, "elements that overlap between operations"};
    each.kind = dnn::TensorKind::memory;
    each.address = own.address + at;
    at += (reachOf(each) + kAlignment - 1) / kAlignment * kAlignment;
    if (at > own.bytes)
      return Error{CudaError::notSupported, "more than " + std::to_string(own.bytes) + " bytes between operations"};
  }
  Steps made;
  made.left = {own.address + at, own.bytes - at};
  for (const dnn::Node& node : parts.nodes) made.graphs.push_back(single(parts, tensors, node));
  return made;
}

}  // namespace rouse::library::cuda
