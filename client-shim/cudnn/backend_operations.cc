// Operations of the graph API as nodes of a graph that travels.
#include <algorithm>
#include <limits>

#include "client-shim/cudnn/backend.h"
#include "client-shim/cudnn/graph.h"

namespace rouse::cudnn {
namespace {

Outcome bad(const char* what) { return {CUDNN_STATUS_BAD_PARAM, what}; }
Outcome unsupported(const char* what) { return {CUDNN_STATUS_NOT_SUPPORTED, what}; }

// Descriptors hold whatever number the program has set: one that a node has no room for is none of any enumeration's, and refused as such.
std::uint16_t modeOf(int mode) { return mode >= 0 && mode < 0xffff ? static_cast<std::uint16_t>(mode) : 0xffff; }

// What an address that is said to be a multiple of this is: a power of two, and no more than matters to anybody.
std::uint8_t alignmentOf(std::int64_t said) {
  return said < 1 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::min<std::int64_t>(said & -said, dnn::kMostAlignment));
}

bool packed(const dnn::Tensor& tensor) {
  dnn::Tensor same = tensor;
  pack(same);
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.dims[i] > 1 && tensor.strides[i] != same.strides[i]) return false;
  return true;
}

// Puts a graph together. The first thing that is wrong is kept, and what comes after it is of no matter.
class Lowering {
 public:
  explicit Lowering(Lowered& to) : to_(to) {}

  void add(const Content& operation);
  Outcome finish();

 private:
  void fault(Outcome outcome) {
    if (outcome_.status == CUDNN_STATUS_SUCCESS) outcome_ = outcome;
  }

  // The number of a tensor by its unique identifier; kNoTensor for null.
  std::uint16_t optional(const Content* tensor);
  std::uint16_t required(const Content* tensor) {
    if (tensor == nullptr) fault(bad("an operation without one of its tensors"));
    return optional(tensor);
  }
  // A tensor that no descriptor says.
  std::uint16_t passing(const dnn::Tensor& like);
  std::uint16_t append(const dnn::Tensor& tensor, std::int64_t uid) {
    to_.parts.tensors.push_back(tensor);
    to_.uids.push_back(uid);
    return static_cast<std::uint16_t>(to_.parts.tensors.size() - 1);
  }

  dnn::Node& node(dnn::Operation operation, cudnnDataType_t compute, std::initializer_list<std::uint16_t> inputs,
                  std::initializer_list<std::uint16_t> outputs);
  // A number that the variant pack brings, for the last node.
  void number(std::uint32_t place, const Content* tensor);

  void convolution(const Content& operation, dnn::Operation kind, cudnnBackendAttributeName_t alpha,
                   cudnnBackendAttributeName_t beta, const Content* desc, const Content* first, const Content* second,
                   const Content* output);
  void pointwise(const Content& operation);
  void resample(const Content* desc, dnn::Node& node);
  void norm(const Content& operation);
  void normGradient(const Content& operation);
  void reshape(const Content& operation);
  void attention(const Content& operation);
  void random(const Content& operation);
  // A node comes after those that write what it reads.
  bool sort();

  Lowered& to_;
  Outcome outcome_;
  std::int64_t unnamed_ = std::numeric_limits<std::int64_t>::min();
};

std::uint16_t Lowering::optional(const Content* tensor) {
  if (tensor == nullptr) return dnn::kNoTensor;
  const auto type = tensor->one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  const auto uid = tensor->one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  const auto dims = tensor->wholes(CUDNN_ATTR_TENSOR_DIMENSIONS), strides = tensor->wholes(CUDNN_ATTR_TENSOR_STRIDES);
  dnn::Tensor made;
  made.rank = static_cast<std::uint8_t>(dims->size());
  made.type = static_cast<dnn::Type>(type);
  made.kind = tensor->one<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)    ? dnn::TensorKind::passing
              : tensor->one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE) ? dnn::TensorKind::scalar
                                                                 : dnn::TensorKind::memory;
  std::ranges::copy(*dims, made.dims);
  std::ranges::copy(*strides, made.strides);
  made.alignment = alignmentOf(tensor->one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
  if (made.kind != dnn::TensorKind::passing && type == CUDNN_DATA_BOOLEAN) fault(unsupported("booleans in memory, which are bits"));
  for (std::size_t i = 0; i < to_.uids.size(); ++i) {
    if (to_.uids[i] != uid) continue;
    if (std::memcmp(&to_.parts.tensors[i], &made, sizeof made) != 0) fault(bad("two tensors with the same identifier"));
    return static_cast<std::uint16_t>(i);
  }
  return append(made, uid);
}

