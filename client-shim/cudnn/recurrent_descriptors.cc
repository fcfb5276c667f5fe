// Descriptors of recurrent networks and their sequences. All local.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"
#include "client-shim/cudnn/recurrent.h"

namespace rouse::cudnn {
namespace {

bool isFloating(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16;
}

cudnnStatus_t setClip(Recurrent& recurrent, cudnnRNNClipMode_t mode, double low, double high, std::uint8_t nan, const char* function) {
  if (mode != CUDNN_RNN_CLIP_NONE && mode != CUDNN_RNN_CLIP_MINMAX) return fail(CUDNN_STATUS_BAD_PARAM, function);
  const bool clips = mode == CUDNN_RNN_CLIP_MINMAX;
  if (clips && !(std::isfinite(low) && std::isfinite(high) && low <= high)) return fail(CUDNN_STATUS_BAD_PARAM, function);
  dnn::Recurrent& network = recurrent.network;
  network.clips = clips;
  network.clipNan = clips ? nan : std::uint8_t{0};
  network.lowerClip = clips ? low : 0;
  network.upperClip = clips ? high : 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t getClip(const Recurrent& recurrent, cudnnRNNClipMode_t* mode, double* low, double* high) {
  tell(mode, recurrent.network.clips != 0 ? CUDNN_RNN_CLIP_MINMAX : CUDNN_RNN_CLIP_NONE);
  tell(low, recurrent.network.lowerClip);
  tell(high, recurrent.network.upperClip);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

dnn::Recurrent networkOf(const Recurrent& recurrent) {
  dnn::Recurrent network = recurrent.network;
  const Dropout* dropout = find<Dropout>(recurrent.dropout);
  if (dropout == nullptr) dropout = &recurrent.dropoutThen;
  network.dropout = dropout->probability;
  network.states = reinterpret_cast<std::uint64_t>(dropout->states);
  network.statesBytes = dropout->statesBytes;
  network.seed = dropout->seed;
  return network;
}

namespace impl {

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* rnnDesc) { return create<Recurrent>(rnnDesc, "cudnnCreateRNNDescriptor"); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnnDesc) { return destroy<Recurrent>(rnnDesc, "cudnnDestroyRNNDescriptor"); }

// What cuDNN would refuse of it, other than what no network has, its library says when it is first asked about it.
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo, cudnnRNNMode_t cellMode, cudnnRNNBiasMode_t biasMode,
                                       cudnnDirectionMode_t dirMode, cudnnRNNInputMode_t inputMode, cudnnDataType_t dataType, cudnnDataType_t mathPrec,
                                       cudnnMathType_t mathType, int32_t inputSize, int32_t hiddenSize, int32_t projSize, int32_t numLayers,
                                       cudnnDropoutDescriptor_t dropoutDesc, uint32_t auxFlags) {
  return guarded([&] {
    constexpr const char* kName = "cudnnSetRNNDescriptor_v8";
    return with<Recurrent>(rnnDesc, kName, [&](Recurrent& recurrent) {
      const auto bad = [](const char* what) { return fail(CUDNN_STATUS_BAD_PARAM, what); };
      if (algo < CUDNN_RNN_ALGO_STANDARD || algo >= CUDNN_RNN_ALGO_COUNT) return bad("cudnnSetRNNDescriptor_v8: algo");
      if (cellMode < CUDNN_RNN_RELU || cellMode > CUDNN_GRU) return bad("cudnnSetRNNDescriptor_v8: cellMode");
      if (biasMode < CUDNN_RNN_NO_BIAS || biasMode > CUDNN_RNN_SINGLE_REC_BIAS) return bad("cudnnSetRNNDescriptor_v8: biasMode");
      if (dirMode < CUDNN_UNIDIRECTIONAL || dirMode > CUDNN_BIDIRECTIONAL) return bad("cudnnSetRNNDescriptor_v8: dirMode");
      if (inputMode < CUDNN_LINEAR_INPUT || inputMode > CUDNN_SKIP_INPUT) return bad("cudnnSetRNNDescriptor_v8: inputMode");
      if (mathType < CUDNN_DEFAULT_MATH || mathType > CUDNN_FMA_MATH) return bad("cudnnSetRNNDescriptor_v8: mathType");
      if (!isFloating(dataType)) return refuse(kName, "the data type");
      if (mathPrec != CUDNN_DATA_FLOAT && mathPrec != CUDNN_DATA_DOUBLE && mathPrec != CUDNN_DATA_HALF) return refuse(kName, "the type that is computed in");
      const Dropout* dropout = find<Dropout>(dropoutDesc);
      if (dropoutDesc != nullptr && dropout == nullptr) return bad("cudnnSetRNNDescriptor_v8: dropoutDesc");
      dnn::Recurrent network;
      network.algorithm = static_cast<dnn::RecurrentAlgorithm>(algo);
      network.cell = static_cast<dnn::Cell>(cellMode);
      network.biases = static_cast<dnn::Biases>(biasMode);
      network.bidirectional = dirMode == CUDNN_BIDIRECTIONAL;
      network.skipsInput = inputMode == CUDNN_SKIP_INPUT;
      network.type = static_cast<dnn::Type>(dataType);
      network.compute = static_cast<std::uint8_t>(mathPrec);
      network.math = static_cast<dnn::MathType>(mathType);
      network.inputs = inputSize;
      network.hidden = hiddenSize;
      // LSTMs without a projection say the hidden size, or 0.
      network.projection = projSize == hiddenSize ? 0 : projSize;
      network.layers = numLayers;
      network.auxiliary = auxFlags;
      dnn::RecurrentCall question{network, {}};
      question.what.pass = dnn::Pass::weights;
      question.what.answer = alignof(dnn::RecurrentAnswer);  // anything but null
      if (const cudnnStatus_t status = toStatus(dnn::check(question), kName); status != CUDNN_STATUS_SUCCESS) return status;
      recurrent.network = network;
      recurrent.dropout = dropoutDesc;
      recurrent.dropoutThen = dropout != nullptr ? *dropout : Dropout{};
      recurrent.set = true;
      return CUDNN_STATUS_SUCCESS;
    });
  });
}

cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t* algo, cudnnRNNMode_t* cellMode, cudnnRNNBiasMode_t* biasMode,
                                       cudnnDirectionMode_t* dirMode, cudnnRNNInputMode_t* inputMode, cudnnDataType_t* dataType, cudnnDataType_t* mathPrec,
                                       cudnnMathType_t* mathType, int32_t* inputSize, int32_t* hiddenSize, int32_t* projSize, int32_t* numLayers,
                                       cudnnDropoutDescriptor_t* dropoutDesc, uint32_t* auxFlags) {
  return with<Recurrent>(rnnDesc, "cudnnGetRNNDescriptor_v8", [&](const Recurrent& recurrent) {
    if (!recurrent.set) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNDescriptor_v8: a network that has not been set");
    const dnn::Recurrent& network = recurrent.network;
    tell(algo, static_cast<cudnnRNNAlgo_t>(network.algorithm));
    tell(cellMode, static_cast<cudnnRNNMode_t>(network.cell));
    tell(biasMode, static_cast<cudnnRNNBiasMode_t>(network.biases));
    tell(dirMode, network.bidirectional != 0 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL);
    tell(inputMode, network.skipsInput != 0 ? CUDNN_SKIP_INPUT : CUDNN_LINEAR_INPUT);
    tell(dataType, static_cast<cudnnDataType_t>(network.type));
    tell(mathPrec, static_cast<cudnnDataType_t>(network.compute));
    tell(mathType, static_cast<cudnnMathType_t>(network.math));
    tell(inputSize, network.inputs);
    tell(hiddenSize, network.hidden);
    tell(projSize, dnn::outputsOf(network));
    tell(numLayers, network.layers);
    tell(dropoutDesc, recurrent.dropout);
    tell(auxFlags, network.auxiliary);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode, cudnnNanPropagation_t clipNanOpt, double lclip, double rclip) {
  return with<Recurrent>(rnnDesc, "cudnnRNNSetClip_v8", [&](Recurrent& recurrent) {
    if (!valid(clipNanOpt)) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnRNNSetClip_v8: clipNanOpt");
    return setClip(recurrent, clipMode, lclip, rclip, static_cast<std::uint8_t>(clipNanOpt + 1), "cudnnRNNSetClip_v8");
  });
}
cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode, double lclip, double rclip) {
  return with<Recurrent>(rnnDesc, "cudnnRNNSetClip_v9",
                         [&](Recurrent& recurrent) { return setClip(recurrent, clipMode, lclip, rclip, 0, "cudnnRNNSetClip_v9"); });
}
cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t* clipMode, cudnnNanPropagation_t* clipNanOpt, double* lclip, double* rclip) {
  return with<Recurrent>(rnnDesc, "cudnnRNNGetClip_v8", [&](const Recurrent& recurrent) {
    tell(clipNanOpt, recurrent.network.clipNan == CUDNN_PROPAGATE_NAN + 1 ? CUDNN_PROPAGATE_NAN : CUDNN_NOT_PROPAGATE_NAN);
    return getClip(recurrent, clipMode, lclip, rclip);
  });
}
cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t* clipMode, double* lclip, double* rclip) {
  return with<Recurrent>(rnnDesc, "cudnnRNNGetClip_v9", [&](const Recurrent& recurrent) { return getClip(recurrent, clipMode, lclip, rclip); });
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* rnnDataDesc) {
  return create<RecurrentData>(rnnDataDesc, "cudnnCreateRNNDataDescriptor");
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc) {
  return destroy<RecurrentData>(rnnDataDesc, "cudnnDestroyRNNDataDescriptor");
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc, cudnnDataType_t dataType, cudnnRNNDataLayout_t layout, int maxSeqLength,
                                        int batchSize, int vectorSize, const int seqLengthArray[], void* paddingFill) {
  return guarded([&] {
    constexpr const char* kName = "cudnnSetRNNDataDescriptor";
    return with<RecurrentData>(rnnDataDesc, kName, [&](RecurrentData& data) {
      const auto bad = [](const char* what) { return fail(CUDNN_STATUS_BAD_PARAM, what); };
      if (!isFloating(dataType)) return refuse(kName, "the data type");
      if (layout < CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED || layout > CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
        return bad("cudnnSetRNNDataDescriptor: layout");
      if (maxSeqLength < 1 || batchSize < 1 || vectorSize < 1) return bad("cudnnSetRNNDataDescriptor: a size below 1");
      if (batchSize > dnn::kMostSequences) return refuse(kName, "more than 8000 sequences");
      if (seqLengthArray == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnSetRNNDataDescriptor: seqLengthArray is null");
      if (std::any_of(seqLengthArray, seqLengthArray + batchSize, [&](int length) { return length < 0 || length > maxSeqLength; }))
        return bad("cudnnSetRNNDataDescriptor: a sequence's length");
      data.type = dataType;
      data.layout = layout;
      data.steps = maxSeqLength;
      data.batch = batchSize;
      data.vector = vectorSize;
      data.lengths.assign(seqLengthArray, seqLengthArray + batchSize);
      data.hasFill = paddingFill != nullptr;
      data.fill = 0;
      if (paddingFill != nullptr) std::memcpy(&data.fill, paddingFill, bytesOf(dataType));
      return CUDNN_STATUS_SUCCESS;
    });
  });
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc, cudnnDataType_t* dataType, cudnnRNNDataLayout_t* layout, int* maxSeqLength,
                                        int* batchSize, int* vectorSize, int arrayLengthRequested, int seqLengthArray[], void* paddingFill) {
  return with<RecurrentData>(rnnDataDesc, "cudnnGetRNNDataDescriptor", [&](const RecurrentData& data) {
    if (arrayLengthRequested < 0 || (arrayLengthRequested > 0 && seqLengthArray == nullptr))
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetRNNDataDescriptor: arrayLengthRequested");
    tell(dataType, data.type);
    tell(layout, data.layout);
    tell(maxSeqLength, data.steps);
    tell(batchSize, data.batch);
    tell(vectorSize, data.vector);
    std::copy_n(data.lengths.begin(), std::min<std::size_t>(data.lengths.size(), static_cast<std::size_t>(arrayLengthRequested)), seqLengthArray);
    if (paddingFill != nullptr && data.hasFill) std::memcpy(paddingFill, &data.fill, bytesOf(data.type));
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // namespace impl
}  // namespace rouse::cudnn
