// Graphs of cuDNN for tests, written as they are thought of.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "schemas/dnn/check.h"

namespace rouse::dnn {

using Dims = std::vector<std::int64_t>;

enum class Layout {
  rows,      // as C has arrays: N, C, then the spatial dimensions
  channels,  // C lies together: N, spatial, C
  gaps,      // as rows, with room between all of them
};

inline void setShape(Tensor& tensor, const Dims& dims, Layout layout) {
  tensor.rank = static_cast<std::uint8_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) tensor.dims[i] = dims[i];
  std::vector<std::size_t> order;  // innermost first
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (layout != Layout::channels || i != 1) order.push_back(i);
  }
  if (layout == Layout::channels && dims.size() > 1) order.insert(order.begin(), 1);
  std::int64_t stride = layout == Layout::gaps ? 2 : 1;
  for (const std::size_t i : order) {
    tensor.strides[i] = stride;
    stride *= dims[i];
    if (layout == Layout::gaps) stride += 3;
  }
}

inline std::int64_t reachOf(const Tensor& tensor) {
  std::int64_t reach = 1;
  for (std::uint32_t i = 0; i < tensor.rank; ++i) reach += (tensor.dims[i] - 1) * tensor.strides[i];
  return reach;
}

struct GraphOf {
  Parts parts;

  std::uint16_t tensor(const Dims& dims, Type type = Type::f32, Layout layout = Layout::rows, TensorKind kind = TensorKind::memory) {
    Tensor made;
    made.type = type;
    made.kind = kind;
    made.address = kind == TensorKind::memory ? 0x10000 * (parts.tensors.size() + 1) : 0;
    setShape(made, dims, layout);
    parts.tensors.push_back(made);
    return static_cast<std::uint16_t>(parts.tensors.size() - 1);
  }
  std::uint16_t scalar(float value, std::size_t rank) {
    const std::uint16_t made = tensor(Dims(rank, 1), Type::f32, Layout::rows, TensorKind::scalar);
    std::memcpy(parts.tensors[made].scalar, &value, sizeof value);
    return made;
  }
  Node& node(Operation operation, std::initializer_list<std::uint16_t> inputs, std::initializer_list<std::uint16_t> outputs, std::uint16_t mode = 0) {
    Node made;
    made.operation = operation;
    made.mode = mode;
    std::copy(inputs.begin(), inputs.end(), made.inputs);
    std::copy(outputs.begin(), outputs.end(), made.outputs);
    if (operation == Operation::pointwise) {
      made.numbers[kScaleX] = made.numbers[kScaleB] = 1;
      made.numbers[kUpperClip] = 3.0e38;
      made.numbers[kEluAlpha] = made.numbers[kSwishBeta] = made.numbers[kSoftplusBeta] = 1;
    }
    parts.nodes.push_back(made);
    return parts.nodes.back();
  }
};

struct Window {
  std::int32_t pad = 0, padAfter = 0, stride = 1, dilation = 1, window = 1;
};
inline void setWindows(Node& node, std::uint32_t spatial, Window w) {
  node.spatial = static_cast<std::uint8_t>(spatial);
  for (std::uint32_t i = 0; i < std::min(spatial, kMaxSpatial); ++i) {
    node.padBefore[i] = w.pad;
    node.padAfter[i] = w.padAfter;
    node.stride[i] = w.stride;
    node.dilation[i] = w.dilation;
    node.window[i] = w.window;
  }
}

// conv 3x3, a bias, relu: as a framework fuses them.
inline GraphOf fusedConvolution(std::int64_t images = 2, std::int64_t channels = 4, std::int64_t filters = 6, std::int64_t side = 8) {
  GraphOf g;
  const auto x = g.tensor({images, channels, side, side}), w = g.tensor({filters, channels, 3, 3}), b = g.tensor({1, filters, 1, 1});
  const Dims out{images, filters, side, side};
  const auto sums = g.tensor(out, Type::f32, Layout::rows, TensorKind::passing), biased = g.tensor(out, Type::f32, Layout::channels, TensorKind::passing);
  const auto y = g.tensor(out);
  setWindows(g.node(Operation::convolutionForward, {x, w}, {sums}, 1), 2, {1, 1, 1, 1, 0});
  g.node(Operation::pointwise, {sums, b}, {biased}, 0);
  g.node(Operation::pointwise, {biased}, {y}, 100);
  return g;
}

}  // namespace rouse::dnn
