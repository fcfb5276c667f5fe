#include "client-shim/cudnn/graph.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace rouse::cudnn {
namespace {

// No call of the classic API has more.
constexpr std::size_t kTensors = 12, kNodes = 5;

// Of numbers that are not below 0. The largest there is, where the product is larger.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

// As is what the executor takes: no tensor ends behind the end of memory, or begins between elements.
bool aligned(const dnn::Parts& parts) {
  std::vector<dnn::Range> ranges;
  return dnn::ranges(parts, ranges);
}

}  // namespace

void pack(dnn::Tensor& tensor) {
  std::int64_t stride = 1;
  for (int i = tensor.rank - 1; i >= 0; --i) {
    tensor.strides[i] = stride;
    stride = times(stride, tensor.dims[i]);
  }
}

std::int64_t countElements(const dnn::Tensor& tensor) {
  std::int64_t elements = 1;
  for (int i = 0; i < tensor.rank; ++i) elements = times(elements, tensor.dims[i]);
  return elements;
}

double readNumber(const void* from, cudnnDataType_t type) {
  if (type == CUDNN_DATA_DOUBLE) {
    double value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool served(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_INT64:
    case CUDNN_DATA_BOOLEAN:
      return true;
    default:
      return false;
  }
}

dnn::Type computeOf(cudnnDataType_t type) { return type == CUDNN_DATA_DOUBLE ? dnn::Type::f64 : dnn::Type::f32; }

// Sums that may be kept in halves are kept in floats.
bool computeOf(cudnnDataType_t asked, dnn::Type& compute) {
  switch (asked) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      compute = dnn::Type::f32;
      return true;
    case CUDNN_DATA_DOUBLE:
      compute = dnn::Type::f64;
      return true;
    case CUDNN_DATA_INT32:
      compute = dnn::Type::i32;
      return true;
    default:
      return false;
  }
}

cudnnStatus_t toStatus(const dnn::Check& check, const char* function) {
  switch (check.verdict) {
    case dnn::Verdict::runs:
      return CUDNN_STATUS_SUCCESS;
    case dnn::Verdict::unsupported:
      return refuse(function, check.what);
    case dnn::Verdict::invalid:
      break;
  }
  char text[192];
  std::snprintf(text, sizeof text, "%s: %s", function, check.what);
  return fail(CUDNN_STATUS_BAD_PARAM, text);
}

cudnnStatus_t submit(const Handle& handle, const dnn::Parts& parts, const char* function) {
  if (!aligned(parts)) return fail(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, function);
  return toStatus(
      client::libraryHost()->submit(handle.device, handle.stream, dnn::kLibrary, dnn::kGraphFunction, dnn::putTogether(parts)));
}

cudnnStatus_t putInGraph(const Handle& handle, const dnn::Parts& parts, cudaGraph_t graph, bool update, const char* function) {
  if (!aligned(parts)) return fail(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, function);
  const CudaError error = client::libraryHost()->putInGraph(handle.device, graph, update, dnn::kLibrary, dnn::kGraphFunction, dnn::putTogether(parts));
  return error == CudaError::invalidValue ? fail(CUDNN_STATUS_BAD_PARAM, function) : toStatus(error);
}

Call::Call(cudnnHandle_t handle, const char* function) : function_(function), handle_(findHandle(handle)) {
  if (handle_ == nullptr) fault(CUDNN_STATUS_BAD_PARAM, "not a handle");
  parts_.tensors.reserve(kTensors);
  parts_.nodes.reserve(kNodes);
}

void Call::fault(cudnnStatus_t status, const char* what) {
  if (status_ != CUDNN_STATUS_SUCCESS) return;
  status_ = status;
  what_ = what;
}

void Call::unsupported(const char* what) {
  if (status_ != CUDNN_STATUS_SUCCESS) return;
  unsupported_ = true;
  fault(CUDNN_STATUS_NOT_SUPPORTED, what);
}

