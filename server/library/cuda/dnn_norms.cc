// Norms as operations of the backend API, which has them all but those in groups. Epsilon and the running statistics' factor are tensors by value there.
#include "server/library/cuda/dnn_maker.h"

namespace rouse::library::cuda {
namespace {

constexpr std::int64_t kFirstNumber = 1000;  // of tensors there are fewer

bool forward(const dnn::Node& node) { return node.operation == dnn::Operation::normForward; }
bool given(const dnn::Node& node, int input) { return node.inputs[input] != dnn::kNoTensor; }

// With statistics to keep it is training; without, what inference makes of x's own.
bool trains(const dnn::Node& node) {
  return node.mode == CUDNN_BATCH_NORM || node.outputs[1] != dnn::kNoTensor || node.outputs[2] != dnn::kNoTensor || given(node, 5) || given(node, 6);
}

cudnnBackendDescriptor_t makeNumber(Maker& maker, const NamedNumber& number) {
  const auto made = maker.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  constexpr std::int64_t kOnes[] = {1, 1, 1, 1};
  maker.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number.id);
  maker.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, number.wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
  maker.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  maker.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, kOnes, 4);
  maker.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, kOnes, 4);
  maker.set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  maker.finish(made);
  return made;
}

}  // namespace

std::vector<NamedNumber> numbersOf(const dnn::Node& node, std::size_t place) {
  if (node.operation != dnn::Operation::normForward && node.operation != dnn::Operation::normBackward) return {};
  const std::int64_t id = kFirstNumber + 2 * static_cast<std::int64_t>(place);
  const bool wide = node.compute == dnn::Type::f64;
  if (!forward(node) && given(node, 4)) return {};  // which epsilon is in already
  std::vector<NamedNumber> numbers{{id, wide, node.numbers[dnn::kEpsilon]}};
  if (forward(node) && (given(node, 5) || given(node, 6))) numbers.push_back({id + 1, wide, node.numbers[dnn::kAverageFactor]});
  return numbers;
}

const char* lacksNorm(const dnn::Node& node) {
  if (node.mode == CUDNN_GROUP_NORM) return "in groups";
  const bool rms = node.mode == CUDNN_RMS_NORM;
  if (!forward(node)) {
    if (node.outputs[1] == dnn::kNoTensor || (!rms && node.outputs[2] == dnn::kNoTensor)) return "whose gradient leaves out those of scale or bias";
    if (node.numbers[dnn::kParameterAlpha] != 1 || node.numbers[dnn::kParameterBeta] != 0) return "whose parameters' gradients have alpha and beta";
    return nullptr;
  }
  if (!given(node, 1) || (!rms && !given(node, 2))) return "without scale or bias";
  if ((node.flags & dnn::kTraining) != 0) return nullptr;
  if (node.mode == CUDNN_BATCH_NORM) return "of batches, with statistics that are given, among other operations";
  return (node.flags & dnn::kVarianceIsInverse) != 0 ? nullptr : "with a variance in place of the inverse deviation";
}

cudnnBackendDescriptor_t makeNorm(Maker& maker, const dnn::Node& node, std::size_t place, const Tensors& tensors) {
  const std::vector<NamedNumber> numbers = numbersOf(node, place);
  const auto mode = static_cast<cudnnBackendNormMode_t>(node.mode);
  const auto in = [&](cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, int i) {
    if (tensors.hasIn(i)) maker.setDescriptor(to, name, tensors.in(i));
  };
  const auto out = [&](cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, int i) {
    if (tensors.hasOut(i)) maker.setDescriptor(to, name, tensors.out(i));
  };
  if (!forward(node)) {
    const auto epsilon = numbers.empty() ? nullptr : makeNumber(maker, numbers[0]);
    const auto made = maker.make(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    maker.set(made, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, mode);
    in(made, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, 0);
    in(made, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, 1);
    in(made, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, 2);
    in(made, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, 3);
    in(made, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, 4);
    if (epsilon != nullptr) maker.setDescriptor(made, CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC, epsilon);
    out(made, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, 0);
    out(made, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, 1);
    out(made, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, 2);
    maker.finish(made);
    return made;
  }
  std::vector<cudnnBackendDescriptor_t> values;
  for (const NamedNumber& number : numbers) values.push_back(makeNumber(maker, number));
  const bool own = (node.flags & dnn::kTraining) != 0;
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
  maker.set(made, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, mode);
  maker.set(made, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, own && trains(node) ? CUDNN_NORM_FWD_TRAINING : CUDNN_NORM_FWD_INFERENCE);
  in(made, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, 0);
  in(made, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, 1);
  in(made, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, 2);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, values[0]);
  out(made, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, 0);
  // Statistics come out, or go in.
  if (own) {
    out(made, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, 1);
    out(made, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, 2);
  } else {
    in(made, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, 3);
    in(made, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, 4);
  }
  if (values.size() > 1) {
    maker.setDescriptor(made, CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, values[1]);
    in(made, CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, 5);
    in(made, CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, 6);
    out(made, CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, 3);
    out(made, CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, 4);
  }
  maker.finish(made);
  return made;
}

}  // namespace rouse::library::cuda
