// Recurrent networks: what they need, where their weights lie, and their passes.
#include "client-shim/cudnn/recurrent.h"

#include <algorithm>
#include <cstdio>

#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace {

std::uint64_t addressOf(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

dnn::Recurrent weightsOf(const Recurrent& recurrent) {
  dnn::Recurrent question = networkOf(recurrent);
  question.pass = dnn::Pass::weights;
  // Nothing of these changes where weights lie.
  question.dropout = 0;
  question.states = question.statesBytes = question.seed = 0;
  return question;
}

// A matrix or vector of weights, as cuDNN describes them. Null where the program does not want to know.
cudnnStatus_t describeWeights(cudnnTensorDescriptor_t desc, cudnnDataType_t type, bool there, std::int64_t rows, std::int64_t columns) {
  if (desc == nullptr) return CUDNN_STATUS_SUCCESS;
  return with<Tensor>(desc, "cudnnGetRNNWeightParams", [&](Tensor& tensor) {
    if (columns > dnn::kMostElements || rows > dnn::kMostElements) return refuse("cudnnGetRNNWeightParams", "a matrix of more than 2147483647 columns");
    tensor = Tensor{};
    tensor.kind = Tensor::kKind;
    tensor.type = type;
    if (!there) return CUDNN_STATUS_SUCCESS;
    tensor.rank = 3;
    const std::int64_t dims[] = {1, rows, columns};
    const std::int64_t strides[] = {std::min(rows * columns, dnn::kMostElements), columns, 1};
    for (int i = 0; i < 3; ++i) tensor.dims[i] = static_cast<int>(dims[i]), tensor.strides[i] = static_cast<int>(strides[i]);
    return CUDNN_STATUS_SUCCESS;
  });
}

// A pass on its way: what is wrong first is what it returns.
class PassCall {
 public:
  PassCall(cudnnHandle_t handle, cudnnRNNDescriptor_t recurrent, dnn::Pass pass, const char* function) : function_(function), handle_(findHandle(handle)) {
    recurrent_ = find<Recurrent>(recurrent);
    if (handle_ == nullptr) wrong("not a handle");
    else if (recurrent_ == nullptr || !recurrent_->set) wrong("not a descriptor of a network that has been set");
    else call_.what = networkOf(*recurrent_);
    call_.what.pass = pass;
  }

  dnn::Recurrent& what() { return call_.what; }

  void data(cudnnRNNDataDescriptor_t xDesc, cudnnRNNDataDescriptor_t yDesc) {
    const RecurrentData *x = find<RecurrentData>(xDesc), *y = find<RecurrentData>(yDesc);
    if (x == nullptr || y == nullptr || x->batch == 0 || y->batch == 0) return wrong("not a descriptor of sequences that has been set");
    dnn::Recurrent& what = call_.what;
    if (static_cast<dnn::Type>(x->type) != what.type || y->type != x->type) return wrong("sequences of another type than the network");
    if (x->layout != y->layout || x->steps != y->steps || x->batch != y->batch || x->lengths != y->lengths) return wrong("outputs that are no sequences as the inputs are");
    if (x->vector != what.inputs) return wrong("inputs of another size than the network's");
    if (y->vector != dnn::inputsOf(what, 1)) return wrong("outputs of another size than the network's");
    what.layout = static_cast<dnn::SequenceLayout>(x->layout);
    what.steps = x->steps;
    what.batch = x->batch;
    what.fills = static_cast<std::uint8_t>((x->hasFill ? dnn::kFillX : 0) | (y->hasFill ? dnn::kFillY : 0));
    what.fillX = x->fill;
    what.fillY = y->fill;
    call_.lengths = x->lengths;
  }

  // h and c: packed, layers (of each direction), batch, vector. Null: none of them is used.
  void states(cudnnTensorDescriptor_t hDesc, cudnnTensorDescriptor_t cDesc) {
    call_.what.rankH = rankOf(hDesc, dnn::outputsOf(call_.what));
    if (call_.what.cell == dnn::Cell::lstm) call_.what.rankC = rankOf(cDesc, call_.what.hidden);
  }

  void memory(const std::int32_t* lengths, std::size_t weightsBytes, const void* workspace, std::size_t workspaceBytes, const void* reserve, std::size_t reserveBytes) {
    dnn::Recurrent& what = call_.what;
    what.lengths = addressOf(lengths);
    what.weightsBytes = weightsBytes;
    if (workspace != nullptr) what.workspace = addressOf(workspace), what.workspaceBytes = workspaceBytes;
    if (reserve != nullptr) what.reserve = addressOf(reserve), what.reserveBytes = reserveBytes;
  }

  cudnnStatus_t submit() {
    if (status_ != CUDNN_STATUS_SUCCESS) return status_;
    dnn::Recurrent& what = call_.what;
    if (what.cell != dnn::Cell::lstm) what.cx = what.cy = what.dcx = what.dcy = 0;
    if (const cudnnStatus_t status = toStatus(dnn::check(call_), function_); status != CUDNN_STATUS_SUCCESS) return status;
    if (const cudnnStatus_t status = enough(); status != CUDNN_STATUS_SUCCESS) return status;
    std::vector<dnn::Range> ranges;
    if (!dnn::ranges(call_, ranges)) return fail(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, function_);
    return toStatus(client::libraryHost()->submit(handle_->device, handle_->stream, dnn::kLibrary, dnn::kRecurrentFunction, dnn::putTogether(call_)));
  }

 private:
  void wrong(const char* what) {
    if (status_ != CUDNN_STATUS_SUCCESS) return;
    char text[192];
    std::snprintf(text, sizeof text, "%s: %s", function_, what);
    status_ = fail(CUDNN_STATUS_BAD_PARAM, text);
  }

  std::uint8_t rankOf(cudnnTensorDescriptor_t desc, std::int64_t vector) {
    if (desc == nullptr) return 0;
    const Tensor* tensor = find<Tensor>(desc);
    if (tensor == nullptr) return wrong("not a descriptor of a tensor"), std::uint8_t{0};
    if (tensor->rank == 0) return 0;
    const dnn::Recurrent& what = call_.what;
    const std::int64_t dims[] = {dnn::pseudoLayersOf(what), what.batch, vector};
    std::int64_t packed = 1;
    bool good = tensor->rank >= 3 && static_cast<dnn::Type>(tensor->type) == what.type;
    for (int i = tensor->rank - 1; good && i >= 0; --i) {
      good = tensor->dims[i] == (i < 3 ? dims[i] : 1) && (tensor->dims[i] == 1 || tensor->strides[i] == packed);
      packed *= tensor->dims[i];
    }
    if (!good) wrong("states that are not packed, layers, batch and vector");
    return static_cast<std::uint8_t>(tensor->rank);
  }

  // What has been asked is known, and said at the call; else the executor's library says it.
  cudnnStatus_t enough() {
    Answer answer;
    if (recall(*handle_, weightsOf(*recurrent_), answer) && answer.head.status == CUDNN_STATUS_SUCCESS && call_.what.weightsBytes < answer.head.bytes)
      return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "weights that are smaller than cudnnGetRNNWeightSpaceSize says");
    return CUDNN_STATUS_SUCCESS;
  }

  const char* function_;
  Handle* handle_;
  const Recurrent* recurrent_ = nullptr;
  dnn::RecurrentCall call_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

}  // namespace

