#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "server/library/cuda/dnn_calls.h"
#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

constexpr std::uint16_t kBatchNorm = 2;
constexpr double kHighest = std::numeric_limits<float>::max();  // a clip that clips nothing

// An operation on elements as a call of the classic API: what our client makes of such calls (client-shim/cudnn), read backwards.
struct Elementwise {
  enum class Call : std::uint8_t { activation, gradient, pair, add, scale, set };
  Call call{};
  cudnnActivationMode_t activation{};
  double coefficient = 0, swishBeta = 1;
  cudnnOpTensorOp_t pair{};
  double first = 1, second = 1;  // what a pair's inputs are multiplied by
  // Numbers of tensors. Of a gradient: x, y and dy.
  std::uint16_t x = dnn::kNoTensor, y = dnn::kNoTensor, dy = dnn::kNoTensor, to = dnn::kNoTensor;
  bool makesY = false;  // y is not there, and is what the gradient is taken of
  double alpha = 1, beta = 0;
  std::uint16_t flags = 0;
};

bool inMemory(const dnn::Tensor& tensor) { return tensor.kind == dnn::TensorKind::memory; }
bool sameShape(const dnn::Tensor& a, const dnn::Tensor& b) { return a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims); }
bool sameLayout(const dnn::Tensor& a, const dnn::Tensor& b) {
  if (a.type != b.type || !sameShape(a, b)) return false;
  for (std::uint32_t i = 0; i < a.rank; ++i) {
    if (a.dims[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}
double valueOf(const dnn::Tensor& scalar) {
  double wide = 0;
  float narrow = 0;
  std::memcpy(&wide, scalar.scalar, sizeof wide);
  std::memcpy(&narrow, scalar.scalar, sizeof narrow);
  return scalar.type == dnn::Type::f64 ? wide : scalar.type == dnn::Type::f32 ? narrow : std::nan("");
}

// Which activation a pointwise mode is; forward ones and their derivatives are 100 apart.
bool activationOf(const dnn::Node& node, Elementwise& found) {
  switch (node.mode % 100 + CUDNN_POINTWISE_RELU_FWD) {
    case CUDNN_POINTWISE_RELU_FWD:
      if (node.numbers[dnn::kLowerClip] != 0 || node.numbers[dnn::kLowerSlope] != 0) return false;
      found.activation = node.numbers[dnn::kUpperClip] >= kHighest ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_CLIPPED_RELU;
      if (found.activation == CUDNN_ACTIVATION_CLIPPED_RELU) found.coefficient = node.numbers[dnn::kUpperClip];
      return true;
    case CUDNN_POINTWISE_TANH_FWD:
      found.activation = CUDNN_ACTIVATION_TANH;
      return true;
    case CUDNN_POINTWISE_SIGMOID_FWD:
      found.activation = CUDNN_ACTIVATION_SIGMOID;
      return true;
    case CUDNN_POINTWISE_ELU_FWD:
      found.activation = CUDNN_ACTIVATION_ELU;
      found.coefficient = node.numbers[dnn::kEluAlpha];
      return true;
    case CUDNN_POINTWISE_SWISH_FWD:
      found.activation = CUDNN_ACTIVATION_SWISH;
      found.swishBeta = node.numbers[dnn::kSwishBeta];
      return true;
    default:
      return false;
  }
}
static_assert(CUDNN_POINTWISE_RELU_FWD == 100 && CUDNN_POINTWISE_RELU_BWD == 200 && CUDNN_POINTWISE_SWISH_BWD - CUDNN_POINTWISE_SWISH_FWD == 100 &&
              CUDNN_POINTWISE_ELU_BWD - CUDNN_POINTWISE_ELU_FWD == 100 && CUDNN_POINTWISE_TANH_BWD - CUDNN_POINTWISE_TANH_FWD == 100 &&
              CUDNN_POINTWISE_SIGMOID_BWD - CUDNN_POINTWISE_SIGMOID_FWD == 100);

// Sigmoid's and tanh's gradients come as three products and differences of dy and y.
std::optional<Elementwise> gradientOfY(const dnn::Parts& parts) {
  const dnn::Node &once = parts.nodes[0], &twice = parts.nodes[1], &last = parts.nodes[2];
  for (const dnn::Node& node : parts.nodes) {
    if (node.operation != dnn::Operation::pointwise || node.numbers[dnn::kScaleX] != 1 || node.numbers[dnn::kScaleB] != 1) return {};
    if (&node != &last && (node.mode != CUDNN_POINTWISE_MUL || node.alpha != 1 || node.beta != 0)) return {};
  }
  const std::uint16_t dy = once.inputs[0], y = once.inputs[1];
  if (last.mode != CUDNN_POINTWISE_SUB || twice.inputs[0] != once.outputs[0] || twice.inputs[1] != y || last.inputs[1] != twice.outputs[0]) return {};
  const bool sigmoid = last.inputs[0] == once.outputs[0];
  if (!sigmoid && last.inputs[0] != dy) return {};
  const dnn::Tensor &first = parts.tensors[once.outputs[0]], &second = parts.tensors[twice.outputs[0]], &to = parts.tensors[last.outputs[0]];
  if (first.kind != dnn::TensorKind::passing || second.kind != dnn::TensorKind::passing) return {};
  for (const std::uint16_t each : {dy, y}) {
    if (!inMemory(parts.tensors[each]) || !sameShape(parts.tensors[each], to)) return {};
  }
  if (!inMemory(to)) return {};
  Elementwise found;
  found.call = Elementwise::Call::gradient;
  found.activation = sigmoid ? CUDNN_ACTIVATION_SIGMOID : CUDNN_ACTIVATION_TANH;
  // Of y alone, so that x may lie where y does ("in-place operation", cudnnActivationForward), which is all that is known of it here.
  found.x = found.y = y;
  found.dy = dy;
  found.to = last.outputs[0];
  found.alpha = last.alpha;
  found.beta = last.beta;
  return found;
}

std::optional<Elementwise> elementwise(const dnn::Parts& parts) {
  if (parts.nodes.size() == 3) return gradientOfY(parts);
  const dnn::Node& node = parts.nodes[0];
  if (parts.nodes.size() != 1 || node.operation != dnn::Operation::pointwise) return {};
  const std::uint32_t inputs = dnn::pointwiseInputs(node.mode);
  if (inputs > 2) return {};
  const dnn::Tensor &to = parts.tensors[node.outputs[0]], &x = parts.tensors[node.inputs[0]], &b = parts.tensors[node.inputs[inputs - 1]];
  const double scaleX = node.numbers[dnn::kScaleX], scaleB = node.numbers[dnn::kScaleB];
  Elementwise found;
  found.to = node.outputs[0];
  found.alpha = node.alpha;
  found.beta = node.beta;
  found.flags = node.flags;
  if (!inMemory(to)) return {};
  if (dnn::isPointwiseBackward(node.mode)) {
    if (!activationOf(node, found) || !inMemory(x) || !inMemory(b) || !sameShape(x, to) || !sameShape(b, to)) return {};
    found.call = Elementwise::Call::gradient;
    found.dy = node.inputs[0];
    found.x = found.y = node.inputs[1];
    // ReLU lets through what it lets through of its own result.
    found.makesY = found.activation != CUDNN_ACTIVATION_RELU && found.activation != CUDNN_ACTIVATION_CLIPPED_RELU;
    return found;
  }
  found.x = node.inputs[0];
  if (node.mode >= CUDNN_POINTWISE_RELU_FWD && node.mode < CUDNN_POINTWISE_RELU_BWD) {
    if (!activationOf(node, found) || !inMemory(x) || !sameShape(x, to) || scaleX != 1) return {};
    found.call = Elementwise::Call::activation;
    return found;
  }
  if (node.mode == CUDNN_POINTWISE_IDENTITY) {
    if (x.kind == dnn::TensorKind::scalar) {
      // The value as the library reads it: a double of doubles, a float of all that are less.
      const bool less = x.type == dnn::Type::f32 && (to.type == dnn::Type::f32 || to.type == dnn::Type::f16 || to.type == dnn::Type::bf16);
      const bool plain = scaleX == 1 && node.alpha == 1 && node.beta == 0;
      found.call = Elementwise::Call::set;
      return plain && (less || (x.type == dnn::Type::f64 && to.type == dnn::Type::f64)) ? std::optional(found) : std::nullopt;
    }
    if (!inMemory(x) || x.type != to.type) return {};
    found.alpha *= scaleX;
    const bool itself = x.address == to.address && sameLayout(x, to);
    found.call = itself ? Elementwise::Call::scale : Elementwise::Call::add;
    return !itself || node.beta == 0 ? std::optional(found) : std::nullopt;
  }
  // C = op(alpha1 A, alpha2 B) + beta C: nothing else is multiplied, and A has C's shape.
  found.call = Elementwise::Call::pair;
  found.first = scaleX;
  found.second = scaleB;
  found.y = node.inputs[inputs - 1];
  if (node.alpha != 1) return {};
  switch (node.mode) {
    case CUDNN_POINTWISE_SUB:
      if (x.kind == dnn::TensorKind::scalar && valueOf(x) * scaleX == 1 && inMemory(b) && sameShape(b, to)) {
        found.pair = CUDNN_OP_TENSOR_NOT;
        found.x = found.y;
        found.first = scaleB;
        found.second = 1;
        return found;
      }
      found.pair = CUDNN_OP_TENSOR_ADD;
      found.second = -scaleB;
      break;
    case CUDNN_POINTWISE_ADD:
      found.pair = CUDNN_OP_TENSOR_ADD;
      break;
    case CUDNN_POINTWISE_MUL:
      found.pair = CUDNN_OP_TENSOR_MUL;
      break;
    case CUDNN_POINTWISE_MIN:
      found.pair = CUDNN_OP_TENSOR_MIN;
      break;
    case CUDNN_POINTWISE_MAX:
      found.pair = CUDNN_OP_TENSOR_MAX;
      break;
    case CUDNN_POINTWISE_SQRT:
      found.pair = CUDNN_OP_TENSOR_SQRT;
      break;
    default:
      return {};
  }
  if (!inMemory(x) || !inMemory(b)) return {};
  if (!sameShape(x, to)) {
    // Each of these may be turned around.
    std::swap(found.x, found.y);
    std::swap(found.first, found.second);
  }
  return sameShape(parts.tensors[found.x], to) ? std::optional(found) : std::nullopt;
}

// The calls of one operation, and its descriptors until it is queued.
class Classic {
 public:
  Classic(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts, Workspace own)
      : api_(api), handle_(handle), parts_(parts), node_(parts.nodes[0]), own_(own) {}
  ~Classic() {
    for (const auto each : tensors_) api_.cudnnDestroyTensorDescriptor(each);
    if (activation_ != nullptr) api_.cudnnDestroyActivationDescriptor(activation_);
    if (pair_ != nullptr) api_.cudnnDestroyOpTensorDescriptor(pair_);
    if (reduction_ != nullptr) api_.cudnnDestroyReduceTensorDescriptor(reduction_);
    if (pool_ != nullptr) api_.cudnnDestroyPoolingDescriptor(pool_);
    if (response_ != nullptr) api_.cudnnDestroyLRNDescriptor(response_);
  }
  Classic(const Classic&) = delete;

  Status run();

 private:
  // A tensor as the classic API takes it: its descriptor, and where it is. No tensor: neither.
  struct Argument {
    cudnnTensorDescriptor_t descriptor = nullptr;
    void* data = nullptr;
  };
  Argument argument(std::uint16_t number);
  Argument in(int i) { return argument(node_.inputs[i]); }
  Argument out(int i) { return argument(node_.outputs[i]); }
  // float, or double where the tensors are.
  const void* scalar(double value, int place) { return scalar(value, place, parts_.tensors[parts_.nodes.back().outputs[0]].type == dnn::Type::f64); }
  const void* scalar(double value, int place, bool wide) {
    if (wide) {
      doubles_[place] = value;
      return &doubles_[place];
    }
    floats_[place] = static_cast<float>(value);
    return &floats_[place];
  }
  void tried(cudnnStatus_t status) {
    if (status_ == CUDNN_STATUS_SUCCESS) status_ = status;
  }
  bool ready() const { return status_ == CUDNN_STATUS_SUCCESS && refused_ == nullptr; }
  // The program's memory to work in, or the handle's; null: neither has so much, which is refused.
  void* work(std::uint64_t bytes) {
    if (bytes == 0 || bytes <= parts_.graph.workspaceBytes) return reinterpret_cast<void*>(parts_.graph.workspace);
    if (bytes > own_.bytes) refused_ = "more memory to work in than the program gives, and than each stream has,";
    return bytes > own_.bytes ? nullptr : reinterpret_cast<void*>(own_.address);
  }

  void elements(const Elementwise& what);
  void reduce();
  void pool();
  void softmax();
  void responseNorm();
  void batchNorm();
  bool alike(int firstInput, int firstOutput) const;

  const DnnApi& api_;
  const cudnnHandle_t handle_;
  const dnn::Parts& parts_;
  const dnn::Node& node_;
  const Workspace own_;
  std::vector<cudnnTensorDescriptor_t> tensors_;
  cudnnActivationDescriptor_t activation_ = nullptr;
  cudnnOpTensorDescriptor_t pair_ = nullptr;
  cudnnReduceTensorDescriptor_t reduction_ = nullptr;
  cudnnPoolingDescriptor_t pool_ = nullptr;
  cudnnLRNDescriptor_t response_ = nullptr;
  float floats_[4] = {};
  double doubles_[4] = {};
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
  const char* refused_ = nullptr;  // literal
};

Classic::Argument Classic::argument(std::uint16_t number) {
  if (number == dnn::kNoTensor) return {};
  const dnn::Tensor& tensor = parts_.tensors[number];
  // Four dimensions at least. Of a dimension of 1 the stride says nothing, but the library compares it: a batch norm's parameters must lie as
  // cudnnDeriveBNTensorDescriptor says. So it stays as the program has it, and where it has none it is that of a packed tensor.
  int dims[dnn::kMaxRank], strides[dnn::kMaxRank];
  const int rank = std::max<int>(tensor.rank, 4);
  for (int i = rank - 1; i >= 0; --i) {
    const bool there = i < tensor.rank;
    dims[i] = there ? static_cast<int>(tensor.dims[i]) : 1;
    std::int64_t stride = there ? tensor.strides[i] : 1;
    if (there && dims[i] == 1 && (stride < 1 || stride > dnn::kMostElements)) stride = i + 1 < rank ? std::int64_t{dims[i + 1]} * strides[i + 1] : 1;
    if (stride > dnn::kMostElements) refused_ = "a stride of more than 2147483647";
    strides[i] = static_cast<int>(std::min(stride, dnn::kMostElements));
  }
  Argument made;
  if (tensor.kind != dnn::TensorKind::memory) refused_ = "a scalar by value";
  made.data = reinterpret_cast<void*>(tensor.address);
  if (!ready()) return made;
  tried(api_.cudnnCreateTensorDescriptor(&made.descriptor));
  if (!ready()) return made;
  tensors_.push_back(made.descriptor);
  tried(api_.cudnnSetTensorNdDescriptor(made.descriptor, static_cast<cudnnDataType_t>(tensor.type), rank, dims, strides));
  return made;
}

void Classic::elements(const Elementwise& what) {
  using Call = Elementwise::Call;
  if (what.call == Call::set) {
    const Argument y = argument(what.to);
    if (ready()) tried(api_.cudnnSetTensor(handle_, y.descriptor, y.data, scalar(valueOf(parts_.tensors[what.x]), 0)));
    return;
  }
  const Argument x = argument(what.x), to = argument(what.to);
  const auto nan = (what.flags & dnn::kPropagateNan) != 0 ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN;
  const void *alpha = scalar(what.alpha, 0), *beta = scalar(what.beta, 1);
  if (what.call == Call::scale) {
    if (ready()) tried(api_.cudnnScaleTensor(handle_, to.descriptor, to.data, alpha));
    return;
  }
  if (what.call == Call::add) {
    if (ready()) tried(api_.cudnnAddTensor(handle_, alpha, x.descriptor, x.data, beta, to.descriptor, to.data));
    return;
  }
  if (what.call == Call::pair) {
    const bool wide = node_.compute == dnn::Type::f64;
    const Argument b = argument(what.y);
    if (ready()) tried(api_.cudnnCreateOpTensorDescriptor(&pair_));
    if (ready()) tried(api_.cudnnSetOpTensorDescriptor(pair_, what.pair, static_cast<cudnnDataType_t>(node_.compute), nan));
    if (ready())
      tried(api_.cudnnOpTensor(handle_, pair_, scalar(what.first, 0, wide), x.descriptor, x.data, scalar(what.second, 1, wide), b.descriptor, b.data,
                               scalar(what.beta, 2, wide), to.descriptor, to.data));
    return;
  }
  if (ready()) tried(api_.cudnnCreateActivationDescriptor(&activation_));
  if (ready()) tried(api_.cudnnSetActivationDescriptor(activation_, what.activation, nan, what.coefficient));
  if (ready() && what.activation == CUDNN_ACTIVATION_SWISH) tried(api_.cudnnSetActivationDescriptorSwishBeta(activation_, what.swishBeta));
  if (what.call == Call::activation) {
    if (ready()) tried(api_.cudnnActivationForward(handle_, activation_, alpha, x.descriptor, x.data, beta, to.descriptor, to.data));
    return;
  }
  Argument y = argument(what.y);
  const Argument dy = argument(what.dy);
  if (what.makesY) {
    y.data = work(reachOf(parts_.tensors[what.y]));
    if (ready())
      tried(api_.cudnnActivationForward(handle_, activation_, scalar(1, 2), x.descriptor, x.data, scalar(0, 3), y.descriptor, y.data));
  }
  if (ready())
    tried(api_.cudnnActivationBackward(handle_, activation_, alpha, y.descriptor, y.data, dy.descriptor, dy.data, x.descriptor, x.data, beta, to.descriptor,
                                       to.data));
}

void Classic::reduce() {
  const Argument a = in(0), c = out(0);
  const auto nan = (node_.flags & dnn::kPropagateNan) != 0 ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN;
  if (ready()) tried(api_.cudnnCreateReduceTensorDescriptor(&reduction_));
  if (ready())
    tried(api_.cudnnSetReduceTensorDescriptor(reduction_, static_cast<cudnnReduceTensorOp_t>(node_.mode), static_cast<cudnnDataType_t>(node_.compute), nan,
                                              CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES));
  std::size_t bytes = 0;
  if (ready()) tried(api_.cudnnGetReductionWorkspaceSize(handle_, reduction_, a.descriptor, c.descriptor, &bytes));
  void* workspace = ready() ? work(bytes) : nullptr;
  if (ready())
    tried(api_.cudnnReduceTensor(handle_, reduction_, nullptr, 0, workspace, bytes, scalar(node_.alpha, 0), a.descriptor, a.data, scalar(node_.beta, 1),
                                 c.descriptor, c.data));
}

void Classic::pool() {
  for (std::uint32_t i = 0; i < node_.spatial; ++i) {
    if (node_.padBefore[i] != node_.padAfter[i]) refused_ = "pads that differ before and after";
  }
  // Two spatial dimensions at least.
  int window[dnn::kMaxSpatial] = {1, 1, 1}, pads[dnn::kMaxSpatial] = {}, strides[dnn::kMaxSpatial] = {1, 1, 1};
  for (std::uint32_t i = 0; i < node_.spatial; ++i) window[i] = node_.window[i], pads[i] = node_.padBefore[i], strides[i] = node_.stride[i];
  const bool forward = node_.operation == dnn::Operation::poolForward;
  const Argument x = in(0), y = forward ? out(0) : in(1), dy = forward ? Argument{} : in(2), dx = forward ? Argument{} : out(0);
  if (ready()) tried(api_.cudnnCreatePoolingDescriptor(&pool_));
  if (ready())
    tried(api_.cudnnSetPoolingNdDescriptor(pool_, static_cast<cudnnPoolingMode_t>(node_.mode), (node_.flags & dnn::kPropagateNan) != 0 ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN,
                                           std::max<int>(node_.spatial, 2), window, pads, strides));
  if (!ready()) return;
  const void *alpha = scalar(node_.alpha, 0), *beta = scalar(node_.beta, 1);
  if (forward) tried(api_.cudnnPoolingForward(handle_, pool_, alpha, x.descriptor, x.data, beta, y.descriptor, y.data));
  else tried(api_.cudnnPoolingBackward(handle_, pool_, alpha, y.descriptor, y.data, dy.descriptor, dy.data, x.descriptor, x.data, beta, dx.descriptor, dx.data));
}

void Classic::softmax() {
  const auto algorithm = static_cast<cudnnSoftmaxAlgorithm_t>(node_.mode);
  const auto mode = (node_.flags & dnn::kOverChannels) != 0 ? CUDNN_SOFTMAX_MODE_CHANNEL : CUDNN_SOFTMAX_MODE_INSTANCE;
  const bool forward = node_.operation == dnn::Operation::softmaxForward;
  const Argument first = in(0), dy = forward ? Argument{} : in(1), to = out(0);
  if (!ready()) return;
  const void *alpha = scalar(node_.alpha, 0), *beta = scalar(node_.beta, 1);
  if (forward) tried(api_.cudnnSoftmaxForward(handle_, algorithm, mode, alpha, first.descriptor, first.data, beta, to.descriptor, to.data));
  else tried(api_.cudnnSoftmaxBackward(handle_, algorithm, mode, alpha, first.descriptor, first.data, dy.descriptor, dy.data, beta, to.descriptor, to.data));
}

void Classic::responseNorm() {
  const bool forward = node_.operation == dnn::Operation::responseNormForward;
  const Argument x = in(0), y = forward ? out(0) : in(1), dy = forward ? Argument{} : in(2), dx = forward ? Argument{} : out(0);
  if (ready()) tried(api_.cudnnCreateLRNDescriptor(&response_));
  if (ready())
    tried(api_.cudnnSetLRNDescriptor(response_, static_cast<unsigned>(node_.numbers[dnn::kWindow]), node_.numbers[dnn::kAlpha], node_.numbers[dnn::kBeta], node_.numbers[dnn::kK]));
  if (!ready()) return;
  const void *alpha = scalar(node_.alpha, 0), *beta = scalar(node_.beta, 1);
  constexpr auto kMode = CUDNN_LRN_CROSS_CHANNEL_DIM1;
  if (forward) tried(api_.cudnnLRNCrossChannelForward(handle_, response_, kMode, alpha, x.descriptor, x.data, beta, y.descriptor, y.data));
  else
    tried(api_.cudnnLRNCrossChannelBackward(handle_, response_, kMode, alpha, y.descriptor, y.data, dy.descriptor, dy.data, x.descriptor, x.data, beta, dx.descriptor,
                                            dx.data));
}

// NVIDIA's library is told the scale's type, shape and strides, and takes all parameters and statistics to lie alike: `ranges()` has looked
// at where each lies by its own.
bool Classic::alike(int firstInput, int firstOutput) const {
  const std::uint16_t scale = node_.inputs[node_.operation == dnn::Operation::normForward ? 1 : 2];
  if (scale == dnn::kNoTensor) return true;  // which is refused
  const dnn::Tensor& first = parts_.tensors[scale];
  const auto same = [&](std::uint16_t number) {
    if (number == dnn::kNoTensor) return true;
    const dnn::Tensor& tensor = parts_.tensors[number];
    if (tensor.type != first.type || tensor.rank != first.rank) return false;
    for (std::uint32_t i = 0; i < first.rank; ++i) {
      if (tensor.dims[i] != first.dims[i] || (first.dims[i] > 1 && tensor.strides[i] != first.strides[i])) return false;
    }
    return true;
  };
  return std::all_of(node_.inputs + firstInput, node_.inputs + dnn::kMaxInputs, same) &&
         std::all_of(node_.outputs + firstOutput, node_.outputs + dnn::kMaxOutputs, same);
}

void Classic::batchNorm() {
  const bool forward = node_.operation == dnn::Operation::normForward, training = (node_.flags & dnn::kTraining) != 0;
  const double epsilon = node_.numbers[dnn::kEpsilon];
  const Argument x = in(0), scale = in(forward ? 1 : 2);
  // Averaged over all but C, or over N alone; of a dimension of 1 it is the same whether it is averaged.
  const dnn::Averaged averaged = dnn::averagedBy(parts_, node_);
  const dnn::Tensor& image = parts_.tensors[node_.inputs[0]];
  bool spatial = true, perActivation = true;
  for (std::uint32_t i = 0; i < image.rank; ++i) {
    if (image.dims[i] == 1) continue;
    spatial &= (averaged.dims[i] == 1) == (i != 1);
    perActivation &= (averaged.dims[i] == 1) == (i == 0);
  }
  if (!spatial && !perActivation) refused_ = "an average over other dimensions than all but C, or N";
  if (!alike(forward ? 2 : 3, 1)) refused_ = "a parameter or statistic of another type, shape or layout than the scale's";
  const auto mode = spatial ? CUDNN_BATCHNORM_SPATIAL : CUDNN_BATCHNORM_PER_ACTIVATION;
  const void *alpha = scalar(node_.alpha, 0), *beta = scalar(node_.beta, 1);
  if (!forward) {
    const Argument dy = in(1), dx = out(0);
    const Argument mean = in(3), deviation = in(4), dscale = out(1), dbias = out(2);
    if (dscale.data == nullptr || dbias.data == nullptr) refused_ = "gradients of only one of scale and bias";
    const void *alphaOf = scalar(node_.numbers[dnn::kParameterAlpha], 2), *betaOf = scalar(node_.numbers[dnn::kParameterBeta], 3);
    if (ready())
      tried(api_.cudnnBatchNormalizationBackward(handle_, mode, alpha, beta, alphaOf, betaOf, x.descriptor, x.data, dy.descriptor, dy.data, dx.descriptor, dx.data,
                                                 scale.descriptor, scale.data, dscale.data, dbias.data, epsilon, mean.data, deviation.data));
    return;
  }
  const Argument bias = in(2), y = out(0);
  if (scale.data == nullptr || bias.data == nullptr) refused_ = "no scale or no bias";
  if (training) {
    const Argument mean = in(5), variance = in(6), saved = out(1), deviation = out(2);
    if (out(3).data != mean.data || out(4).data != variance.data) refused_ = "running statistics that go elsewhere than they come from";
    if (ready())
      tried(api_.cudnnBatchNormalizationForwardTraining(handle_, mode, alpha, beta, x.descriptor, x.data, y.descriptor, y.data, scale.descriptor, scale.data, bias.data,
                                                        node_.numbers[dnn::kAverageFactor], mean.data, variance.data, epsilon, saved.data, deviation.data));
    return;
  }
  const Argument mean = in(3), variance = in(4);
  if ((node_.flags & dnn::kVarianceIsInverse) != 0) refused_ = "an inverse deviation in place of the variance";
  if (ready())
    tried(api_.cudnnBatchNormalizationForwardInference(handle_, mode, alpha, beta, x.descriptor, x.data, y.descriptor, y.data, scale.descriptor, scale.data, bias.data,
                                                       mean.data, variance.data, epsilon));
}

Status Classic::run() {
  switch (node_.operation) {
    case dnn::Operation::pointwise:
      if (const auto found = elementwise(parts_)) elements(*found);
      else refused_ = "what it does";
      break;
    case dnn::Operation::reduction:
      reduce();
      break;
    case dnn::Operation::poolForward:
    case dnn::Operation::poolBackward:
      pool();
      break;
    case dnn::Operation::softmaxForward:
    case dnn::Operation::softmaxBackward:
      softmax();
      break;
    case dnn::Operation::responseNormForward:
    case dnn::Operation::responseNormBackward:
      responseNorm();
      break;
    case dnn::Operation::copy: {
      const Argument x = in(0), y = out(0);
      if (ready()) tried(api_.cudnnTransformTensor(handle_, scalar(node_.alpha, 0), x.descriptor, x.data, scalar(node_.beta, 1), y.descriptor, y.data));
      break;
    }
    default:
      batchNorm();
  }
  const std::string name = dnn::nameOf(node_);
  if (refused_ != nullptr) return Error{CudaError::notSupported, "cuDNN on GPUs: " + name + ": " + refused_ + " is not served"};
  if (status_ == CUDNN_STATUS_SUCCESS) return {};
  return Error{errorOf(status_), "cuDNN: " + name + ": " + api_.cudnnGetErrorString(status_)};
}

}  // namespace

bool isClassic(const dnn::Parts& parts) {
  if (elementwise(parts).has_value()) return true;
  if (parts.nodes.size() != 1) return false;
  const dnn::Node& node = parts.nodes[0];
  if (node.operation == dnn::Operation::reduction) return inMemory(parts.tensors[node.inputs[0]]) && inMemory(parts.tensors[node.outputs[0]]);
  const bool norm = node.operation == dnn::Operation::normForward || node.operation == dnn::Operation::normBackward;
  return norm ? node.mode == kBatchNorm : node.operation >= dnn::Operation::poolForward && node.operation <= dnn::Operation::copy;
}

bool worksInMemory(const dnn::Parts& parts) {
  if (parts.nodes[0].operation == dnn::Operation::reduction) return true;
  const auto found = elementwise(parts);
  return found.has_value() && found->makesY;
}

Status runClassic(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts, Workspace own) { return Classic(api, handle, parts, own).run(); }

}  // namespace rouse::library::cuda
