#include "schemas/dnn/recurrent.h"

#include <cmath>
#include <cstring>

#include "schemas/dnn/operations.h"

namespace rouse::dnn {
namespace {

constexpr std::uint32_t kPaddedFlag = 1;  // CUDNN_RNN_PADDED_IO_ENABLED

bool isServedFloat(Type type) { return type == Type::f32 || type == Type::f64 || type == Type::f16 || type == Type::bf16; }
bool isCompute(std::uint8_t compute) {
  return compute == static_cast<std::uint8_t>(Type::f32) || compute == static_cast<std::uint8_t>(Type::f64) || compute == static_cast<std::uint8_t>(Type::f16);
}

Check checkDropout(const Recurrent& what) {
  if (!(what.dropout >= 0 && what.dropout <= 1)) return invalid("the probability of dropout");
  if (what.statesBytes > kMostBytes) return invalid("the size of dropout's states");
  return {};
}

Check checkNetwork(const Recurrent& what) {
  if (what.cell > Cell::gru) return invalid("the cell's mode");
  if (what.biases > Biases::recurrent) return invalid("the bias mode");
  if (what.bidirectional > 1) return invalid("the direction");
  if (what.skipsInput > 1) return invalid("the input mode");
  if (what.skipsInput != 0) return unsupported("CUDNN_SKIP_INPUT");
  if (what.algorithm > RecurrentAlgorithm::persistSmall) return invalid("the algorithm");
  if (what.algorithm == RecurrentAlgorithm::persistDynamic) return unsupported("CUDNN_RNN_ALGO_PERSIST_DYNAMIC");
  if (!isServedFloat(what.type)) return unsupported("the type");
  if (!isCompute(what.compute)) return unsupported("the type that is computed in");
  if (what.math > MathType::fma) return invalid("the math type");
  if ((what.auxiliary & ~kPaddedFlag) != 0) return invalid("auxiliary flags");
  const bool clips = what.clips != 0;
  if (what.clips > 1 || what.clipNan > 2 || (clips && !(what.lowerClip <= what.upperClip))) return invalid("clipping");
  if (what.fills > (kFillX | kFillY)) return invalid("what fills the ends");
  if (clips && what.cell != Cell::lstm) return invalid("clipping of a cell that is no LSTM");
  if (what.inputs < 1 || what.hidden < 1) return invalid("the size of a vector");
  if (what.projection < 0 || what.projection > what.hidden) return invalid("the projection's size");
  if (what.projection != 0 && what.cell != Cell::lstm) return invalid("a projection of a cell that is no LSTM");
  if (what.layers < 1) return invalid("how many layers");
  if (what.layers > kMostLayers) return unsupported("more than 256 layers");
  // Matrices of the input and of the own output, and a vector of each.
  Wide weights = static_cast<Wide>(what.projection) * what.hidden * pseudoLayersOf(what);
  for (const std::uint32_t layer : {0u, 1u}) {
    const Wide alike = layer == 0 ? 1 : what.layers - 1;
    weights += alike * directionsOf(what) * gatesOf(what.cell) * what.hidden * (static_cast<Wide>(inputsOf(what, layer)) + outputsOf(what) + 2);
  }
  if (weights * bytesOf(what.type) > static_cast<Wide>(kMostBytes)) return unsupported("weights of more bytes than a window holds");
  return checkDropout(what);
}

Check checkSequences(const Recurrent& what) {
  if (what.layout > SequenceLayout::batchPadded) return invalid("the layout of sequences");
  if (what.steps < 1 || what.batch < 1) return invalid("how many steps or sequences");
  if (what.batch > kMostSequences) return unsupported("more than 8000 sequences");
  if (what.training > 1) return invalid("the forward mode");
  // Of the largest of its vectors, each of at most 2^32 elements; no product of these is beyond 128 bits.
  Wide widest = what.hidden;
  if (what.inputs > widest) widest = what.inputs;
  if (widest * 8 * what.steps * what.batch > static_cast<Wide>(kMostBytes)) return unsupported("a tensor of more bytes than a window holds");
  return {};
}

Check checkLengths(const RecurrentCall& call) {
  const Recurrent& what = call.what;
  std::int32_t before = what.steps, longest = 0;
  for (const std::int32_t length : call.lengths) {
    if (length < 0 || length > what.steps) return invalid("a sequence's length");
    if (what.layout == SequenceLayout::stepsPacked && length > before) return invalid("packed sequences that are not sorted by length");
    before = length;
    longest = length > longest ? length : longest;
  }
  return longest == 0 ? invalid("sequences that are all empty") : Check{};
}

bool isRank(std::uint8_t rank) { return rank == 0 || (rank >= 3 && rank <= kMaxRank); }

// Which memory there must be, of a pass that runs. cuDNN takes null for states that are 0, or that nobody wants to know.
Check checkMemory(const Recurrent& what) {
  const auto lacks = [](std::uint64_t address) { return address == 0; };
  if (!isRank(what.rankH) || !isRank(what.rankC)) return invalid("the rank of the hidden state");
  if ((what.hx != 0 || what.hy != 0 || what.dhx != 0 || what.dhy != 0) && what.rankH == 0) return invalid("a hidden state without a descriptor");
  const bool cells = what.cx != 0 || what.cy != 0 || what.dcx != 0 || what.dcy != 0;
  if (cells && what.cell == Cell::lstm && what.rankC == 0) return invalid("a cell's state without a descriptor");
  if (what.pass != Pass::backwardWeights && lacks(what.weights)) return invalid("weights that are null");
  if (what.weightsBytes == 0 || what.weightsBytes > kMostBytes) return invalid("the size of the weights");
  if (what.workspaceBytes > kMostBytes || what.reserveBytes > kMostBytes) return invalid("the size of the memory to work in");
  if ((what.workspaceBytes != 0 && lacks(what.workspace)) || (what.reserveBytes != 0 && lacks(what.reserve))) return invalid("memory to work in that is null");
  switch (what.pass) {
    case Pass::forward:
      if (lacks(what.x) || lacks(what.y)) return invalid("an input or output that is null");
      break;
    case Pass::backwardData:
      if (lacks(what.y) || lacks(what.dy) || lacks(what.dx)) return invalid("an output or gradient that is null");
      break;
    default:
      if (lacks(what.x) || lacks(what.y) || lacks(what.dweights)) return invalid("an input, output or gradient that is null");
  }
  if (what.pass != Pass::forward && what.training == 0) return invalid("a gradient without training");
  if (what.training != 0 && what.reserveBytes == 0) return invalid("training without a reserve");
  return {};
}

}  // namespace

bool takeApart(std::span<const std::byte> bytes, RecurrentCall& call) {
  if (bytes.size() < sizeof call.what) return false;
  std::memcpy(&call.what, bytes.data(), sizeof call.what);
  bytes = bytes.subspan(sizeof call.what);
  const Recurrent& what = call.what;
  if (!runs(what.pass)) {
    call.lengths.clear();
    return bytes.empty();
  }
  if (what.batch < 1 || what.batch > kMostSequences || bytes.size() != static_cast<std::size_t>(what.batch) * sizeof(std::int32_t)) return false;
  call.lengths.resize(static_cast<std::size_t>(what.batch));
  std::memcpy(call.lengths.data(), bytes.data(), bytes.size());
  return true;
}

std::vector<std::byte> putTogether(const RecurrentCall& call) {
  std::vector<std::byte> bytes(sizeof call.what);
  std::memcpy(bytes.data(), &call.what, sizeof call.what);
  const auto lengths = std::as_bytes(std::span(call.lengths));
  bytes.insert(bytes.end(), lengths.begin(), lengths.end());
  return bytes;
}

Check check(const RecurrentCall& call) {
  const Recurrent& what = call.what;
  if (what.pass > Pass::backwardWeights) return invalid("what to do");
  if (asks(what.pass) && what.answer == 0) return invalid("an answer that nobody wants");
  if (what.pass == Pass::stateSize) return {};
  if (what.pass == Pass::dropoutStates) {
    if (what.states == 0 || what.statesBytes == 0) return invalid("dropout's states, which are null");
    return checkDropout(what);
  }
  if (const Check c = checkNetwork(what); c.verdict != Verdict::runs || what.pass == Pass::weights) return c;
  if (const Check c = checkSequences(what); c.verdict != Verdict::runs || what.pass == Pass::sizes) return c;
  if (what.batch != static_cast<std::int64_t>(call.lengths.size())) return invalid("how many lengths of sequences");
  if (const Check c = checkLengths(call); c.verdict != Verdict::runs) return c;
  return checkMemory(what);
}

bool ranges(const RecurrentCall& call, std::vector<Range>& found) {
  const Recurrent& what = call.what;
  const std::uint32_t element = bytesOf(what.type);
  bool good = true;
  const auto add = [&](const char* operand, std::uint64_t address, Wide bytes, bool written, std::uint32_t alignment = 1) {
    if (address == 0 || bytes == 0) return;
    if (bytes > static_cast<Wide>(kMostBytes) * 64 || address % alignment != 0 || address + static_cast<std::uint64_t>(bytes) < address) {
      good = false;
      return;
    }
    found.push_back({operand, address, static_cast<std::uint64_t>(bytes), written});
  };
  if (asks(what.pass)) {
    add("the answer", what.answer, static_cast<Wide>(answerBytesOf(what)), true, alignof(RecurrentAnswer));
    return good;
  }
  add("dropout's states", what.states, what.statesBytes, true);
  if (what.pass == Pass::dropoutStates) return good;
  Wide vectors = 0;
  for (const std::int32_t length : call.lengths) vectors += length;
  if (what.layout != SequenceLayout::stepsPacked) vectors = static_cast<Wide>(what.steps) * what.batch;
  const Wide states = static_cast<Wide>(pseudoLayersOf(what)) * what.batch * element;
  const Wide x = vectors * what.inputs * element, y = vectors * outputsOf(what) * directionsOf(what) * element;
  const Wide h = states * outputsOf(what), c = what.cell == Cell::lstm ? states * what.hidden : 0;
  const auto in = [&](const char* operand, std::uint64_t address, Wide bytes) { add(operand, address, bytes, false, element); };
  const auto out = [&](const char* operand, std::uint64_t address, Wide bytes) { add(operand, address, bytes, true, element); };
  add("the lengths of sequences", what.lengths, static_cast<Wide>(what.batch) * 4, false, 4);
  in("x", what.x, x);
  in("hx", what.hx, h);
  in("cx", what.cx, c);
  in("dy", what.dy, y);
  in("dhy", what.dhy, h);
  in("dcy", what.dcy, c);
  in("the weights", what.weights, what.weightsBytes);
  add("y", what.y, y, what.pass == Pass::forward, element);
  out("hy", what.hy, h);
  out("cy", what.cy, c);
  out("dx", what.dx, x);
  out("dhx", what.dhx, h);
  out("dcx", what.dcx, c);
  out("the weights' gradient", what.dweights, what.weightsBytes);
  add("the workspace", what.workspace, what.workspaceBytes, true);
  add("the reserve", what.reserve, what.reserveBytes, true);
  return good;
}

const char* nameOf(const Recurrent& what) {
  if (!runs(what.pass) && what.pass != Pass::weights && what.pass != Pass::sizes) return "dropout's states";
  switch (what.cell) {
    case Cell::relu: return "a recurrent network (ReLU)";
    case Cell::tanh: return "a recurrent network (tanh)";
    case Cell::lstm: return "a recurrent network (LSTM)";
    case Cell::gru: return "a recurrent network (GRU)";
  }
  return "a recurrent network";
}

std::uint64_t answerBytesOf(const Recurrent& what) {
  const std::uint64_t places = what.pass == Pass::weights ? std::uint64_t{pseudoLayersOf(what)} * linearLayersOf(what) : 0;
  return sizeof(RecurrentAnswer) + places * sizeof(WeightPlace);
}

}  // namespace rouse::dnn