namespace impl {

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, size_t* weightSpaceSize) {
  return guarded([&] {
    constexpr const char* kName = "cudnnGetRNNWeightSpaceSize";
    Handle* object = findHandle(handle);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNWeightSpaceSize: not a handle");
    const Recurrent* recurrent = find<Recurrent>(rnnDesc);
    if (recurrent == nullptr || !recurrent->set) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNWeightSpaceSize: rnnDesc");
    if (weightSpaceSize == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, kName);
    Answer answer;
    const cudnnStatus_t status = ask(*object, weightsOf(*recurrent), kName, answer);
    if (status == CUDNN_STATUS_SUCCESS) *weightSpaceSize = answer.head.bytes;
    return status;
  });
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int32_t pseudoLayer, size_t weightSpaceSize, const void* weightSpace,
                                      int32_t linLayerID, cudnnTensorDescriptor_t mDesc, void** mAddr, cudnnTensorDescriptor_t bDesc, void** bAddr) {
  return guarded([&] {
    constexpr const char* kName = "cudnnGetRNNWeightParams";
    Handle* object = findHandle(handle);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNWeightParams: not a handle");
    const Recurrent* recurrent = find<Recurrent>(rnnDesc);
    if (recurrent == nullptr || !recurrent->set) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNWeightParams: rnnDesc");
    const dnn::Recurrent question = weightsOf(*recurrent);
    const std::uint32_t linears = dnn::linearLayersOf(question), pseudoLayers = dnn::pseudoLayersOf(question);
    if (pseudoLayer < 0 || static_cast<std::uint32_t>(pseudoLayer) >= pseudoLayers) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNWeightParams: pseudoLayer");
    if (linLayerID < 0 || static_cast<std::uint32_t>(linLayerID) >= linears) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNWeightParams: linLayerID");
    Answer answer;
    if (const cudnnStatus_t status = ask(*object, question, kName, answer); status != CUDNN_STATUS_SUCCESS) return status;
    if (weightSpaceSize < answer.head.bytes) return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "cudnnGetRNNWeightParams: weightSpaceSize");
    const auto layer = static_cast<std::uint32_t>(pseudoLayer), linear = static_cast<std::uint32_t>(linLayerID), gates = dnn::gatesOf(question.cell);
    const dnn::WeightPlace& place = answer.places[layer * linears + linear];
    const bool projects = linear == 2 * gates, hasMatrix = place.matrix != dnn::kNoPlace, hasBias = place.bias != dnn::kNoPlace;
    const std::int64_t rows = projects ? question.projection : question.hidden;
    const std::int64_t columns = projects        ? question.hidden
                                 : linear < gates ? dnn::inputsOf(question, layer / dnn::directionsOf(question))
                                                  : dnn::outputsOf(question);
    const auto type = static_cast<cudnnDataType_t>(question.type);
    if (const cudnnStatus_t status = describeWeights(mDesc, type, hasMatrix, rows, columns); status != CUDNN_STATUS_SUCCESS) return status;
    if (const cudnnStatus_t status = describeWeights(bDesc, type, hasBias, rows, 1); status != CUDNN_STATUS_SUCCESS) return status;
    auto* weights = static_cast<char*>(const_cast<void*>(weightSpace));
    tell(mAddr, hasMatrix ? static_cast<void*>(weights + place.matrix) : nullptr);
    tell(bAddr, hasBias ? static_cast<void*>(weights + place.bias) : nullptr);
    return CUDNN_STATUS_SUCCESS;
  });
}

