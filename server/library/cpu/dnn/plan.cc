#include "server/library/cpu/dnn/plan.h"

#include <algorithm>
#include <cstdio>

#include "server/library/job.h"

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
        view.base = room(stride, view.type);
      }
    }
    views_.push_back(view);
  }
}

std::byte* Plan::room(std::int64_t elements, dnn::Type type) {
  const double bytes = static_cast<double>(elements) * dnn::bytesOf(type);
  if (bytes > static_cast<double>(kMostJobBytes - bytes_)) {
    refuse(bytes + static_cast<double>(bytes_), kMostJobBytes, "for as long as it runs");
    return nullptr;
  }
  bytes_ += static_cast<std::uint64_t>(bytes);
  memory_.push_back(bufferOf<std::byte>(static_cast<std::int64_t>(bytes)));
  return memory_.back().get();
}

void Plan::needs(double bytes) {
  if (bytes > static_cast<double>(kMostPieceBytes)) refuse(bytes, kMostPieceBytes, "for each piece of it");
}

void Plan::refuse(double bytes, std::uint64_t most, const char* what) {
  char text[160];
  std::snprintf(text, sizeof text, "cuDNN on the CPU device: %s: %.0f bytes of working memory %s; at most %llu", name_, bytes, what,
                static_cast<unsigned long long>(most));
  if (refusal_.empty()) refusal_ = text;
}

bool Plan::add(const dnn::Node& node) {
  name_ = dnn::nameOf(node);
  switch (node.operation) {
    case dnn::Operation::convolutionForward: planConvolution(*this, node); break;
    case dnn::Operation::convolutionBackwardData: planConvolutionBackwardData(*this, node); break;
    case dnn::Operation::convolutionBackwardFilter: planConvolutionBackwardFilter(*this, node); break;
    case dnn::Operation::pointwise: planPointwise(*this, node); break;
    case dnn::Operation::reduction: planReduction(*this, node); break;
    case dnn::Operation::matrixProduct: planProduct(*this, node); break;
    case dnn::Operation::normForward: planNormForward(*this, node); break;
    case dnn::Operation::normBackward: planNormBackward(*this, node); break;
    case dnn::Operation::poolForward: planPoolForward(*this, node); break;
    case dnn::Operation::poolBackward: planPoolBackward(*this, node); break;
    case dnn::Operation::softmaxForward:
    case dnn::Operation::softmaxBackward: planSoftmax(*this, node); break;
    case dnn::Operation::responseNormForward:
    case dnn::Operation::responseNormBackward: planResponseNorm(*this, node); break;
    case dnn::Operation::copy:
    case dnn::Operation::reorder: planCopy(*this, node); break;
    case dnn::Operation::random: planRandom(*this, node); break;
    case dnn::Operation::attentionForward: planAttention(*this, node); break;
  }
  return refusal_.empty();
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
  view.base = room(stride, type);
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
  const dnn::Type first = parts_->tensors[node.inputs[0]].type;
  return multiplies && (first == dnn::Type::i8 || first == dnn::Type::u8);
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