std::uint16_t Lowering::passing(const dnn::Tensor& like) {
  dnn::Tensor made = like;
  made.kind = dnn::TensorKind::passing;
  made.type = like.type == dnn::Type::f64 ? dnn::Type::f64 : dnn::Type::f32;
  made.address = 0;
  made.alignment = 0;
  pack(made);
  return append(made, unnamed_++);
}

dnn::Node& Lowering::node(dnn::Operation operation, cudnnDataType_t compute, std::initializer_list<std::uint16_t> inputs,
                          std::initializer_list<std::uint16_t> outputs) {
  dnn::Node& made = to_.parts.nodes.emplace_back();
  made.operation = operation;
  if (compute == CUDNN_DATA_BOOLEAN && operation == dnn::Operation::pointwise) made.compute = dnn::Type::boolean;
  else if (!computeOf(compute, made.compute)) fault(unsupported("the compute type"));
  std::copy(inputs.begin(), inputs.end(), made.inputs);
  std::copy(outputs.begin(), outputs.end(), made.outputs);
  return made;
}

void Lowering::number(std::uint32_t place, const Content* tensor) {
  if (tensor == nullptr) return;
  const auto type = tensor->one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  if (!tensor->one<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE))
    return fault(unsupported("a number in memory where cuDNN takes it by value"));
  if (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_DOUBLE) return fault(unsupported("a number that is neither float nor double"));
  to_.numbers.push_back({static_cast<std::uint32_t>(to_.parts.nodes.size() - 1), place,
                         tensor->one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID), type});
}

bool copyWholes(const Content& desc, cudnnBackendAttributeName_t name, std::uint8_t spatial, std::int32_t* to, Outcome& outcome) {
  const auto all = desc.wholes(name);
  if (!all) {
    outcome = unsupported("fractions of elements");
    return false;
  }
  if (all->size() != spatial) {
    outcome = bad("as many pads, strides, dilations or windows as there are spatial dimensions");
    return false;
  }
  for (std::size_t i = 0; i < all->size(); ++i) {
    if ((*all)[i] < std::numeric_limits<std::int32_t>::min() || (*all)[i] > std::numeric_limits<std::int32_t>::max()) {
      outcome = unsupported("a pad, stride, dilation or window of more than 2147483647");
      return false;
    }
    to[i] = static_cast<std::int32_t>((*all)[i]);
  }
  return true;
}

void Lowering::convolution(const Content& operation, dnn::Operation kind, cudnnBackendAttributeName_t alpha,
                           cudnnBackendAttributeName_t beta, const Content* desc, const Content* first, const Content* second,
                           const Content* output) {
  if (desc == nullptr) return fault(bad("a convolution without its descriptor"));
  const std::uint16_t a = required(first), b = required(second), c = required(output);
  dnn::Node& made = node(kind, desc->one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE), {a, b}, {c});
  made.mode = modeOf(desc->one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE));
  made.alpha = operation.number(alpha, 1);
  made.beta = operation.number(beta, 0);
  const auto spatial = desc->one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  if (spatial < 1) return fault(bad("how many spatial dimensions"));
  if (spatial > static_cast<std::int64_t>(dnn::kMaxSpatial)) return fault(unsupported("more than 3 spatial dimensions"));
  made.spatial = static_cast<std::uint8_t>(spatial);
  Outcome wrong;
  if (!copyWholes(*desc, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, made.spatial, made.padBefore, wrong) ||
      !copyWholes(*desc, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, made.spatial, made.padAfter, wrong) ||
      !copyWholes(*desc, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, made.spatial, made.stride, wrong) ||
      !copyWholes(*desc, CUDNN_ATTR_CONVOLUTION_DILATIONS, made.spatial, made.dilation, wrong))
    fault(wrong);
  // One more dimension than N, C and the spatial ones: groups by themselves.
  if (first != nullptr && static_cast<std::int64_t>(first->wholes(CUDNN_ATTR_TENSOR_DIMENSIONS)->size()) == spatial + 3)
    fault(unsupported("groups as a dimension of their own"));
}

