#include "schemas/dnn/operations.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace rouse::dnn {
namespace {

bool isFloat(Type type) { return type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::bf16; }
bool isSmallInteger(Type type) { return type == Type::i8 || type == Type::u8; }

// A node with its tensors; null: none there.
struct Use {
  const Parts& parts;
  const Node& node;
  const Tensor* in(std::uint32_t i) const { return node.inputs[i] == kNoTensor ? nullptr : &parts.tensors[node.inputs[i]]; }
  const Tensor* out(std::uint32_t i) const { return node.outputs[i] == kNoTensor ? nullptr : &parts.tensors[node.outputs[i]]; }
};

bool sameShape(const Tensor& a, const Tensor& b) {
  if (a.rank != b.rank) return false;
  for (std::uint32_t i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

// Each dimension of `part` is 1 or `whole`'s.
bool spreads(const Tensor& part, const Tensor& whole) {
  if (part.rank != whole.rank) return false;
  for (std::uint32_t i = 0; i < part.rank; ++i) {
    if (part.dims[i] != 1 && part.dims[i] != whole.dims[i]) return false;
  }
  return true;
}

// Which inputs and outputs there must be, from the first on, and which may be.
struct Signature {
  std::uint32_t inputs, mostInputs, outputs, mostOutputs;
};

bool signatureOf(const Node& node, Signature& signature) {
  switch (node.operation) {
    case Operation::convolutionForward:
    case Operation::convolutionBackwardData:
    case Operation::convolutionBackwardFilter:
    case Operation::matrixProduct:
    case Operation::softmaxBackward:
      signature = {2, 2, 1, 1};
      return true;
    case Operation::pointwise: {
      const std::uint32_t inputs = pointwiseInputs(node.mode);
      signature = {inputs, inputs, 1, 1};
      return true;
    }
    case Operation::reduction:
    case Operation::poolForward:
    case Operation::softmaxForward:
    case Operation::responseNormForward:
    case Operation::copy:
    case Operation::reorder:
      signature = {1, 1, 1, 1};
      return true;
    case Operation::poolBackward:
    case Operation::responseNormBackward:
      signature = {3, 3, 1, 1};
      return true;
    case Operation::normForward:
      signature = {1, 7, 1, 5};
      return true;
    case Operation::normBackward:
      signature = {3, 5, 1, 3};
      return true;
    case Operation::attentionForward:
      signature = {3, 6, 1, 2};
      return true;
    case Operation::random:
      signature = {1, 2, 1, 1};
      return true;
  }
  return false;
}

bool follows(const Node& node, const Signature& signature) {
  for (std::uint32_t i = 0; i < kMaxInputs; ++i) {
    if (node.inputs[i] == kNoTensor ? i < signature.inputs : i >= signature.mostInputs) return false;
  }
  for (std::uint32_t i = 0; i < kMaxOutputs; ++i) {
    if (node.outputs[i] == kNoTensor ? i < signature.outputs : i >= signature.mostOutputs) return false;
  }
  return true;
}

bool allFloat(const Use& use) {
  for (std::uint32_t i = 0; i < kMaxInputs; ++i) {
    if (use.in(i) != nullptr && !isFloat(use.in(i)->type)) return false;
  }
  for (std::uint32_t i = 0; i < kMaxOutputs; ++i) {
    if (use.out(i) != nullptr && !isFloat(use.out(i)->type)) return false;
  }
  return use.node.compute != Type::i32;
}

// How many places a window has along one dimension; 0: none.
std::int64_t placesOf(std::int64_t length, std::int64_t before, std::int64_t after, std::int64_t window, std::int64_t dilation, std::int64_t stride) {
  const Wide room = static_cast<Wide>(length) + before + after - (static_cast<Wide>(window - 1) * dilation + 1);
  return room < 0 ? 0 : static_cast<std::int64_t>(room / stride) + 1;
}

Check checkSpatial(const Node& node) {
  if (node.spatial < 1) return invalid("how many spatial dimensions");
  if (node.spatial > kMaxSpatial) return unsupported("more than three spatial dimensions");
  for (std::uint32_t i = 0; i < node.spatial; ++i) {
    if (node.padBefore[i] < 0 || node.padAfter[i] < 0) return unsupported("a pad below 0");
    if (node.stride[i] < 1) return invalid("a stride");
  }
  return {};
}

// x: the image; y: what forward makes of it.
Check checkConvolution(const Node& node, const Tensor& x, const Tensor& w, const Tensor& y) {
  if (const Check c = checkSpatial(node); c.verdict != Verdict::runs) return c;
  if (node.mode > static_cast<std::uint16_t>(ConvolutionMode::crossCorrelation)) return invalid("the convolution's mode");
  const std::uint32_t rank = node.spatial + 2u;
  if (x.rank != rank || w.rank != rank || y.rank != rank) return invalid("the tensors' ranks");
  if (x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1]) return invalid("images or channels that do not match");
  if (x.dims[1] % w.dims[1] != 0) return invalid("channels that no groups divide");
  if (const std::int64_t groups = x.dims[1] / w.dims[1]; w.dims[0] % groups != 0) return invalid("filters that the groups do not divide");
  // What a product of matrices counts in int.
  Wide depth = w.dims[1];
  for (std::uint32_t i = 0; i < node.spatial; ++i) depth *= w.dims[i + 2];
  if (depth > kMostElements) return unsupported("a filter of more than 2147483647 elements");
  for (std::uint32_t i = 0; i < node.spatial; ++i) {
    if (node.dilation[i] < 1) return invalid("a dilation");
    if (y.dims[i + 2] != placesOf(x.dims[i + 2], node.padBefore[i], node.padAfter[i], w.dims[i + 2], node.dilation[i], node.stride[i]))
      return invalid("the output's size");
  }
  return {};
}

Check checkConvolutionTypes(const Use& use) {
  if (allFloat(use)) return {};
  const Type y = use.out(0)->type;
  const bool integers = use.node.operation == Operation::convolutionForward && isSmallInteger(use.in(0)->type) && use.in(1)->type == Type::i8 &&
                        (y == Type::i32 || y == Type::f32 || isSmallInteger(y));
  return integers ? Check{} : unsupported("this combination of types");
}

Check checkPool(const Node& node, const Tensor& x, const Tensor& y) {
  if (const Check c = checkSpatial(node); c.verdict != Verdict::runs) return c;
  if (node.mode > 3) return invalid("the pooling mode");
  const std::uint32_t rank = node.spatial + 2u;
  if (x.rank != rank || y.rank != rank) return invalid("the tensors' ranks");
  if (x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1]) return invalid("images or channels that do not match");
  for (std::uint32_t i = 0; i < node.spatial; ++i) {
    if (node.window[i] < 1) return invalid("a window");
    if (node.padBefore[i] >= node.window[i] || node.padAfter[i] >= node.window[i]) return invalid("a pad that is not below the window");
    if (y.dims[i + 2] != placesOf(x.dims[i + 2], node.padBefore[i], node.padAfter[i], node.window[i], 1, node.stride[i]))
      return invalid("the output's size");
  }
  return {};
}

Check checkPointwise(const Use& use) {
  const Node& node = use.node;
  const Tensor& y = *use.out(0);
  for (std::uint32_t i = 0; i < pointwiseInputs(node.mode); ++i) {
    if (!spreads(*use.in(i), y)) return invalid("a shape that does not spread to the output's");
  }
  if (node.mode == 501) {
    const double axis = node.numbers[kAxis];
    if (!(axis >= 0 && axis < y.rank) || axis != std::floor(axis)) return invalid("the axis");
  }
  return {};
}

Check checkProduct(const Use& use) {
  const Tensor &a = *use.in(0), &b = *use.in(1), &c = *use.out(0);
  const std::uint32_t rank = c.rank;
  if (rank < 2 || a.rank != rank || b.rank != rank) return invalid("the matrices' ranks");
  if (a.dims[rank - 2] != c.dims[rank - 2] || b.dims[rank - 1] != c.dims[rank - 1] || a.dims[rank - 1] != b.dims[rank - 2])
    return invalid("matrices that do not match");
  for (std::uint32_t i = 0; i + 2 < rank; ++i) {
    if (c.dims[i] % a.dims[i] != 0 || c.dims[i] % b.dims[i] != 0) return unsupported("batches that do not match");
  }
  if (allFloat(use)) return {};
  const bool integers = a.type == Type::i8 && b.type == Type::i8 && (c.type == Type::i32 || c.type == Type::f32);
  return integers ? Check{} : unsupported("this combination of types");
}

bool wholeWithin(double number, std::int64_t least, std::int64_t most) {
  return number >= static_cast<double>(least) && number <= static_cast<double>(most) && number == std::floor(number);
}

Averaged averaged(const Use& use) {
  const Node& node = use.node;
  const Tensor& x = *use.in(0);
  const bool forward = node.operation == Operation::normForward;
  const Tensor* scale = use.in(forward ? 1 : 2);
  if (scale == nullptr && forward) scale = use.in(2);
  Averaged found;
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    switch (node.mode) {
      case 0:
      case 4:
        found.dims[i] = scale != nullptr && scale->dims[i] != 1;
        break;
      case 2:
        found.dims[i] = scale != nullptr ? scale->dims[i] == 1 : i != 1;
        break;
      case 1:
        found.dims[i] = i >= 2;
        break;
      default:
        found.dims[i] = i == 1 ? 2 : i >= 2;
    }
  }
  return found;
}

