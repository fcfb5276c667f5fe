#include "schemas/dnn/check.h"

namespace rouse::dnn {

const char* nameOf(const Node& node) {
  constexpr std::uint16_t kBatchNorm = 2;
  switch (node.operation) {
    case Operation::convolutionForward: return "a convolution";
    case Operation::convolutionBackwardData: return "a convolution's gradient of its image";
    case Operation::convolutionBackwardFilter: return "a convolution's gradient of its filters";
    case Operation::pointwise: return "a pointwise operation";
    case Operation::reduction: return "a reduction";
    case Operation::matrixProduct: return "a matrix product";
    case Operation::normForward: return node.mode == kBatchNorm ? "a batch norm" : "a norm other than of batches";
    case Operation::normBackward: return node.mode == kBatchNorm ? "a batch norm's gradient" : "the gradient of a norm other than of batches";
    case Operation::poolForward: return "a pool";
    case Operation::poolBackward: return "a pool's gradient";
    case Operation::softmaxForward: return "a softmax";
    case Operation::softmaxBackward: return "a softmax's gradient";
    case Operation::responseNormForward: return "a local response norm";
    case Operation::responseNormBackward: return "a local response norm's gradient";
    case Operation::copy: return "a copy to another layout";
    case Operation::attentionForward: return "attention";
    case Operation::reorder: return "a transpose";
    case Operation::random: return "random numbers";
  }
  return "an operation";
}

}  // namespace rouse::dnn
