#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "server/library/cuda/dnn_maker.h"
#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

// More than the heuristics know of anything, so that what is left out is not all there is.
constexpr std::int64_t kMostConfigurations = 64;

// How the address is aligned, as far as kernels care: as the program says, by which the library chooses, unless that is not so.
std::int64_t alignmentOf(const dnn::Tensor& tensor) {
  const std::int64_t most = tensor.alignment != 0 ? tensor.alignment : tensor.kind == dnn::TensorKind::memory ? dnn::kMostAlignment : 16;
  if (tensor.kind != dnn::TensorKind::memory) return most;
  std::int64_t alignment = dnn::bytesOf(tensor.type);
  while (alignment < most && tensor.address % static_cast<std::uint64_t>(alignment * 2) == 0) alignment *= 2;
  return alignment;
}

cudnnBackendDescriptor_t makeTensor(Maker& maker, const dnn::Tensor& tensor, std::int64_t number) {
  const auto made = maker.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  std::int64_t strides[dnn::kMaxRank];
  // Of a dimension of 1 the stride says nothing, and is not looked at here, but there.
  for (std::uint32_t i = 0; i < tensor.rank; ++i) strides[i] = tensor.dims[i] == 1 && tensor.strides[i] < 1 ? 1 : tensor.strides[i];
  maker.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number);
  maker.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, typeOf(tensor.type));
  maker.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignmentOf(tensor));
  maker.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, tensor.dims, tensor.rank);
  maker.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides, tensor.rank);
  if (tensor.kind == dnn::TensorKind::passing) maker.set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  if (tensor.kind == dnn::TensorKind::scalar) maker.set(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makeConvolution(Maker& maker, const dnn::Node& node, const Tensors& tensors) {
  const auto how = maker.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const std::int64_t spatial = node.spatial;
  const auto setAll = [&](cudnnBackendAttributeName_t name, const std::int32_t* values) {
    std::int64_t wide[dnn::kMaxSpatial];
    std::copy_n(values, spatial, wide);
    maker.set(how, name, CUDNN_TYPE_INT64, wide, spatial);
  };
  maker.set(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, typeOf(node.compute));
  maker.set(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, static_cast<cudnnConvolutionMode_t>(node.mode));
  maker.set(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, spatial);
  setAll(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, node.padBefore);
  setAll(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, node.padAfter);
  setAll(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, node.stride);
  setAll(CUDNN_ATTR_CONVOLUTION_DILATIONS, node.dilation);
  maker.finish(how);
  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t first, second, result, how, alpha, beta;
  };
  const Names names =
      node.operation == dnn::Operation::convolutionForward
          ? Names{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}
      : node.operation == dnn::Operation::convolutionBackwardData
          ? Names{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}
          : Names{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  const auto made = maker.make(names.type);
  maker.setDescriptor(made, names.first, tensors.in(0));
  maker.setDescriptor(made, names.second, tensors.in(1));
  maker.setDescriptor(made, names.result, tensors.out());
  maker.setDescriptor(made, names.how, how);
  maker.setScalar(made, names.alpha, node, node.alpha);
  maker.setScalar(made, names.beta, node, node.beta);
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makePointwise(Maker& maker, const dnn::Node& node, const Tensors& tensors) {
  const auto how = maker.make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const auto mode = static_cast<cudnnPointwiseMode_t>(node.mode);
  maker.set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  maker.set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, typeOf(node.compute));
  const auto number = [&](cudnnBackendAttributeName_t name, std::uint32_t which) { maker.set(how, name, CUDNN_TYPE_DOUBLE, node.numbers[which]); };
  switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD:
    case CUDNN_POINTWISE_RELU_BWD:
      number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, dnn::kLowerClip);
      number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, dnn::kUpperClip);
      number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, dnn::kLowerSlope);
      break;
    case CUDNN_POINTWISE_ELU_FWD:
    case CUDNN_POINTWISE_ELU_BWD:
      number(CUDNN_ATTR_POINTWISE_ELU_ALPHA, dnn::kEluAlpha);
      break;
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
      number(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, dnn::kSoftplusBeta);
      break;
    case CUDNN_POINTWISE_SWISH_FWD:
    case CUDNN_POINTWISE_SWISH_BWD:
      number(CUDNN_ATTR_POINTWISE_SWISH_BETA, dnn::kSwishBeta);
      break;
    case CUDNN_POINTWISE_GEN_INDEX:
      maker.set(how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, static_cast<std::int64_t>(node.numbers[dnn::kAxis]));
      break;
    default:
      break;
  }
  maker.finish(how);
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  if (dnn::isPointwiseBackward(node.mode)) {
    maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, tensors.in(0));
    maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors.in(1));
    maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, tensors.out());
  } else {
    const std::uint32_t inputs = dnn::pointwiseInputs(node.mode);
    maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors.in(0));
    if (inputs > 1) maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors.in(1));
    if (inputs > 2) maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, tensors.in(2));
    maker.setDescriptor(made, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors.out());
    // What is 1 is not set: of numbers other than floats, and of choices, there are no factors.
    if (node.numbers[dnn::kScaleX] != 1) maker.setScalar(made, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, node, node.numbers[dnn::kScaleX]);
    if (inputs > 1 && node.numbers[dnn::kScaleB] != 1) maker.setScalar(made, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, node, node.numbers[dnn::kScaleB]);
  }
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makeProduct(Maker& maker, const dnn::Node& node, const Tensors& tensors) {
  const auto how = maker.make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  maker.set(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, typeOf(node.compute));
  maker.finish(how);
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors.in(0));
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors.in(1));
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors.out());
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makeReduction(Maker& maker, const dnn::Node& node, const Tensors& tensors) {
  const auto how = maker.make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  maker.set(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, static_cast<cudnnReduceTensorOp_t>(node.mode));
  maker.set(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, typeOf(node.compute));
  maker.finish(how);
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensors.in(0));
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors.out());
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makeRandom(Maker& maker, const dnn::Node& node, const Tensors& tensors) {
  const auto how = maker.make(CUDNN_BACKEND_RNG_DESCRIPTOR);
  maker.set(how, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, static_cast<cudnnRngDistribution_t>(node.mode));
  maker.set(how, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, CUDNN_TYPE_DOUBLE, node.numbers[dnn::kProbability]);
  maker.finish(how);
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_RNG_YDESC, tensors.out());
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_RNG_DESC, how);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_RNG_SEED, tensors.in(0));
  if (tensors.hasIn(1)) maker.setDescriptor(made, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, tensors.in(1));
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makeReshape(Maker& maker, const dnn::Node& node, const Tensors& tensors) {
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, tensors.in(0));
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, tensors.out());
  if (node.mode != 0) maker.set(made, CUDNN_ATTR_OPERATION_RESHAPE_MODE, CUDNN_TYPE_RESHAPE_MODE, static_cast<cudnnBackendReshapeMode_t>(node.mode - 1));
  maker.finish(made);
  return made;
}