void Lowering::pointwise(const Content& operation) {
  const Content* desc = operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  if (desc == nullptr) return fault(bad("a pointwise operation without its descriptor"));
  const auto mode = desc->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const auto compute = desc->one<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC);
  const Content *x = operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC),
                *b = operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
                *t = operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC),
                *y = operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const auto numbers = [&](dnn::Node& made) {
    made.mode = modeOf(mode);
    made.numbers[dnn::kScaleX] = operation.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
    made.numbers[dnn::kScaleB] = operation.number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
    made.numbers[dnn::kLowerClip] = desc->number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
    made.numbers[dnn::kUpperClip] = desc->number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, std::numeric_limits<double>::infinity());
    made.numbers[dnn::kLowerSlope] = desc->number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
    made.numbers[dnn::kEluAlpha] = desc->number(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1);
    made.numbers[dnn::kSwishBeta] = desc->number(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1);
    made.numbers[dnn::kSoftplusBeta] = desc->number(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, 1);
    made.numbers[dnn::kAxis] = static_cast<double>(desc->one<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1));
    if (desc->one<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) == CUDNN_PROPAGATE_NAN)
      made.flags |= dnn::kPropagateNan;
  };
  if (mode < CUDNN_POINTWISE_RELU_BWD || mode > CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) {
    const std::uint16_t first = required(x), second = optional(b), third = optional(t), result = required(y);
    numbers(node(dnn::Operation::pointwise, compute, {first, second, third}, {result}));
    return;
  }
  const std::uint16_t dy = required(operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC)),
                      dx = required(operation.descriptor(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC));
  if (x == nullptr && y != nullptr && (mode == CUDNN_POINTWISE_TANH_BWD || mode == CUDNN_POINTWISE_SIGMOID_BWD)) {
    // Of y: dy (1 - y y), or dy y (1 - y).
    const std::uint16_t result = required(y);
    if (outcome_.status != CUDNN_STATUS_SUCCESS) return;
    const std::uint16_t once = passing(to_.parts.tensors[result]), twice = passing(to_.parts.tensors[result]);
    const auto plain = [&](cudnnPointwiseMode_t step, std::uint16_t left, std::uint16_t right, std::uint16_t to) {
      dnn::Node& made = node(dnn::Operation::pointwise, compute, {left, right}, {to});
      made.mode = modeOf(step);
      made.numbers[dnn::kScaleX] = made.numbers[dnn::kScaleB] = 1;
    };
    plain(CUDNN_POINTWISE_MUL, dy, result, once);
    plain(CUDNN_POINTWISE_MUL, once, result, twice);
    plain(CUDNN_POINTWISE_SUB, mode == CUDNN_POINTWISE_TANH_BWD ? dy : once, twice, dx);
    return;
  }
  // ReLU's can be told from either.
  const std::uint16_t of = required(x == nullptr && mode == CUDNN_POINTWISE_RELU_BWD ? y : x);
  numbers(node(dnn::Operation::pointwise, compute, {dy, of}, {dx}));
}

void Lowering::resample(const Content* desc, dnn::Node& made) {
  switch (desc->one<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_RESAMPLE_NEAREST)) {
    case CUDNN_RESAMPLE_MAXPOOL:
      made.mode = CUDNN_POOLING_MAX;
      break;
    case CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING:
      made.mode = CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
      break;
    case CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING:
      made.mode = CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
      break;
    default:
      return fault(unsupported("resampling that is no pool"));
  }
  const auto padding = desc->one<cudnnPaddingMode_t>(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_ZERO_PAD);
  const bool maximum = made.mode == CUDNN_POOLING_MAX;
  const auto spatial = desc->one<std::int64_t>(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
  if (spatial < 1) return fault(bad("how many spatial dimensions"));
  if (spatial > static_cast<std::int64_t>(dnn::kMaxSpatial)) return fault(unsupported("more than 3 spatial dimensions"));
  made.spatial = static_cast<std::uint8_t>(spatial);
  Outcome wrong;
  if (!copyWholes(*desc, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, made.spatial, made.padBefore, wrong) ||
      !copyWholes(*desc, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, made.spatial, made.padAfter, wrong) ||
      !copyWholes(*desc, CUDNN_ATTR_RESAMPLE_STRIDES, made.spatial, made.stride, wrong) ||
      !copyWholes(*desc, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, made.spatial, made.window, wrong))
    return fault(wrong);
  bool pads = false;
  for (std::uint8_t i = 0; i < made.spatial; ++i) {
    made.dilation[i] = 1;
    pads = pads || made.padBefore[i] != 0 || made.padAfter[i] != 0;
  }
  // Pools of maxima look at what is there only, averages take zeros for the rest.
  if (pads && padding != (maximum ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD)) fault(unsupported("this padding mode"));
  if (desc->one<cudnnNanPropagation_t>(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION) == CUDNN_PROPAGATE_NAN)
    made.flags |= dnn::kPropagateNan;
}

