#include "server/library/cuda/dnn_recurrent.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// The descriptors of one call, until it is queued; the first function that refuses ends it.
class RecurrentNetwork {
 public:
  RecurrentNetwork(const RecurrentApi& api, cudnnHandle_t handle, const dnn::RecurrentCall& call) : api_(api), handle_(handle), call_(call), what_(call.what) {}
  ~RecurrentNetwork() {
    if (network_ != nullptr) api_.cudnnDestroyRNNDescriptor(network_);
    if (dropout_ != nullptr) api_.cudnnDestroyDropoutDescriptor(dropout_);
    for (const auto each : {x_, y_}) {
      if (each != nullptr) api_.cudnnDestroyRNNDataDescriptor(each);
    }
    for (const auto each : {h_, c_}) {
      if (each != nullptr) api_.cudnnDestroyTensorDescriptor(each);
    }
  }
  RecurrentNetwork(const RecurrentNetwork&) = delete;

  Status run();

 private:
#define ROUSE_TRY(function, ...) tried(#function, good() ? api_.function(__VA_ARGS__) : CUDNN_STATUS_SUCCESS)
  void tried(const char* function, cudnnStatus_t status);
  bool good() const { return status_ == CUDNN_STATUS_SUCCESS; }

  void makeNetwork();
  void makeData(cudnnRNNDataDescriptor_t& made, std::int32_t vector, bool fills, std::uint64_t fill);
  void makeState(cudnnTensorDescriptor_t& made, int rank, std::int32_t vector);
  void askWeights();
  void askSizes();
  void pass();
  void answer();

  const RecurrentApi& api_;
  const cudnnHandle_t handle_;
  const dnn::RecurrentCall& call_;
  const dnn::Recurrent& what_;
  cudnnRNNDescriptor_t network_ = nullptr;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  cudnnRNNDataDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnTensorDescriptor_t h_ = nullptr, c_ = nullptr;
  std::uint64_t bytes_ = 0, reserve_ = 0;
  std::vector<dnn::WeightPlace> places_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
  std::string why_;
};

void RecurrentNetwork::tried(const char* function, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS || !good()) return;
  status_ = status;
  why_ = std::string(function) + ": " + api_.cudnnGetErrorString(status) + lastError(api_);
}

void RecurrentNetwork::makeNetwork() {
  ROUSE_TRY(cudnnCreateDropoutDescriptor, &dropout_);
  // Its states hold all that it goes on with; setting it would begin anew.
  if (what_.states != 0) ROUSE_TRY(cudnnRestoreDropoutDescriptor, dropout_, handle_, what_.dropout, pointer(what_.states), what_.statesBytes, what_.seed);
  else ROUSE_TRY(cudnnSetDropoutDescriptor, dropout_, handle_, what_.dropout, nullptr, 0, what_.seed);
  ROUSE_TRY(cudnnCreateRNNDescriptor, &network_);
  ROUSE_TRY(cudnnSetRNNDescriptor_v8, network_, static_cast<cudnnRNNAlgo_t>(what_.algorithm), static_cast<cudnnRNNMode_t>(what_.cell),
            static_cast<cudnnRNNBiasMode_t>(what_.biases), what_.bidirectional != 0 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
            what_.skipsInput != 0 ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT, static_cast<cudnnDataType_t>(what_.type), static_cast<cudnnDataType_t>(what_.compute),
            static_cast<cudnnMathType_t>(what_.math), what_.inputs, what_.hidden, dnn::outputsOf(what_), what_.layers, dropout_, what_.auxiliary);
  if (what_.clips == 0) return;
  if (what_.clipNan == 0) ROUSE_TRY(cudnnRNNSetClip_v9, network_, CUDNN_RNN_CLIP_MINMAX, what_.lowerClip, what_.upperClip);
  else
    ROUSE_TRY(cudnnRNNSetClip_v8, network_, CUDNN_RNN_CLIP_MINMAX, what_.clipNan == 1 ? CUDNN_NOT_PROPAGATE_NAN : CUDNN_PROPAGATE_NAN, what_.lowerClip,
              what_.upperClip);
}