cudnnBackendDescriptor_t makeAttention(Maker& maker, const Tensors& tensors) {
  const auto made = maker.make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  constexpr cudnnBackendAttributeName_t kInputs[] = {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,         CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                                                     CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,         CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC,
                                                     CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC};
  for (int i = 0; i < static_cast<int>(std::size(kInputs)); ++i) {
    if (tensors.hasIn(i)) maker.setDescriptor(made, kInputs[i], tensors.in(i));
  }
  maker.setDescriptor(made, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensors.out());
  if (tensors.hasOut(1)) maker.setDescriptor(made, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, tensors.out(1));
  maker.finish(made);
  return made;
}

Status unserved(const dnn::Parts& parts) {
  for (const dnn::Node& node : parts.nodes) {
    const std::string name = dnn::nameOf(node);
    const bool convolution = node.operation == dnn::Operation::convolutionForward || node.operation == dnn::Operation::convolutionBackwardData ||
                             node.operation == dnn::Operation::convolutionBackwardFilter;
    const bool norm = node.operation == dnn::Operation::normForward || node.operation == dnn::Operation::normBackward;
    const bool other = node.operation == dnn::Operation::pointwise || node.operation == dnn::Operation::matrixProduct || node.operation == dnn::Operation::reduction ||
                       node.operation == dnn::Operation::attentionForward || node.operation == dnn::Operation::reorder ||
                       node.operation == dnn::Operation::random;
    if (const char* lacks = norm ? lacksNorm(node) : nullptr; lacks != nullptr) return Error{CudaError::notSupported, "cuDNN on GPUs: " + name + " " + lacks + " is not served"};
    if (!convolution && !norm && !other) return Error{CudaError::notSupported, "cuDNN on GPUs: " + name + (parts.nodes.size() > 1 ? " among other operations" : " as it comes here") + " is not served"};
    // The backend API's other operations have no alpha and beta.
    if (!convolution && (node.alpha != 1 || node.beta != 0)) return Error{CudaError::notSupported, "cuDNN on GPUs: alpha and beta of " + name + " are not served"};
  }
  return {};
}