bool isStatistic(const Use& use, const Tensor& x, const Averaged& averaged, const Tensor* tensor) {
  if (tensor == nullptr) return true;
  if (tensor->rank != x.rank) return false;
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    const std::int64_t expected = averaged.dims[i] == 0 ? x.dims[i] : averaged.dims[i] == 1 ? 1 : static_cast<std::int64_t>(use.node.numbers[kGroups]);
    if (tensor->dims[i] != expected) return false;
  }
  return true;
}

Check checkNorm(const Use& use) {
  const Node& node = use.node;
  const Tensor& x = *use.in(0);
  constexpr std::uint16_t kLayer = 0, kGroup = 3, kRms = 4;
  if (node.mode > kRms) return unsupported("this kind of norm");
  if (x.rank < 2) return invalid("the tensor's rank");
  if (!allFloat(use)) return unsupported("this combination of types");
  const bool forward = node.operation == Operation::normForward;
  const Tensor *scale = use.in(forward ? 1 : 2), *bias = forward ? use.in(2) : nullptr;
  if (forward ? !sameShape(x, *use.out(0)) : !sameShape(x, *use.in(1)) || !sameShape(x, *use.out(0))) return invalid("the tensors' shapes");
  const Tensor* shape = scale != nullptr ? scale : bias;
  if ((node.mode == kLayer || node.mode == kRms) && shape == nullptr) return invalid("a norm that nothing says the shape of");
  if (shape != nullptr && !spreads(*shape, x)) return invalid("the scale's shape");
  if (scale != nullptr && bias != nullptr && !sameShape(*scale, *bias)) return invalid("the bias's shape");
  if (node.mode == kGroup && (!wholeWithin(node.numbers[kGroups], 1, x.dims[1]) || x.dims[1] % static_cast<std::int64_t>(node.numbers[kGroups]) != 0))
    return invalid("groups that do not divide the channels");
  const Averaged over = averaged(use);
  const Check badStatistic = invalid("the shape of a statistic");
  if (!forward) {
    if (!isStatistic(use, x, over, use.in(3)) || !isStatistic(use, x, over, use.in(4))) return badStatistic;
    if (node.mode == kRms ? use.in(3) != nullptr : (use.in(3) == nullptr) != (use.in(4) == nullptr)) return invalid("which statistics there are");
    for (const std::uint32_t i : {1u, 2u}) {
      if (use.out(i) != nullptr && !sameShape(*scale, *use.out(i))) return invalid("the shape of a parameter's gradient");
    }
    return {};
  }
  for (std::uint32_t i = 3; i < 7; ++i) {
    if (!isStatistic(use, x, over, use.in(i))) return badStatistic;
  }
  for (std::uint32_t i = 1; i < 5; ++i) {
    if (!isStatistic(use, x, over, use.out(i))) return badStatistic;
  }
  const bool training = (node.flags & kTraining) != 0, mean = use.in(3) != nullptr, variance = use.in(4) != nullptr;
  if (node.mode == kRms && (mean || use.in(5) != nullptr || use.out(1) != nullptr || use.out(3) != nullptr)) return invalid("a mean of a norm that has none");
  if (training ? mean || variance : !variance || (node.mode != kRms && !mean)) return invalid("which statistics there are");
  if (!training && (use.in(5) != nullptr || use.in(6) != nullptr)) return invalid("running statistics without training");
  if ((use.out(3) != nullptr && use.in(5) == nullptr) || (use.out(4) != nullptr && use.in(6) == nullptr)) return invalid("running statistics that come from nowhere");
  return {};
}

