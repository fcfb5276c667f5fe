// Work of cuDNN as it travels: wire::LibraryCall with library 3, function 0, and as the parameters a small graph of operations on tensors:
// a Graph, then its Tensors, then its Nodes, without gaps. A call of the classic API is a graph of one node or a few; an execution plan of
// the backend API is one as it stands. Nothing else travels: handles, descriptors and plans live in the client, heuristics and workspace
// sizes are answered there.
//
// Nodes run in their order. A node's inputs are tensors in memory, scalars by value, or virtual tensors that an earlier node has written.
// Numbers of enumerations are cuDNN 9's own where this says so.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rouse::dnn {

inline constexpr std::uint32_t kLibrary = 3;  // wire::LibraryCall::library
inline constexpr std::uint32_t kGraphFunction = 0;

inline constexpr std::uint32_t kMaxRank = 8;       // CUDNN_DIM_MAX
inline constexpr std::uint32_t kMaxSpatial = 3;
inline constexpr std::uint32_t kMaxTensors = 96, kMaxNodes = 48;  // they fit a command's payload
inline constexpr std::uint32_t kMostAlignment = 128;
inline constexpr std::uint32_t kMaxInputs = 8, kMaxOutputs = 6;
inline constexpr std::uint16_t kNoTensor = 0xffff;

// cudnnDataType_t, those that are served.
enum class Type : std::uint8_t { f32 = 0, f64 = 1, f16 = 2, i8 = 3, i32 = 4, u8 = 6, bf16 = 9, i64 = 10, boolean = 11 };

enum class TensorKind : std::uint8_t {
  memory = 0,   // at `address`
  scalar = 1,   // `scalar` holds it, in its type, from the first byte on; every dimension is 1
  passing = 2,  // cuDNN's virtual tensors: between two nodes only, in no memory of the program's
};

struct Tensor {
  std::uint64_t address = 0;  // of the element with index 0 in every dimension
  std::uint64_t scalar[1] = {};
  std::int64_t dims[kMaxRank] = {};     // of `rank`; the rest 0. N, C, then the spatial ones; a filter's are K, C / groups, spatial
  // In elements; where the dimension is above 1 above 0, or, of what is only read, 0: the same element again and again.
  std::int64_t strides[kMaxRank] = {};
  std::uint8_t rank = 0;
  Type type{};
  TensorKind kind{};
  std::uint8_t alignment = 0;  // bytes that the program says its address is a multiple of, a power of two up to kMostAlignment; 0: it says nothing
  std::uint8_t reserved[4] = {};
};
static_assert(std::is_trivially_copyable_v<Tensor> && sizeof(Tensor) == 152);

// What each takes and gives, in the order of `inputs` and `outputs`; [in brackets] may be kNoTensor. `mode` as said there.
enum class Operation : std::uint8_t {
  // in: x, w. out: y. mode: ConvolutionMode. Pads, strides, dilations; groups follow from the channels.
  convolutionForward = 1,
  // in: dy, w. out: dx.
  convolutionBackwardData = 2,
  // in: x, dy. out: dw.
  convolutionBackwardFilter = 3,
  // in: x, [b], [t]; backward ones: dy, x. out: y. mode: cudnnPointwiseMode_t; how many inputs follows from it. Dimensions that are 1 are
  // repeated. numbers: kScaleX and kScaleB, which x and b are multiplied by (what is multiplied by 0 is not read), and those of the activations;
  // all that the mode uses are set.
  pointwise = 4,
  // in: x. out: y. mode: cudnnReduceTensorOp_t. Dimensions that are 1 in y are reduced; of those that divide x's, as many as follow each other.
  reduction = 5,
  // in: a (…, m, k), b (…, k, n). out: c. Leading dimensions that divide c's are repeated, each of theirs for as many of c's that follow each other:
  // 1 for all, and heads that are shared.
  matrixProduct = 6,
  // in: x, [scale], [bias], [mean], [variance], [running mean], [running variance]. out: y, [mean], [inverse deviation],
  // [next running mean], [next running variance]. mode: cudnnBackendNormMode_t (layer 0, instance 1, batch 2, group 3, RMS 4).
  // flags: kTraining: statistics are those of x; else they are inputs. kVarianceIsInverse: the input is 1 / sqrt(variance + epsilon).
  // What is averaged: layer, RMS: the dimensions where scale (or bias) is not 1; batch: those where it is 1, all but C without one;
  // instance: the spatial ones; group: those, and C in kGroups parts. Statistics have x's rank, and 1 where x is averaged (of groups: (N,
  // kGroups, 1, …)). numbers: kEpsilon, kAverageFactor (cuDNN's exponentialAverageFactor), kGroups. RMS has no mean.
  normForward = 7,
  // in: x, dy, scale, [mean], [inverse deviation]. out: dx, [dscale], [dbias]. mode and numbers: as forward; statistics of x where none are
  // given, both or neither (RMS: the deviation alone). dscale and dbias are scaled by kParameterAlpha and kParameterBeta.
  normBackward = 8,
  // in: x. out: y. mode: cudnnPoolingMode_t. Window, pads, strides.
  poolForward = 9,
  // in: x, y, dy. out: dx.
  poolBackward = 10,
  // in: x. out: y. mode: SoftmaxMode. flags: kOverChannels: over C at each place; else over all but N.
  softmaxForward = 11,
  // in: y, dy. out: dx.
  softmaxBackward = 12,
  // Across channels. in: x. out: y. numbers: kWindow, kAlpha, kBeta, kK.
  responseNormForward = 13,
  // in: x, y, dy. out: dx.
  responseNormBackward = 14,
  // y = x in another layout or type; dimensions are the same. in: x. out: y.
  copy = 15,
  // o = softmax(scale q k') v, as one operation. in: q (batch, heads, queries, depth), k (batch, heads of k, keys, depth), v (batch, heads of v, keys,
  // depth of v), [scale], [lengths of q], [lengths of k and v]. out: o (batch, heads, queries, depth of v), [statistics] (batch, heads, queries, 1).
  // Heads of k and v divide those of q and are shared as in matrixProduct. The scale is one float; 1 without it. Lengths (batch, 1, 1, 1), both or
  // neither, say how many queries and keys there are: o is 0 beyond. Statistics are the logarithms of the sums that softmax divides by, in float.
  attentionForward = 16,
  // x's dimensions in another order, each told by its stride, as cuDNN says that a matrix is transposed. in: x. out: y. mode: 0, or
  // cudnnBackendReshapeMode_t and 1 where the program says it.
  reorder = 17,
  // y is 1 with a probability, else 0, at each place by itself; what it is follows from seed, offset and place. in: seed, [offset], a whole number each.
  // out: y. mode: cudnnRngDistribution_t, of which 0 is served. numbers: kProbability.
  random = 18,
};