cudnnBackendDescriptor_t makeOperation(Maker& maker, const dnn::Node& node, std::size_t place, const Tensors& tensors) {
  switch (node.operation) {
    case dnn::Operation::normForward:
    case dnn::Operation::normBackward: return makeNorm(maker, node, place, tensors);
    case dnn::Operation::pointwise: return makePointwise(maker, node, tensors);
    case dnn::Operation::matrixProduct: return makeProduct(maker, node, tensors);
    case dnn::Operation::reduction: return makeReduction(maker, node, tensors);
    case dnn::Operation::attentionForward: return makeAttention(maker, tensors);
    case dnn::Operation::reorder: return makeReshape(maker, node, tensors);
    case dnn::Operation::random: return makeRandom(maker, node, tensors);
    default: return makeConvolution(maker, node, tensors);
  }
}

// What an engine may do: how it rounds the factors of a graph's products, and whether its results vary from run to run.
struct Freedom {
  bool toTf32 = true, to16Bits = true, toVary = true;
};

Freedom freedomOf(const dnn::Parts& parts) {
  Freedom all;
  for (const dnn::Node& node : parts.nodes) {
    if (!dnn::multiplies(node.operation)) continue;
    all.toTf32 &= node.math != dnn::MathType::fma;
    all.to16Bits &= node.math == dnn::MathType::converting;
    all.toVary &= (node.flags & dnn::kReproducible) == 0;
  }
  return all;
}

// Whether the engine of this configuration does no more than that. What does not tell of itself is believed, unless it matters.
bool keepsTo(const DnnApi& api, BackendDescriptors& descriptors, cudnnBackendDescriptor_t configuration, const Freedom& freedom) {
  if (freedom.toTf32 && freedom.to16Bits && freedom.toVary) return true;
  Maker maker(api, descriptors);
  cudnnBackendDescriptor_t engine = maker.make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  std::int64_t engines = 0, count = 0;
  if (maker.status == CUDNN_STATUS_SUCCESS)
    maker.tried(api.cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engines, &engine));
  if (maker.status == CUDNN_STATUS_SUCCESS)
    maker.tried(api.cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes));
  if (maker.status != CUDNN_STATUS_SUCCESS) return freedom.toTf32 && freedom.toVary;
  const auto told = std::span(notes).first(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, CUDNN_NUMERICAL_NOTE_TYPE_COUNT)));
  const auto has = [&](cudnnBackendNumericalNote_t note) { return std::ranges::find(told, note) != told.end(); };
  return (freedom.toTf32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) && (freedom.to16Bits || !has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) &&
         (freedom.toVary || !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
}