bool isShape(const Tensor& tensor, std::initializer_list<std::int64_t> dims) { return tensor.rank == dims.size() && std::equal(dims.begin(), dims.end(), tensor.dims); }

Check checkAttention(const Use& use) {
  const Tensor &q = *use.in(0), &k = *use.in(1), &v = *use.in(2), &o = *use.out(0);
  const Tensor *scale = use.in(3), *queries = use.in(4), *keys = use.in(5), *statistics = use.out(1);
  if (q.rank != 4 || k.rank != 4 || v.rank != 4) return invalid("the tensors' ranks");
  if (k.dims[0] != q.dims[0] || v.dims[0] != q.dims[0] || k.dims[3] != q.dims[3] || v.dims[2] != k.dims[2]) return invalid("queries, keys and values that do not match");
  if (q.dims[1] % k.dims[1] != 0 || q.dims[1] % v.dims[1] != 0) return invalid("heads that do not divide those of the queries");
  if (!isShape(o, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]})) return invalid("the output's shape");
  if (statistics != nullptr && !isShape(*statistics, {q.dims[0], q.dims[1], q.dims[2], 1})) return invalid("the shape of the statistics");
  const bool halves = q.type == Type::f16 || q.type == Type::bf16;
  if (!(halves || q.type == Type::f32) || k.type != q.type || v.type != q.type || (o.type != q.type && o.type != Type::f32)) return unsupported("this combination of types");
  if (use.node.compute != Type::f32) return unsupported("the compute type");
  if (statistics != nullptr && statistics->type != Type::f32) return unsupported("statistics that are no floats");
  if (scale != nullptr && (elementsOf(*scale) != 1 || scale->type != Type::f32)) return invalid("a scale that is not one float");
  if ((queries == nullptr) != (keys == nullptr)) return unsupported("lengths of queries without those of keys, or those alone");
  for (const Tensor* lengths : {queries, keys}) {
    if (lengths == nullptr) continue;
    if (!isShape(*lengths, {q.dims[0], 1, 1, 1})) return invalid("the shape of the lengths");
    if (lengths->kind != TensorKind::memory || (lengths->type != Type::i32 && lengths->type != Type::i64)) return unsupported("lengths that are no integers in memory");
  }
  for (const Tensor* each : {&q, &k, &v, &o}) {
    if (each->kind != TensorKind::memory) return unsupported("attention whose tensors are not in memory");
  }
  return {};
}