void Lowering::norm(const Content& operation) {
  const auto in = [&](cudnnBackendAttributeName_t name) { return optional(operation.descriptor(name)); };
  const auto mode = operation.one<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
  const bool training = operation.one<cudnnBackendNormFwdPhase_t>(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) == CUDNN_NORM_FWD_TRAINING;
  if (mode == CUDNN_GROUP_NORM || mode == CUDNN_ADA_LAYER_NORM) return fault(unsupported("this kind of norm"));
  const std::uint16_t x = required(operation.descriptor(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC)),
                      scale = in(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC), bias = in(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC),
                      mean = in(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC),
                      inverse = in(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC),
                      y = required(operation.descriptor(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC));
  if (outcome_.status != CUDNN_STATUS_SUCCESS) return;
  const auto compute = to_.parts.tensors[x].type == dnn::Type::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  // Without statistics inference takes those of x: layer, instance and RMS norms.
  const bool own = training || (mean == dnn::kNoTensor && inverse == dnn::kNoTensor);
  if (own) {
    const std::uint16_t runningMean = in(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC),
                        runningVariance = in(CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC),
                        nextMean = in(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC),
                        nextVariance = in(CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC);
    dnn::Node& made =
        node(dnn::Operation::normForward, compute, {x, scale, bias, dnn::kNoTensor, dnn::kNoTensor, runningMean, runningVariance},
             {y, mean, inverse, nextMean, nextVariance});
    made.mode = modeOf(mode);
    made.flags = dnn::kTraining;
    number(dnn::kAverageFactor, operation.descriptor(CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC));
  } else {
    dnn::Node& made = node(dnn::Operation::normForward, compute, {x, scale, bias, mean, inverse}, {y});
    made.mode = modeOf(mode);
    made.flags = dnn::kVarianceIsInverse;
  }
  if (own && operation.descriptor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC) == nullptr)
    return fault(bad("a norm without epsilon"));
  number(dnn::kEpsilon, operation.descriptor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC));
}

void Lowering::normGradient(const Content& operation) {
  const auto in = [&](cudnnBackendAttributeName_t name) { return optional(operation.descriptor(name)); };
  const auto mode = operation.one<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
  if (mode == CUDNN_GROUP_NORM || mode == CUDNN_ADA_LAYER_NORM) return fault(unsupported("this kind of norm"));
  const std::uint16_t x = required(operation.descriptor(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC)),
                      dy = required(operation.descriptor(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC)),
                      scale = required(operation.descriptor(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC)),
                      mean = in(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC),
                      inverse = in(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC),
                      dx = required(operation.descriptor(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC)),
                      dscale = in(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC),
                      dbias = in(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC);
  if (outcome_.status != CUDNN_STATUS_SUCCESS) return;
  const auto compute = to_.parts.tensors[x].type == dnn::Type::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  dnn::Node& made = node(dnn::Operation::normBackward, compute, {x, dy, scale, mean, inverse}, {dx, dscale, dbias});
  made.mode = modeOf(mode);
  made.numbers[dnn::kParameterAlpha] = 1;
  const Content* epsilon = operation.descriptor(CUDNN_ATTR_OPERATION_NORM_BWD_EPSILON_DESC);
  if (inverse == dnn::kNoTensor && epsilon == nullptr) return fault(bad("a norm's gradient with neither statistics nor epsilon"));
  number(dnn::kEpsilon, epsilon);
}