// The first of the library's own choices that does no more than it may, that it can make a plan of, and that so much workspace is enough for; `needs`: how much of it, or,
// where there is none, the least that any would need; negative: there is none at all.
cudnnBackendDescriptor_t choose(const DnnApi& api, BackendDescriptors& descriptors, cudnnHandle_t handle, cudnnBackendDescriptor_t graph,
                                const Freedom& freedom, std::uint64_t workspace, std::int64_t& needs) {
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    Maker maker(api, descriptors);
    const auto heuristic = maker.make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    maker.setDescriptor(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    maker.set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
    maker.finish(heuristic);
    cudnnBackendDescriptor_t configurations[kMostConfigurations] = {};
    for (auto& each : configurations) each = maker.make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    std::int64_t count = 0;
    if (maker.status == CUDNN_STATUS_SUCCESS)
      maker.tried(api.cudnnBackendGetAttribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostConfigurations, &count, configurations));
    if (maker.status != CUDNN_STATUS_SUCCESS) continue;
    for (std::int64_t i = 0; i < std::min(count, kMostConfigurations); ++i) {
      if (!keepsTo(api, descriptors, configurations[i], freedom)) continue;
      Maker trial(api, descriptors);
      const auto plan = trial.make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      trial.set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
      trial.setDescriptor(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configurations[i]);
      trial.finish(plan);
      std::int64_t bytes = 0, found = 0;
      if (trial.status == CUDNN_STATUS_SUCCESS)
        trial.tried(api.cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &found, &bytes));
      if (trial.status != CUDNN_STATUS_SUCCESS) continue;
      if (bytes >= 0 && static_cast<std::uint64_t>(bytes) <= workspace) {
        needs = bytes;
        return plan;
      }
      needs = needs < 0 ? bytes : std::min(needs, bytes);
    }
  }
  return nullptr;
}

std::vector<std::byte> keyOf(const dnn::Parts& parts, std::uint64_t own) {
  dnn::Parts key = parts;
  key.graph.workspace = own;  // no plan may need more than it was chosen for
  for (dnn::Tensor& tensor : key.tensors) {
    tensor.address = static_cast<std::uint64_t>(alignmentOf(tensor));
    tensor.alignment = 0;
    tensor.scalar[0] = 0;
  }
  // By value as well.
  for (dnn::Node& node : key.nodes) {
    if (node.operation == dnn::Operation::normForward || node.operation == dnn::Operation::normBackward) node.numbers[dnn::kEpsilon] = node.numbers[dnn::kAverageFactor] = 0;
  }
  return dnn::putTogether(key);
}

}  // namespace

BackendDescriptors::~BackendDescriptors() {
  for (auto each = all_.rbegin(); each != all_.rend(); ++each) api_->cudnnBackendDestroyDescriptor(*each);
}

cudnnStatus_t BackendDescriptors::make(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t& made) {
  const cudnnStatus_t status = api_->cudnnBackendCreateDescriptor(type, &made);
  if (status == CUDNN_STATUS_SUCCESS) all_.push_back(made);
  return status;
}