std::uint16_t Call::memory(const Tensor& tensor, const void* address) {
  require(tensor.rank != 0, "a tensor that has not been set");
  if (!served(tensor.type)) unsupported("a tensor's type");
  if (tensor.type == CUDNN_DATA_BOOLEAN) unsupported("booleans in memory, which are bits");
  dnn::Tensor made;
  made.address = reinterpret_cast<std::uint64_t>(address);
  made.rank = static_cast<std::uint8_t>(tensor.rank);
  made.type = static_cast<dnn::Type>(tensor.type);
  std::copy_n(tensor.dims, tensor.rank, made.dims);
  std::copy_n(tensor.strides, tensor.rank, made.strides);
  if (address == nullptr) fault(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a tensor's address is null");
  parts_.tensors.push_back(made);
  return static_cast<std::uint16_t>(parts_.tensors.size() - 1);
}

std::uint16_t Call::memory(const Filter& filter, const void* address) {
  Tensor tensor;
  tensor.type = filter.type;
  tensor.rank = filter.rank;
  std::copy_n(filter.dims, filter.rank, tensor.dims);
  cudnn::pack(filter.format, filter.rank, tensor.dims, tensor.strides);
  return memory(tensor, address);
}

std::uint16_t Call::passing(const Tensor& like) {
  dnn::Tensor made;
  made.rank = static_cast<std::uint8_t>(like.rank);
  made.type = computeOf(like.type);
  made.kind = dnn::TensorKind::passing;
  std::copy_n(like.dims, like.rank, made.dims);
  pack(made);
  parts_.tensors.push_back(made);
  return static_cast<std::uint16_t>(parts_.tensors.size() - 1);
}

std::uint16_t Call::scalar(int rank, cudnnDataType_t type, const void* value) {
  if (!served(type)) unsupported("a tensor's type");
  if (value == nullptr) fault(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a value's address is null");
  dnn::Tensor made;
  made.rank = static_cast<std::uint8_t>(rank);
  made.type = static_cast<dnn::Type>(type);
  made.kind = dnn::TensorKind::scalar;
  std::fill_n(made.dims, rank, 1);
  std::fill_n(made.strides, rank, 1);
  if (status_ == CUDNN_STATUS_SUCCESS) std::memcpy(made.scalar, value, bytesOf(type));
  parts_.tensors.push_back(made);
  return static_cast<std::uint16_t>(parts_.tensors.size() - 1);
}

std::uint16_t Call::scalar(int rank, dnn::Type type, double value) {
  const float single = static_cast<float>(value);
  return type == dnn::Type::f64 ? scalar(rank, CUDNN_DATA_DOUBLE, &value) : scalar(rank, CUDNN_DATA_FLOAT, &single);
}

dnn::Node& Call::node(dnn::Operation operation, dnn::Type compute, std::initializer_list<std::uint16_t> inputs,
                      std::initializer_list<std::uint16_t> outputs) {
  dnn::Node& made = parts_.nodes.emplace_back();
  made.operation = operation;
  made.compute = compute;
  std::copy(inputs.begin(), inputs.end(), made.inputs);
  std::copy(outputs.begin(), outputs.end(), made.outputs);
  return made;
}

dnn::Node& Call::pointwise(cudnnPointwiseMode_t mode, dnn::Type compute, std::initializer_list<std::uint16_t> inputs,
                           std::uint16_t output) {
  dnn::Node& made = node(dnn::Operation::pointwise, compute, inputs, {output});
  made.mode = static_cast<std::uint16_t>(mode);
  made.numbers[dnn::kScaleX] = made.numbers[dnn::kScaleB] = 1;
  made.numbers[dnn::kUpperClip] = std::numeric_limits<double>::infinity();
  made.numbers[dnn::kEluAlpha] = made.numbers[dnn::kSwishBeta] = made.numbers[dnn::kSoftplusBeta] = 1;
  return made;
}

namespace {

void setNumbers(const Activation& activation, dnn::Node& node) {
  switch (activation.mode) {
    case CUDNN_ACTIVATION_CLIPPED_RELU:
      node.numbers[dnn::kUpperClip] = activation.coefficient;
      break;
    case CUDNN_ACTIVATION_ELU:
      node.numbers[dnn::kEluAlpha] = activation.coefficient;
      break;
    case CUDNN_ACTIVATION_SWISH:
      node.numbers[dnn::kSwishBeta] = activation.swishBeta;
      break;
    default:
      break;
  }
  if (activation.nan == CUDNN_PROPAGATE_NAN) node.flags |= dnn::kPropagateNan;
}

cudnnPointwiseMode_t forwardMode(cudnnActivationMode_t mode) {
  switch (mode) {
    case CUDNN_ACTIVATION_SIGMOID:
      return CUDNN_POINTWISE_SIGMOID_FWD;
    case CUDNN_ACTIVATION_TANH:
      return CUDNN_POINTWISE_TANH_FWD;
    case CUDNN_ACTIVATION_ELU:
      return CUDNN_POINTWISE_ELU_FWD;
    case CUDNN_ACTIVATION_SWISH:
      return CUDNN_POINTWISE_SWISH_FWD;
    case CUDNN_ACTIVATION_IDENTITY:
      return CUDNN_POINTWISE_IDENTITY;
    default:
      return CUDNN_POINTWISE_RELU_FWD;
  }
}

}  // namespace

void Call::activate(const Activation& activation, dnn::Type compute, std::uint16_t x, std::uint16_t y, double alpha, double beta) {
  dnn::Node& made = pointwise(forwardMode(activation.mode), compute, {x}, y);
  setNumbers(activation, made);
  made.alpha = alpha;
  made.beta = beta;
}

void Call::differentiate(const Activation& activation, dnn::Type compute, std::uint16_t x, std::uint16_t y, std::uint16_t dy,
                         std::uint16_t dx, const Tensor& like, double alpha, double beta) {
  switch (activation.mode) {
    case CUDNN_ACTIVATION_SIGMOID:
    case CUDNN_ACTIVATION_TANH: {
      // Of y, as cuDNN's: x may have been overwritten by it. dy y (1 - y), or dy (1 - y y).
      const bool sigmoid = activation.mode == CUDNN_ACTIVATION_SIGMOID;
      const std::uint16_t first = passing(like), second = passing(like);
      pointwise(CUDNN_POINTWISE_MUL, compute, {dy, y}, first);
      pointwise(CUDNN_POINTWISE_MUL, compute, {first, y}, second);
      dnn::Node& last = pointwise(CUDNN_POINTWISE_SUB, compute, {sigmoid ? first : dy, second}, dx);
      last.alpha = alpha;
      last.beta = beta;
      return;
    }
    case CUDNN_ACTIVATION_IDENTITY: {
      dnn::Node& made = pointwise(CUDNN_POINTWISE_IDENTITY, compute, {dy}, dx);
      made.alpha = alpha;
      made.beta = beta;
      return;
    }
    default:
      break;
  }
  const cudnnPointwiseMode_t mode = activation.mode == CUDNN_ACTIVATION_ELU     ? CUDNN_POINTWISE_ELU_BWD
                                    : activation.mode == CUDNN_ACTIVATION_SWISH ? CUDNN_POINTWISE_SWISH_BWD
                                                                                : CUDNN_POINTWISE_RELU_BWD;
  dnn::Node& made = pointwise(mode, compute, {dy, x}, dx);
  setNumbers(activation, made);
  made.alpha = alpha;
  made.beta = beta;
}

double Call::factor(const void* from, cudnnDataType_t data) {
  if (from == nullptr) {
    fault(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a factor's address is null");
    return 0;
  }
  return readNumber(from, data);
}

void Call::workspace(void* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) return;
  parts_.graph.workspace = reinterpret_cast<std::uint64_t>(address);
  parts_.graph.workspaceBytes = bytes;
}

cudnnStatus_t Call::verify() {
  if (unsupported_) return refuse(function_, what_);
  if (status_ != CUDNN_STATUS_SUCCESS) {
    char text[192];
    std::snprintf(text, sizeof text, "%s: %s", function_, what_);
    return fail(status_, text);
  }
  return toStatus(dnn::check(parts_), function_);
}

cudnnStatus_t Call::submit() {
  const cudnnStatus_t status = verify();
  return status == CUDNN_STATUS_SUCCESS ? cudnn::submit(*handle_, parts_, function_) : status;
}

}  // namespace rouse::cudnn