// Of the longest sequences that xDesc allows, however long they are.
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fwdMode, cudnnRNNDataDescriptor_t xDesc,
                                        size_t* workSpaceSize, size_t* reserveSpaceSize) {
  return guarded([&] {
    constexpr const char* kName = "cudnnGetRNNTempSpaceSizes";
    Handle* object = findHandle(handle);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNTempSpaceSizes: not a handle");
    const Recurrent* recurrent = find<Recurrent>(rnnDesc);
    if (recurrent == nullptr || !recurrent->set) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNTempSpaceSizes: rnnDesc");
    const RecurrentData* x = find<RecurrentData>(xDesc);
    if (x == nullptr || x->batch == 0) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNTempSpaceSizes: xDesc");
    if (fwdMode != CUDNN_FWD_MODE_INFERENCE && fwdMode != CUDNN_FWD_MODE_TRAINING) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNTempSpaceSizes: fwdMode");
    dnn::Recurrent question = networkOf(*recurrent);
    if (static_cast<dnn::Type>(x->type) != question.type || x->vector != question.inputs)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNTempSpaceSizes: inputs of another type or size than the network's");
    question.pass = dnn::Pass::sizes;
    question.training = fwdMode == CUDNN_FWD_MODE_TRAINING;
    question.layout = static_cast<dnn::SequenceLayout>(x->layout);
    question.steps = x->steps;
    question.batch = x->batch;
    Answer answer;
    const cudnnStatus_t status = ask(*object, question, kName, answer);
    if (status != CUDNN_STATUS_SUCCESS) return status;
    tell(workSpaceSize, static_cast<std::size_t>(answer.head.bytes));
    tell(reserveSpaceSize, static_cast<std::size_t>(answer.head.reserveBytes));
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fwdMode, const int32_t devSeqLengths[],
                              cudnnRNNDataDescriptor_t xDesc, const void* x, cudnnRNNDataDescriptor_t yDesc, void* y, cudnnTensorDescriptor_t hDesc, const void* hx,
                              void* hy, cudnnTensorDescriptor_t cDesc, const void* cx, void* cy, size_t weightSpaceSize, const void* weightSpace,
                              size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize, void* reserveSpace) {
  return guarded([&] {
    PassCall call(handle, rnnDesc, dnn::Pass::forward, "cudnnRNNForward");
    call.data(xDesc, yDesc);
    call.states(hDesc, cDesc);
    call.memory(devSeqLengths, weightSpaceSize, workSpace, workSpaceSize, reserveSpace, reserveSpaceSize);
    dnn::Recurrent& what = call.what();
    what.training = static_cast<std::uint8_t>(fwdMode);
    what.x = addressOf(x), what.y = addressOf(y), what.weights = addressOf(weightSpace);
    what.hx = addressOf(hx), what.hy = addressOf(hy), what.cx = addressOf(cx), what.cy = addressOf(cy);
    return call.submit();
  });
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t yDesc,
                                      const void* y, const void* dy, cudnnRNNDataDescriptor_t xDesc, void* dx, cudnnTensorDescriptor_t hDesc, const void* hx,
                                      const void* dhy, void* dhx, cudnnTensorDescriptor_t cDesc, const void* cx, const void* dcy, void* dcx, size_t weightSpaceSize,
                                      const void* weightSpace, size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize, void* reserveSpace) {
  return guarded([&] {
    PassCall call(handle, rnnDesc, dnn::Pass::backwardData, "cudnnRNNBackwardData_v8");
    call.data(xDesc, yDesc);
    call.states(hDesc, cDesc);
    call.memory(devSeqLengths, weightSpaceSize, workSpace, workSpaceSize, reserveSpace, reserveSpaceSize);
    dnn::Recurrent& what = call.what();
    what.training = 1;
    what.y = addressOf(y), what.dy = addressOf(dy), what.dx = addressOf(dx), what.weights = addressOf(weightSpace);
    what.hx = addressOf(hx), what.dhy = addressOf(dhy), what.dhx = addressOf(dhx);
    what.cx = addressOf(cx), what.dcy = addressOf(dcy), what.dcx = addressOf(dcx);
    return call.submit();
  });
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnWgradMode_t addGrad, const int32_t devSeqLengths[],
                                         cudnnRNNDataDescriptor_t xDesc, const void* x, cudnnTensorDescriptor_t hDesc, const void* hx, cudnnRNNDataDescriptor_t yDesc,
                                         const void* y, size_t weightSpaceSize, void* dweightSpace, size_t workSpaceSize, void* workSpace, size_t reserveSpaceSize,
                                         void* reserveSpace) {
  return guarded([&] {
    constexpr const char* kName = "cudnnRNNBackwardWeights_v8";
    if (addGrad == CUDNN_WGRAD_MODE_SET) return refuse(kName, "CUDNN_WGRAD_MODE_SET");
    if (addGrad != CUDNN_WGRAD_MODE_ADD) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnRNNBackwardWeights_v8: addGrad");
    PassCall call(handle, rnnDesc, dnn::Pass::backwardWeights, kName);
    call.data(xDesc, yDesc);
    call.states(hDesc, nullptr);
    call.memory(devSeqLengths, weightSpaceSize, workSpace, workSpaceSize, reserveSpace, reserveSpaceSize);
    dnn::Recurrent& what = call.what();
    what.training = 1;
    what.x = addressOf(x), what.hx = addressOf(hx), what.y = addressOf(y), what.dweights = addressOf(dweightSpace);
    return call.submit();
  });
}

}  // namespace impl
}  // namespace rouse::cudnn