// Questions have no lengths: all sequences are the longest then.
void RecurrentNetwork::makeData(cudnnRNNDataDescriptor_t& made, std::int32_t vector, bool fills, std::uint64_t fill) {
  ROUSE_TRY(cudnnCreateRNNDataDescriptor, &made);
  const std::vector<std::int32_t> longest(call_.lengths.empty() ? static_cast<std::size_t>(what_.batch) : 0, what_.steps);
  ROUSE_TRY(cudnnSetRNNDataDescriptor, made, static_cast<cudnnDataType_t>(what_.type), static_cast<cudnnRNNDataLayout_t>(what_.layout), what_.steps, what_.batch,
            vector, call_.lengths.empty() ? longest.data() : call_.lengths.data(), fills ? &fill : nullptr);
}

void RecurrentNetwork::makeState(cudnnTensorDescriptor_t& made, int rank, std::int32_t vector) {
  if (rank == 0) return;
  int dims[dnn::kMaxRank], strides[dnn::kMaxRank];
  std::fill_n(dims, dnn::kMaxRank, 1);
  dims[0] = static_cast<int>(dnn::pseudoLayersOf(what_));
  dims[1] = what_.batch;
  dims[2] = vector;
  std::int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[i] = static_cast<int>(std::min(stride, dnn::kMostElements));
    stride *= dims[i];
  }
  ROUSE_TRY(cudnnCreateTensorDescriptor, &made);
  ROUSE_TRY(cudnnSetTensorNdDescriptor, made, static_cast<cudnnDataType_t>(what_.type), rank, dims, strides);
}

// Places are told for a space that begins at an address, which nothing is read from.
void RecurrentNetwork::askWeights() {
  constexpr std::uint64_t kBase = 1 << 16;
  std::size_t bytes = 0;
  ROUSE_TRY(cudnnGetRNNWeightSpaceSize, handle_, network_, &bytes);
  bytes_ = bytes;
  cudnnTensorDescriptor_t &matrix = h_, &bias = c_;  // unused otherwise here
  ROUSE_TRY(cudnnCreateTensorDescriptor, &matrix);
  ROUSE_TRY(cudnnCreateTensorDescriptor, &bias);
  for (std::uint32_t layer = 0; layer < dnn::pseudoLayersOf(what_); ++layer) {
    for (std::uint32_t linear = 0; linear < dnn::linearLayersOf(what_) && good(); ++linear) {
      void *matrixAt = nullptr, *biasAt = nullptr;
      ROUSE_TRY(cudnnGetRNNWeightParams, handle_, network_, static_cast<std::int32_t>(layer), bytes, pointer(kBase), static_cast<std::int32_t>(linear), matrix,
                &matrixAt, bias, &biasAt);
      const auto place = [&](const void* at) { return at == nullptr ? dnn::kNoPlace : reinterpret_cast<std::uint64_t>(at) - kBase; };
      places_.push_back({place(matrixAt), place(biasAt)});
    }
  }
}

void RecurrentNetwork::askSizes() {
  makeData(x_, what_.inputs, false, 0);
  std::size_t workspace = 0, reserve = 0;
  ROUSE_TRY(cudnnGetRNNTempSpaceSizes, handle_, network_, what_.training != 0 ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, x_, &workspace, &reserve);
  bytes_ = workspace;
  reserve_ = what_.training != 0 ? reserve : 0;
}

