#include <algorithm>
#include <string>

#include "server/library/cuda/dnn_calls.h"

namespace rouse::library::cuda {
namespace {

constexpr std::uint16_t kBatchNorm = 2;

// The calls of one operation, and its descriptors until it is queued.
class Classic {
 public:
  Classic(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts) : api_(api), handle_(handle), parts_(parts), node_(parts.nodes[0]) {}
  ~Classic() {
    for (const auto each : tensors_) api_.cudnnDestroyTensorDescriptor(each);
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
  const void* scalar(double value, int place) {
    if (parts_.tensors[node_.outputs[0]].type == dnn::Type::f64) {
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

  void pool();
  void softmax();
  void responseNorm();
  void batchNorm();
  bool alike(int firstInput, int firstOutput) const;

  const DnnApi& api_;
  const cudnnHandle_t handle_;
  const dnn::Parts& parts_;
  const dnn::Node& node_;
  std::vector<cudnnTensorDescriptor_t> tensors_;
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
  // Four dimensions at least; of a dimension of 1 the stride says nothing.
  int dims[dnn::kMaxRank], strides[dnn::kMaxRank];
  const int rank = std::max<int>(tensor.rank, 4);
  for (int i = 0; i < rank; ++i) {
    const bool there = i < tensor.rank && tensor.dims[i] > 1;
    if (there && tensor.strides[i] > dnn::kMostElements) refused_ = "a stride of more than 2147483647";
    dims[i] = there ? static_cast<int>(tensor.dims[i]) : 1;
    strides[i] = there ? static_cast<int>(tensor.strides[i]) : 1;
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
  if (status_ != CUDNN_STATUS_SUCCESS) return Error{CudaError::unknown, "cuDNN: " + name + ": " + api_.cudnnGetErrorString(status_)};
  return {};
}

}  // namespace

bool isClassic(const dnn::Parts& parts) {
  if (parts.nodes.size() != 1) return false;
  const dnn::Node& node = parts.nodes[0];
  const bool norm = node.operation == dnn::Operation::normForward || node.operation == dnn::Operation::normBackward;
  return norm ? node.mode == kBatchNorm : node.operation >= dnn::Operation::poolForward;
}

Status runClassic(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts) { return Classic(api, handle, parts).run(); }

}  // namespace rouse::library::cuda
