// A recurrent network of cuDNN as it travels: wire::LibraryCall with library 3, function 1, and as the parameters a Recurrent, then the length of each
// sequence. A network's weights lie as the library of the node has them, which with the sizes of its memory to work in is asked for (Pass::weights,
// Pass::sizes) and answered in memory that both sides see.
//
// Numbers of enumerations are cuDNN 9's own where this says so.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "schemas/dnn/check.h"

namespace rouse::dnn {

inline constexpr std::uint32_t kRecurrentFunction = 1;

inline constexpr std::int32_t kMostLayers = 256;
inline constexpr std::int32_t kMostSequences = 8000;  // they fit a command's payload

enum class Pass : std::uint8_t {
  weights = 0,        // answers how large the weights are and where each lies; of the network alone
  sizes = 1,          // answers how much memory to work in and to keep; of the network, `steps`, `batch`, `layout` and `training`
  stateSize = 2,      // answers how much memory dropout's random numbers need; of nothing
  dropoutStates = 3,  // writes that memory; of `dropout`, its states and seed
  // reads x, [hx], [cx], weights; writes y, [hy], [cy]. With `training` the reserve, too, which the next two read.
  forward = 4,
  // reads y, dy, [hx], [cx], [dhy], [dcy], weights; writes dx, [dhx], [dcx], and the reserve.
  backwardData = 5,
  // reads x, [hx], y; adds to dweights. After backwardData.
  backwardWeights = 6,
};

enum class Cell : std::uint8_t { relu = 0, tanh = 1, lstm = 2, gru = 3 };                     // cudnnRNNMode_t
enum class Biases : std::uint8_t { none = 0, input = 1, both = 2, recurrent = 3 };            // cudnnRNNBiasMode_t
enum class SequenceLayout : std::uint8_t { stepsPadded = 0, stepsPacked = 1, batchPadded = 2 };  // cudnnRNNDataLayout_t
enum class RecurrentAlgorithm : std::uint8_t { standard = 0, persistStatic = 1, persistDynamic = 2, persistSmall = 3 };  // cudnnRNNAlgo_t

inline constexpr std::uint8_t kFillX = 1, kFillY = 2;  // the data descriptor says what lies behind the ends of sequences

struct Recurrent {
  Pass pass{};
  Cell cell{};
  Biases biases{};
  std::uint8_t bidirectional = 0;  // cudnnDirectionMode_t
  std::uint8_t skipsInput = 0;     // cudnnRNNInputMode_t
  RecurrentAlgorithm algorithm{};
  Type type{};          // of all tensors
  std::uint8_t compute = 0;  // cudnnDataType_t: float, double or half
  MathType math{};
  SequenceLayout layout{};
  std::uint8_t training = 0;
  std::uint8_t clips = 0;  // cudnnRNNClipMode_t
  std::uint8_t clipNan = 0;  // 0: cudnnRNNSetClip_v9's; else cudnnNanPropagation_t and 1
  std::uint8_t fills = 0;    // kFillX, kFillY
  // Of the tensor descriptors of h and c: 0: the program gave none. Layers, batch and vector, then dimensions of 1, packed.
  std::uint8_t rankH = 0, rankC = 0;
  std::uint32_t auxiliary = 0;  // cudnnSetRNNDescriptor_v8's auxFlags
  float dropout = 0;            // the probability
  std::int32_t inputs = 0, hidden = 0, projection = 0, layers = 0;
  std::int32_t steps = 0, batch = 0;  // of the longest sequence; how many
  double lowerClip = 0, upperClip = 0;
  std::uint64_t fillX = 0, fillY = 0;  // in `type`, from the first byte on
  std::uint64_t states = 0, statesBytes = 0, seed = 0;  // dropout's
  std::uint64_t lengths = 0;                           // 32-bit integers on the device, which the program may give; or 0
  std::uint64_t x = 0, y = 0, hx = 0, hy = 0, cx = 0, cy = 0;
  std::uint64_t dx = 0, dy = 0, dhx = 0, dhy = 0, dcx = 0, dcy = 0;
  std::uint64_t weights = 0, weightsBytes = 0, dweights = 0;
  std::uint64_t workspace = 0, workspaceBytes = 0, reserve = 0, reserveBytes = 0;
  std::uint64_t answer = 0;  // a RecurrentAnswer in memory of the host's that both sides see, with room for all places
};
static_assert(std::is_trivially_copyable_v<Recurrent> && sizeof(Recurrent) == 272);
static_assert(sizeof(Recurrent) + kMostSequences * sizeof(std::int32_t) <= 32768);

inline constexpr std::uint64_t kNoPlace = ~std::uint64_t{0};

// Bytes from the beginning of the weights. kNoPlace: there is none.
struct WeightPlace {
  std::uint64_t matrix = kNoPlace, bias = kNoPlace;
};
// By pseudo layer, then by linear layer (cudnnGetRNNWeightParams).
struct RecurrentAnswer {
  std::int32_t status = 0;  // cudnnStatus_t
  std::uint32_t places = 0;
  std::uint64_t bytes = 0, reserveBytes = 0;  // `bytes`: of weights, of the workspace, or of dropout's states
  char why[168] = {};
};
// Statuses that are no library's: what the client sets before it asks, and CUDNN_STATUS_NOT_SUPPORTED.
inline constexpr std::int32_t kUnanswered = -1, kNotSupported = 3000;
static_assert(std::is_trivially_copyable_v<RecurrentAnswer> && sizeof(RecurrentAnswer) == 192);

struct RecurrentCall {
  Recurrent what;
  std::vector<std::int32_t> lengths;  // of forward and backward passes: `batch`; of others none
};

// As of graphs (check.h).
bool takeApart(std::span<const std::byte> bytes, RecurrentCall& call);
std::vector<std::byte> putTogether(const RecurrentCall& call);
Check check(const RecurrentCall& call);
bool ranges(const RecurrentCall& call, std::vector<Range>& found);
const char* nameOf(const Recurrent& what);  // in words, for errors: "a recurrent network (LSTM)"; literal

inline bool asks(Pass pass) { return pass <= Pass::stateSize; }
inline bool runs(Pass pass) { return pass >= Pass::forward; }
// Of a network that has been checked.
inline std::uint32_t gatesOf(Cell cell) { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
inline std::uint32_t directionsOf(const Recurrent& what) { return what.bidirectional != 0 ? 2 : 1; }
inline std::uint32_t pseudoLayersOf(const Recurrent& what) { return static_cast<std::uint32_t>(what.layers) * directionsOf(what); }
// Matrices of a pseudo layer: those of its input, of its own output, and of the projection.
inline std::uint32_t linearLayersOf(const Recurrent& what) { return 2 * gatesOf(what.cell) + (what.projection != 0 ? 1 : 0); }
inline std::int32_t outputsOf(const Recurrent& what) { return what.projection != 0 ? what.projection : what.hidden; }
// A vector of the input of this layer, or of the output of each.
inline std::int64_t inputsOf(const Recurrent& what, std::uint32_t layer) {
  return layer == 0 ? what.inputs : std::int64_t{outputsOf(what)} * directionsOf(what);
}
std::uint64_t answerBytesOf(const Recurrent& what);

}  // namespace rouse::dnn