void RecurrentNetwork::pass() {
  makeData(x_, what_.inputs, (what_.fills & dnn::kFillX) != 0, what_.fillX);
  makeData(y_, static_cast<std::int32_t>(dnn::inputsOf(what_, 1)), (what_.fills & dnn::kFillY) != 0, what_.fillY);
  makeState(h_, what_.rankH, dnn::outputsOf(what_));
  makeState(c_, what_.rankC, what_.hidden);
  const auto* lengths = static_cast<const std::int32_t*>(pointer(what_.lengths));
  void *workspace = pointer(what_.workspace), *reserve = pointer(what_.reserve);
  switch (what_.pass) {
    case dnn::Pass::forward:
      ROUSE_TRY(cudnnRNNForward, handle_, network_, what_.training != 0 ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, lengths, x_, pointer(what_.x), y_,
                pointer(what_.y), h_, pointer(what_.hx), pointer(what_.hy), c_, pointer(what_.cx), pointer(what_.cy), what_.weightsBytes, pointer(what_.weights),
                what_.workspaceBytes, workspace, what_.reserveBytes, reserve);
      break;
    case dnn::Pass::backwardData:
      ROUSE_TRY(cudnnRNNBackwardData_v8, handle_, network_, lengths, y_, pointer(what_.y), pointer(what_.dy), x_, pointer(what_.dx), h_, pointer(what_.hx),
                pointer(what_.dhy), pointer(what_.dhx), c_, pointer(what_.cx), pointer(what_.dcy), pointer(what_.dcx), what_.weightsBytes, pointer(what_.weights),
                what_.workspaceBytes, workspace, what_.reserveBytes, reserve);
      break;
    default:
      ROUSE_TRY(cudnnRNNBackwardWeights_v8, handle_, network_, CUDNN_WGRAD_MODE_ADD, lengths, x_, pointer(what_.x), h_, pointer(what_.hx), y_, pointer(what_.y),
                what_.weightsBytes, pointer(what_.dweights), what_.workspaceBytes, workspace, what_.reserveBytes, reserve);
  }
}

void RecurrentNetwork::answer() {
  dnn::RecurrentAnswer head;
  head.status = status_;
  head.places = static_cast<std::uint32_t>(places_.size());
  head.bytes = bytes_;
  head.reserveBytes = reserve_;
  std::snprintf(head.why, sizeof head.why, "%s", why_.c_str());
  auto* to = static_cast<std::byte*>(pointer(what_.answer));
  if (!places_.empty()) std::memcpy(to + sizeof head, places_.data(), places_.size() * sizeof(dnn::WeightPlace));
  std::memcpy(to, &head, sizeof head);
}

Status RecurrentNetwork::run() {
  switch (what_.pass) {
    case dnn::Pass::stateSize: {
      std::size_t bytes = 0;
      ROUSE_TRY(cudnnDropoutGetStatesSize, handle_, &bytes);
      bytes_ = bytes;
      break;
    }
    case dnn::Pass::dropoutStates:
      ROUSE_TRY(cudnnCreateDropoutDescriptor, &dropout_);
      ROUSE_TRY(cudnnSetDropoutDescriptor, dropout_, handle_, what_.dropout, pointer(what_.states), what_.statesBytes, what_.seed);
      break;
    case dnn::Pass::weights:
      makeNetwork();
      askWeights();
      break;
    case dnn::Pass::sizes:
      makeNetwork();
      askSizes();
      break;
    default:
      makeNetwork();
      pass();
  }
  if (dnn::asks(what_.pass)) {
    answer();
    return {};
  }
  if (good()) return {};
  std::string shape;
  if (dnn::runs(what_.pass))
    shape = " of " + std::to_string(what_.layers) + " layers, " + std::to_string(what_.inputs) + " to " + std::to_string(what_.hidden) + ", " +
            std::to_string(what_.batch) + " sequences of " + std::to_string(what_.steps) + ", algorithm " + std::to_string(static_cast<int>(what_.algorithm));
  return Error{errorOf(status_), std::string("cuDNN: ") + dnn::nameOf(what_) + shape + ": " + why_};
}
#undef ROUSE_TRY

}  // namespace

Status runRecurrent(const RecurrentApi& api, cudnnHandle_t handle, const dnn::RecurrentCall& call) { return RecurrentNetwork(api, handle, call).run(); }

}  // namespace rouse::library::cuda