Status DnnPlans::run(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts, Workspace own, const MoreWorkspace& more) {
  const auto failed = [&](cudnnStatus_t status, const char* where) {
    return Error{errorOf(status), std::string("cuDNN: ") + dnn::nameOf(parts.nodes[0]) + (parts.nodes.size() > 1 ? " and what follows: " : ": ") + where + ": " +
                                         api.cudnnGetErrorString(status) + lastError(api)};
  };
  // A tensor that no operation names is in no plan, and its address is anything.
  std::vector<bool> used(parts.tensors.size());
  for (const dnn::Node& node : parts.nodes) {
    for (const std::uint16_t input : node.inputs) if (input != dnn::kNoTensor) used[input] = true;
    for (const std::uint16_t output : node.outputs) if (output != dnn::kNoTensor) used[output] = true;
  }
  std::vector<std::byte> key = keyOf(parts, own.bytes);
  auto place = plans_.find(key);
  if (place == plans_.end()) {
    if (const Status served = unserved(parts); !served) return served;
    BackendDescriptors descriptors(api);
    Maker maker(api, descriptors);
    std::vector<cudnnBackendDescriptor_t> tensors(parts.tensors.size()), operations;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (used[i]) tensors[i] = makeTensor(maker, parts.tensors[i], static_cast<std::int64_t>(i + 1));
    }
    for (std::size_t i = 0; i < parts.nodes.size(); ++i) operations.push_back(makeOperation(maker, parts.nodes[i], i, {tensors, parts.nodes[i]}));
    const auto graph = maker.make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    maker.set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    maker.set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations.data(), static_cast<std::int64_t>(operations.size()));
    maker.finish(graph);
    if (maker.status != CUDNN_STATUS_SUCCESS) {
      // The graph has been checked: what the backend API does not let be described, it has no plan of.
      Error error = failed(maker.status, "describing it");
      error.code = CudaError::notSupported;
      return error;
    }
    std::uint64_t workspace = std::max(parts.graph.workspaceBytes, own.bytes);
    std::int64_t needs = -1;
    auto plan = choose(api, descriptors, handle, graph, freedomOf(parts), std::max(workspace, more.most), needs);
    if (plan != nullptr && static_cast<std::uint64_t>(needs) > workspace) {
      workspace = std::max(workspace, more.take(static_cast<std::uint64_t>(needs)).bytes);
      if (static_cast<std::uint64_t>(needs) > workspace) {
        needs = -1;
        plan = choose(api, descriptors, handle, graph, freedomOf(parts), workspace, needs);
      }
    }
    if (plan == nullptr && needs >= 0)
      return Error{CudaError::notSupported, std::string("cuDNN: ") + dnn::nameOf(parts.nodes[0]) + ": a workspace of " + std::to_string(workspace) +
                                                " bytes; the library of this node needs at least " + std::to_string(needs)};
    std::string why = plan == nullptr ? lastError(api) : std::string();
    if (plans_.size() >= kMost)
      plans_.erase(std::min_element(plans_.begin(), plans_.end(), [](const auto& one, const auto& other) { return one.second.used < other.second.used; }));
    place = plans_.emplace(std::move(key), plan != nullptr ? Plan{std::move(descriptors), plan, {}, static_cast<std::uint64_t>(needs)}
                                                           : Plan{BackendDescriptors(api), nullptr, std::move(why)}).first;
  }
  place->second.used = ++calls_;
  if (place->second.plan == nullptr)
    return Error{CudaError::notSupported, std::string("cuDNN: ") + dnn::nameOf(parts.nodes[0]) + ": the library of this node makes no plan of it" + place->second.why};
  BackendDescriptors descriptors(api);
  Maker maker(api, descriptors);
  std::vector<std::int64_t> numbers;
  std::vector<const void*> pointers;
  for (std::size_t i = 0; i < parts.tensors.size(); ++i) {
    const dnn::Tensor& tensor = parts.tensors[i];
    if (!used[i] || tensor.kind == dnn::TensorKind::passing) continue;
    numbers.push_back(static_cast<std::int64_t>(i + 1));
    pointers.push_back(tensor.kind == dnn::TensorKind::scalar ? static_cast<const void*>(tensor.scalar) : reinterpret_cast<const void*>(tensor.address));
  }
  // Where the pointers to them stay until it is queued.
  std::vector<double> values(2 * parts.nodes.size());
  for (std::size_t i = 0, at = 0; i < parts.nodes.size(); ++i) {
    for (const NamedNumber& number : numbersOf(parts.nodes[i], i)) {
      double& place = values[at++];
      const auto narrow = static_cast<float>(number.value);
      if (number.wide) place = number.value;
      else std::memcpy(&place, &narrow, sizeof narrow);
      numbers.push_back(number.id);
      pointers.push_back(&place);
    }
  }
  const auto pack = maker.make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  maker.set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, numbers.data(), static_cast<std::int64_t>(numbers.size()));
  maker.set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers.data(), static_cast<std::int64_t>(pointers.size()));
  if (place->second.workspace > std::max(parts.graph.workspaceBytes, own.bytes)) own = more.take(place->second.workspace);
  const std::uint64_t workspace = place->second.workspace <= parts.graph.workspaceBytes ? parts.graph.workspace : own.address;
  maker.set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, reinterpret_cast<void*>(workspace));
  maker.finish(pack);
  if (maker.status == CUDNN_STATUS_SUCCESS) maker.tried(api.cudnnBackendExecute(handle, place->second.plan, pack));
  return maker.status == CUDNN_STATUS_SUCCESS ? Status{} : failed(maker.status, "running it");
}

}  // namespace rouse::library::cuda