// Each dimension of y with one of x's that is as long and has the same stride; those of length 1 have any.
bool reorders(const Tensor& x, const Tensor& y, std::uint8_t order[kMaxRank]) {
  if (x.rank != y.rank) return false;
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; i < y.rank; ++i) {
    const auto same = [&](std::uint32_t j) { return (taken >> j & 1) == 0 && x.dims[j] == y.dims[i] && (y.dims[i] == 1 || x.strides[j] == y.strides[i]); };
    // Where it stays, if it may.
    std::uint32_t j = i;
    if (!same(j)) for (j = 0; j < x.rank && !same(j);) ++j;
    if (j == x.rank) return false;
    taken |= 1u << j;
    order[i] = static_cast<std::uint8_t>(j);
  }
  return true;
}

Check checkReduction(const Use& use) {
  const Tensor &x = *use.in(0), &y = *use.out(0);
  if (use.node.mode > 8) return invalid("the reduction's operation");
  if (x.rank != y.rank) return invalid("the output's shape");
  std::uint32_t parts = 0;
  for (std::uint32_t i = 0; i < x.rank; ++i) {
    if (x.dims[i] % y.dims[i] != 0) return invalid("the output's shape");
    parts += y.dims[i] != 1 && y.dims[i] != x.dims[i];
  }
  return parts > 1 ? unsupported("a reduction of parts of two dimensions") : Check{};
}