enum class ConvolutionMode : std::uint8_t { flipped = 0, crossCorrelation = 1 };  // cudnnConvolutionMode_t
// What may multiply: cudnnMathType_t. `standard` and `tensor` let a GPU round 32-bit factors to TF32, `converting` to 16 bits as well, `fma` nothing. The
// CPU device multiplies them as they are under each.
enum class MathType : std::uint8_t { standard = 0, tensor = 1, converting = 2, fma = 3 };
enum class SoftmaxMode : std::uint8_t { fast = 0, accurate = 1, logarithm = 2 };  // cudnnSoftmaxAlgorithm_t

inline constexpr std::uint16_t kTraining = 1, kVarianceIsInverse = 2, kOverChannels = 4, kPropagateNan = 8;
// Of what multiplies: the same bits in each run. The CPU device knows no other.
inline constexpr std::uint16_t kReproducible = 16;

// Places in `numbers`, by operation.
inline constexpr std::uint32_t kScaleX = 0, kScaleB = 1, kLowerClip = 2, kUpperClip = 3, kLowerSlope = 4, kEluAlpha = 5, kSwishBeta = 6,
                               kSoftplusBeta = 7, kAxis = 8;  // pointwise; kAxis: of CUDNN_POINTWISE_GEN_INDEX
inline constexpr std::uint32_t kEpsilon = 0, kAverageFactor = 1, kGroups = 2, kParameterAlpha = 3, kParameterBeta = 4;
inline constexpr std::uint32_t kProbability = 0;
inline constexpr std::uint32_t kWindow = 0, kAlpha = 1, kBeta = 2, kK = 3;

struct Node {
  Operation operation{};
  std::uint8_t spatial = 0;  // of convolutions and pools: how many dimensions; else 0
  Type compute{};            // what sums are kept in: f32, f64 or i32; of pointwise operations boolean as well
  MathType math{};           // of convolutions and matrix products; else standard
  std::uint16_t mode = 0;
  std::uint16_t flags = 0;
  std::uint16_t inputs[kMaxInputs] = {kNoTensor, kNoTensor, kNoTensor, kNoTensor, kNoTensor, kNoTensor, kNoTensor, kNoTensor};
  std::uint16_t outputs[kMaxOutputs] = {kNoTensor, kNoTensor, kNoTensor, kNoTensor, kNoTensor, kNoTensor};
  std::uint32_t reserved2 = 0;
  // The first output is alpha times the result plus beta times what it was; where beta is 0 it is not read.
  double alpha = 1, beta = 0;
  std::int32_t padBefore[kMaxSpatial] = {}, padAfter[kMaxSpatial] = {};
  std::int32_t stride[kMaxSpatial] = {}, dilation[kMaxSpatial] = {}, window[kMaxSpatial] = {};
  std::uint32_t reserved3 = 0;
  double numbers[9] = {};
};
static_assert(std::is_trivially_copyable_v<Node> && sizeof(Node) == 192);

struct Graph {
  std::uint32_t tensors = 0, nodes = 0;
  std::uint64_t workspace = 0, workspaceBytes = 0;  // the program's; may be 0
};
static_assert(std::is_trivially_copyable_v<Graph> && sizeof(Graph) == 24);
static_assert(sizeof(Graph) + kMaxTensors * sizeof(Tensor) + kMaxNodes * sizeof(Node) <= 32768);

}  // namespace rouse::dnn