void Lowering::reshape(const Content& operation) {
  const std::uint16_t x = required(operation.descriptor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC)),
                      y = required(operation.descriptor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  if (outcome_.status != CUDNN_STATUS_SUCCESS) return;
  std::uint16_t from = x;
  const dnn::Tensor to = to_.parts.tensors[y];
  dnn::Tensor seen = to_.parts.tensors[x];
  const auto compute = seen.type == dnn::Type::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  if (seen.kind == dnn::TensorKind::passing || to.kind == dnn::TensorKind::passing) {
    dnn::Node& made = node(dnn::Operation::reorder, compute, {x}, {y});
    if (operation.has(CUDNN_ATTR_OPERATION_RESHAPE_MODE))
      made.mode = modeOf(operation.one<cudnnBackendReshapeMode_t>(CUDNN_ATTR_OPERATION_RESHAPE_MODE) + 1);
    return;
  }
  if (seen.rank != to.rank || !std::equal(seen.dims, seen.dims + seen.rank, to.dims)) {
    // The same elements in the same order, seen as y's shape.
    if (seen.kind != dnn::TensorKind::memory || !packed(seen))
      return fault(unsupported("another shape of what is not packed in memory"));
    dnn::Tensor shape = seen;
    shape.rank = to.rank;
    std::copy(std::begin(to.dims), std::end(to.dims), shape.dims);
    std::fill(std::begin(shape.strides), std::end(shape.strides), 0);
    if (countElements(seen) != countElements(shape)) return fault(bad("a reshape to another number of elements"));
    pack(shape);
    from = append(shape, to_.uids[x]);
  }
  node(dnn::Operation::copy, compute, {from}, {y});
}

void Lowering::attention(const Content& operation) {
  const auto of = [&](cudnnBackendAttributeName_t name) { return operation.descriptor(name); };
  const std::uint16_t q = required(of(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC)), k = required(of(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC)),
                      v = required(of(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC)), o = required(of(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC)),
                      scale = optional(of(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC)),
                      queries = optional(of(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC)),
                      keys = optional(of(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC)),
                      statistics = optional(of(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC));
  node(dnn::Operation::attentionForward, CUDNN_DATA_FLOAT, {q, k, v, scale, queries, keys}, {o, statistics});
}

void Lowering::random(const Content& operation) {
  const Content* desc = operation.descriptor(CUDNN_ATTR_OPERATION_RNG_DESC);
  if (desc == nullptr) return fault(bad("random numbers without their descriptor"));
  if (operation.has(CUDNN_ATTR_OPERATION_RNG_SEED) && operation.descriptor(CUDNN_ATTR_OPERATION_RNG_SEED) == nullptr) return fault(unsupported("a seed that is no tensor"));
  const std::uint16_t seed = required(operation.descriptor(CUDNN_ATTR_OPERATION_RNG_SEED)), offset = optional(operation.descriptor(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC)),
                      y = required(operation.descriptor(CUDNN_ATTR_OPERATION_RNG_YDESC));
  dnn::Node& made = node(dnn::Operation::random, CUDNN_DATA_FLOAT, {seed, offset}, {y});
  made.mode = modeOf(desc->one<cudnnRngDistribution_t>(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_RNG_DISTRIBUTION_BERNOULLI));
  made.numbers[dnn::kProbability] = desc->number(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, -1);
}