Check checkRandom(const Use& use) {
  for (const std::uint32_t i : {0u, 1u}) {
    const Tensor* number = use.in(i);
    if (number == nullptr) continue;
    if (elementsOf(*number) != 1) return invalid("a seed or an offset that is not one number");
    if ((number->type != Type::i32 && number->type != Type::i64) || number->kind == TensorKind::passing) return unsupported("a seed or an offset of this type");
  }
  if (use.node.mode != 0) return unsupported("this distribution");
  if (!(use.node.numbers[kProbability] >= 0 && use.node.numbers[kProbability] <= 1)) return invalid("the probability");
  if (use.node.alpha != 1 || use.node.beta != 0) return unsupported("alpha and beta of random numbers");
  return isFloat(use.out(0)->type) && use.node.compute == Type::f32 ? Check{} : unsupported("this combination of types");
}

Check checkSame(const Use& use, std::uint32_t inputs) {
  for (std::uint32_t i = 0; i < inputs; ++i) {
    if (!sameShape(*use.in(i), *use.out(0))) return invalid("shapes that do not match");
  }
  return {};
}

Check checkSoftmax(const Use& use) {
  if (use.node.mode > static_cast<std::uint16_t>(SoftmaxMode::logarithm)) return invalid("the softmax's algorithm");
  if (use.out(0)->rank < 2) return invalid("the tensor's rank");
  if (!allFloat(use)) return unsupported("this combination of types");
  return checkSame(use, use.node.operation == Operation::softmaxForward ? 1 : 2);
}

Check checkResponseNorm(const Use& use) {
  if (use.out(0)->rank < 2) return invalid("the tensor's rank");
  if (!wholeWithin(use.node.numbers[kWindow], 1, kMostWindow)) return invalid("the window");
  if (!allFloat(use)) return unsupported("this combination of types");
  return checkSame(use, use.node.operation == Operation::responseNormForward ? 1 : 3);
}

}  // namespace

std::uint32_t pointwiseInputs(std::uint16_t mode) {
  if (mode == 4 || (mode >= 10 && mode <= 22)) return 1;  // sqrt, abs to reciprocal
  if (mode <= 9 || mode == 23) return 2;                   // arithmetic, atan2
  if (mode >= 100 && mode <= 107) return 1;                // activations
  if (mode >= 200 && mode <= 207) return 2;                // their derivatives
  if (mode >= 300 && mode <= 305) return 2;                // comparisons
  if (mode == 400 || mode == 401) return 2;
  if (mode == 402 || mode == 501) return 1;  // not; an index
  return mode == 601 ? 3 : 0;                // one or the other
}

