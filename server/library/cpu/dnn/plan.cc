#include "server/library/cpu/dnn/plan.h"

#include <algorithm>

namespace rouse::library::cpu {

Plan::Plan(dnn::Parts parts) : parts_(std::make_unique<dnn::Parts>(std::move(parts))) {
  for (dnn::Tensor& tensor : parts_->tensors) {
    View view;
    view.type = tensor.type;
    view.rank = tensor.rank;
    std::copy_n(tensor.dims, tensor.rank, view.dims);
    std::copy_n(tensor.strides, tensor.rank, view.strides);
    switch (tensor.kind) {
      case dnn::TensorKind::memory:
        view.base = reinterpret_cast<std::byte*>(tensor.address);
        break;
      case dnn::TensorKind::scalar:
        view.base = reinterpret_cast<std::byte*>(tensor.scalar);
        break;
      case dnn::TensorKind::passing: {
        // In the order of its dimensions, without gaps.
        const Order order = memoryOrder(view);
        std::int64_t stride = 1;
        for (std::uint32_t i = view.rank; i-- > 0;) {
          view.strides[order.dims[i]] = stride;
          stride *= view.dims[order.dims[i]];
        }
        view.base = room(stride * dnn::bytesOf(view.type));
      }
    }
    views_.push_back(view);
  }
}

std::byte* Plan::room(std::int64_t bytes) {
  memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)));
  return memory_.back().get();
}

View Plan::scratch(dnn::Type type, std::uint32_t rank, const std::int64_t* dims) {
  View view;
  view.type = type;
  view.rank = rank;
  std::copy_n(dims, rank, view.dims);
  std::int64_t stride = 1;
  for (std::uint32_t i = rank; i-- > 0;) {
    view.strides[i] = stride;
    stride *= dims[i];
  }
  view.base = room(stride * dnn::bytesOf(type));
  return view;
}

bool Plan::wide(const dnn::Node& node) const {
  if (node.compute != dnn::Type::f32) return true;
  const auto large = [&](std::uint16_t tensor) {
    if (!has(tensor)) return false;
    const dnn::Type type = parts_->tensors[tensor].type;
    return type == dnn::Type::f64 || type == dnn::Type::i32 || type == dnn::Type::i64;
  };
  for (const std::uint16_t input : node.inputs) {
    if (large(input)) return true;
  }
  for (const std::uint16_t output : node.outputs) {
    if (large(output)) return true;
  }
  // Sums of bytes' products are exact then.
  const bool multiplies = node.operation == dnn::Operation::convolutionForward || node.operation == dnn::Operation::matrixProduct;
  return multiplies && parts_->tensors[node.inputs[0]].type == dnn::Type::i8;
}

View spatially(const View& view) {
  View made = view;
  made.rank = 5;
  const std::uint32_t lacks = 5 - view.rank;
  for (std::uint32_t i = 2; i < 5; ++i) {
    made.dims[i] = i < 2 + lacks ? 1 : view.dims[i - lacks];
    made.strides[i] = i < 2 + lacks ? 0 : view.strides[i - lacks];
  }
  return made;
}

}  // namespace rouse::library::cpu