void Lowering::add(const Content& operation) {
  if (outcome_.status != CUDNN_STATUS_SUCCESS) return;
  const auto of = [&](cudnnBackendAttributeName_t name) { return operation.descriptor(name); };
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return convolution(operation, dnn::Operation::convolutionForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X), of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W),
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return convolution(operation, dnn::Operation::convolutionBackwardData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY), of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W),
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return convolution(operation, dnn::Operation::convolutionBackwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X), of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY),
                         of(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return pointwise(operation);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: {
      const Content* desc = of(CUDNN_ATTR_OPERATION_MATMUL_DESC);
      if (desc == nullptr) return fault(bad("a matrix product without its descriptor"));
      const std::uint16_t a = required(of(CUDNN_ATTR_OPERATION_MATMUL_ADESC)), b = required(of(CUDNN_ATTR_OPERATION_MATMUL_BDESC)),
                          c = required(of(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
      node(dnn::Operation::matrixProduct, desc->one<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE), {a, b}, {c});
      return;
    }
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: {
      const Content* desc = of(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
      if (desc == nullptr) return fault(bad("a reduction without its descriptor"));
      const std::uint16_t x = required(of(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)),
                          y = required(of(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
      node(dnn::Operation::reduction, desc->one<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE), {x}, {y}).mode =
          modeOf(desc->one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR));
      return;
    }
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR: {
      const Content* desc = of(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
      if (desc == nullptr) return fault(bad("a resampling without its descriptor"));
      const std::uint16_t x = required(of(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC)),
                          y = required(of(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC));
      dnn::Node& made = node(dnn::Operation::poolForward,
                             desc->one<cudnnDataType_t>(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT), {x}, {y});
      made.alpha = operation.number(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_ALPHA, 1);
      made.beta = operation.number(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_BETA, 0);
      return resample(desc, made);
    }
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR: {
      const Content *desc = of(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC), *xDesc = of(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC),
                    *yDesc = of(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_YDESC);
      if (desc == nullptr) return fault(bad("a resampling without its descriptor"));
      if (xDesc == nullptr || yDesc == nullptr) return fault(unsupported("a pool's gradient without its input and output"));
      const std::uint16_t x = required(xDesc), y = required(yDesc), dy = required(of(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC)),
                          dx = required(of(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC));
      dnn::Node& made = node(dnn::Operation::poolBackward,
                             desc->one<cudnnDataType_t>(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT), {x, y, dy}, {dx});
      made.alpha = operation.number(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_ALPHA, 1);
      made.beta = operation.number(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_BETA, 0);
      return resample(desc, made);
    }
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return norm(operation);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return normGradient(operation);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return reshape(operation);
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return attention(operation);
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      return random(operation);
    default:
      return fault(bad("a descriptor that is no operation"));
  }
}

bool Lowering::sort() {
  std::vector<dnn::Node>& nodes = to_.parts.nodes;
  const auto uidOf = [&](std::uint16_t tensor) { return to_.uids[tensor]; };
  const auto writes = [&](const dnn::Node& node, std::int64_t uid) {
    return std::ranges::any_of(node.outputs, [&](std::uint16_t each) { return each != dnn::kNoTensor && uidOf(each) == uid; });
  };
  std::vector<std::uint32_t> order;
  std::vector<bool> taken(nodes.size());
  while (order.size() < nodes.size()) {
    std::size_t next = nodes.size();
    for (std::size_t i = 0; i < nodes.size() && next == nodes.size(); ++i) {
      if (taken[i]) continue;
      bool ready = true;
      for (const std::uint16_t input : nodes[i].inputs)
        for (std::size_t j = 0; input != dnn::kNoTensor && ready && j < nodes.size(); ++j)
          ready = j == i || taken[j] || !writes(nodes[j], uidOf(input));
      if (ready) next = i;
    }
    if (next == nodes.size()) return false;
    taken[next] = true;
    order.push_back(static_cast<std::uint32_t>(next));
  }
  std::vector<dnn::Node> sorted;
  for (const std::uint32_t each : order) sorted.push_back(nodes[each]);
  for (Lowered::Number& number : to_.numbers)
    number.node = static_cast<std::uint32_t>(std::ranges::find(order, number.node) - order.begin());
  nodes = std::move(sorted);
  return true;
}

Outcome Lowering::finish() {
  if (outcome_.status != CUDNN_STATUS_SUCCESS) return outcome_;
  if (to_.parts.tensors.size() > dnn::kMaxTensors || to_.parts.nodes.size() > dnn::kMaxNodes)
    return unsupported("more than 96 tensors or 48 operations");
  if (!sort()) return bad("operations that wait for each other");
  return outcome_;
}

}  // namespace

Outcome lower(const std::vector<std::shared_ptr<const Content>>& operations, Lowered& to) {
  Lowering lowering(to);
  for (const auto& each : operations) lowering.add(*each);
  if (const Outcome outcome = lowering.finish(); outcome.status != CUDNN_STATUS_SUCCESS) return outcome;
  const dnn::Check checked = dnn::check(to.parts);
  return checked.verdict == dnn::Verdict::runs      ? Outcome{}
         : checked.verdict == dnn::Verdict::invalid ? bad(checked.what)
                                                    : unsupported(checked.what);
}

Outcome checkAlone(const std::shared_ptr<const Content>& operation) {
  Lowered alone;
  Lowering lowering(alone);
  lowering.add(*operation);
  Outcome outcome = lowering.finish();
  // What it reads of others is there once they are.
  for (dnn::Tensor& tensor : alone.parts.tensors)
    if (tensor.kind == dnn::TensorKind::passing) tensor.kind = dnn::TensorKind::memory;
  if (outcome.status == CUDNN_STATUS_SUCCESS) {
    const dnn::Check checked = dnn::check(alone.parts);
    if (checked.verdict == dnn::Verdict::invalid) outcome = bad(checked.what);
  }
  return outcome.status == CUDNN_STATUS_BAD_PARAM ? outcome : Outcome{};
}

}  // namespace rouse::cudnn