bool multiplies(Operation operation) {
  return operation == Operation::convolutionForward || operation == Operation::convolutionBackwardData || operation == Operation::convolutionBackwardFilter ||
         operation == Operation::matrixProduct || operation == Operation::attentionForward;
}

void reorderedBy(const Tensor& x, const Tensor& y, std::uint8_t order[kMaxRank]) { reorders(x, y, order); }

Averaged averagedBy(const Parts& parts, const Node& node) { return averaged({parts, node}); }

Check checkOperation(const Parts& parts, const Node& node) {
  Signature signature{};
  if (!signatureOf(node, signature)) return invalid("the operation");
  if (node.operation == Operation::pointwise && signature.inputs == 0) return invalid("the pointwise mode");
  if (!follows(node, signature)) return invalid("which inputs and outputs there are");
  const bool truth = node.compute == Type::boolean && node.operation == Operation::pointwise;
  if (!truth && node.compute != Type::f32 && node.compute != Type::f64 && node.compute != Type::i32) return unsupported("the compute type");
  if (node.math > MathType::fma || (node.math != MathType::standard && !multiplies(node.operation))) return invalid("the math type");
  const Use use{parts, node};
  switch (node.operation) {
    case Operation::convolutionForward:
      if (const Check c = checkConvolution(node, *use.in(0), *use.in(1), *use.out(0)); c.verdict != Verdict::runs) return c;
      return checkConvolutionTypes(use);
    case Operation::convolutionBackwardData:
      if (const Check c = checkConvolution(node, *use.out(0), *use.in(1), *use.in(0)); c.verdict != Verdict::runs) return c;
      return checkConvolutionTypes(use);
    case Operation::convolutionBackwardFilter:
      if (const Check c = checkConvolution(node, *use.in(0), *use.out(0), *use.in(1)); c.verdict != Verdict::runs) return c;
      return checkConvolutionTypes(use);
    case Operation::pointwise:
      return checkPointwise(use);
    case Operation::reduction:
      return checkReduction(use);
    case Operation::matrixProduct:
      return checkProduct(use);
    case Operation::normForward:
    case Operation::normBackward:
      return checkNorm(use);
    case Operation::poolForward:
    case Operation::poolBackward: {
      const bool forward = node.operation == Operation::poolForward;
      if (forward && use.in(0)->type != use.out(0)->type && !allFloat(use)) return unsupported("this combination of types");
      if (!forward && (!allFloat(use) || !sameShape(*use.in(0), *use.out(0)) || !sameShape(*use.in(1), *use.in(2)))) return invalid("types or shapes that do not match");
      return checkPool(node, *use.in(0), forward ? *use.out(0) : *use.in(1));
    }
    case Operation::softmaxForward:
    case Operation::softmaxBackward:
      return checkSoftmax(use);
    case Operation::responseNormForward:
    case Operation::responseNormBackward:
      return checkResponseNorm(use);
    case Operation::copy:
      return checkSame(use, 1);
    case Operation::attentionForward:
      if (node.alpha != 1 || node.beta != 0) return unsupported("alpha and beta of attention");
      return checkAttention(use);
    case Operation::random:
      return checkRandom(use);
    case Operation::reorder: {
      std::uint8_t order[kMaxRank];
      if (node.mode > 2) return invalid("how it is reshaped");
      if (node.alpha != 1 || node.beta != 0) return unsupported("alpha and beta of a transpose");
      if (!allFloat(use)) return unsupported("this combination of types");
      return reorders(*use.in(0), *use.out(0), order) ? Check{} : unsupported("a reshape that is no other order of dimensions");
    }
  }
  return invalid("the operation");
}

}  // namespace rouse::dnn
