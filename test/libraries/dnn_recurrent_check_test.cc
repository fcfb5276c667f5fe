// Recurrent networks of cuDNN: what may be in a call. Nothing in it is believed, so most of these are wrong.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "test/libraries/dnn_recurrent_calls.h"

namespace rouse::dnn {
namespace {

std::string saidOf(const RecurrentCall& call) {
  const Check c = check(call);
  return c.verdict == Verdict::runs ? "runs" : std::string(c.verdict == Verdict::invalid ? "invalid: " : "unsupported: ") + c.what;
}
std::string said(Pass pass, const std::function<void(RecurrentCall&)>& change) {
  RecurrentCall call = recurrentCall(pass);
  change(call);
  return saidOf(call);
}

constexpr Pass kAll[] = {Pass::weights, Pass::sizes, Pass::stateSize, Pass::dropoutStates, Pass::forward, Pass::backwardData, Pass::backwardWeights};

}  // namespace

TEST_CASE("a recurrent network comes apart as it was put together", "[dnn]") {
  for (const Pass pass : kAll) {
    const RecurrentCall call = recurrentCall(pass);
    INFO(int(pass));
    CHECK(saidOf(call) == "runs");
    const std::vector<std::byte> bytes = putTogether(call);
    CHECK(bytes.size() == sizeof(Recurrent) + call.lengths.size() * 4);
    RecurrentCall again;
    REQUIRE(takeApart(bytes, again));
    CHECK(putTogether(again) == bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(!takeApart(std::span(bytes).first(size), again));
    std::vector<std::byte> more = bytes;
    more.push_back({});
    CHECK(!takeApart(more, again));
    if (!runs(pass)) continue;
    for (const std::int32_t batch : {0, -1, 3, 5, kMostSequences + 1, INT32_MAX, INT32_MIN}) {
      more = bytes;
      std::memcpy(more.data() + offsetof(Recurrent, batch), &batch, sizeof batch);
      CHECK(!takeApart(more, again));
    }
  }
}

TEST_CASE("recurrent networks that are none", "[dnn]") {
  const auto network = [](const std::function<void(Recurrent&)>& change) {
    const std::string first = said(Pass::weights, [&](RecurrentCall& c) { change(c.what); });
    for (const Pass pass : {Pass::sizes, Pass::forward, Pass::backwardData, Pass::backwardWeights})
      CHECK(said(pass, [&](RecurrentCall& c) { change(c.what); }) == first);
    return first;
  };
  CHECK(said(Pass::forward, [](RecurrentCall& c) { c.what.pass = Pass{7}; }) == "invalid: what to do");
  CHECK(network([](Recurrent& w) { w.cell = Cell{4}; }) == "invalid: the cell's mode");
  CHECK(network([](Recurrent& w) { w.biases = Biases{4}; }) == "invalid: the bias mode");
  CHECK(network([](Recurrent& w) { w.bidirectional = 2; }) == "invalid: the direction");
  CHECK(network([](Recurrent& w) { w.skipsInput = 2; }) == "invalid: the input mode");
  CHECK(network([](Recurrent& w) { w.skipsInput = 1; }) == "unsupported: CUDNN_SKIP_INPUT");
  CHECK(network([](Recurrent& w) { w.algorithm = RecurrentAlgorithm{4}; }) == "invalid: the algorithm");
  CHECK(network([](Recurrent& w) { w.algorithm = RecurrentAlgorithm::persistDynamic; }) == "unsupported: CUDNN_RNN_ALGO_PERSIST_DYNAMIC");
  CHECK(network([](Recurrent& w) { w.type = Type::i8; }) == "unsupported: the type");
  CHECK(network([](Recurrent& w) { w.type = Type{99}; }) == "unsupported: the type");
  CHECK(network([](Recurrent& w) { w.compute = 3; }) == "unsupported: the type that is computed in");
  CHECK(network([](Recurrent& w) { w.math = MathType{4}; }) == "invalid: the math type");
  CHECK(network([](Recurrent& w) { w.auxiliary = 2; }) == "invalid: auxiliary flags");
  CHECK(network([](Recurrent& w) { w.clips = 1, w.lowerClip = 1; }) == "invalid: clipping");
  CHECK(network([](Recurrent& w) { w.clips = 1, w.lowerClip = std::nan(""); }) == "invalid: clipping");
  CHECK(network([](Recurrent& w) { w.fills = 4; }) == "invalid: what fills the ends");
  CHECK(network([](Recurrent& w) { w.inputs = 0; }) == "invalid: the size of a vector");
  CHECK(network([](Recurrent& w) { w.hidden = -4; }) == "invalid: the size of a vector");
  CHECK(network([](Recurrent& w) { w.projection = 5; }) == "invalid: the projection's size");
  CHECK(network([](Recurrent& w) { w.projection = 2, w.cell = Cell::gru; }) == "invalid: a projection of a cell that is no LSTM");
  CHECK(network([](Recurrent& w) { w.projection = 2; }) == "runs");
  CHECK(network([](Recurrent& w) { w.clips = 1, w.cell = Cell::tanh; }) == "invalid: clipping of a cell that is no LSTM");
  CHECK(network([](Recurrent& w) { w.layers = 0; }) == "invalid: how many layers");
  CHECK(network([](Recurrent& w) { w.layers = 257; }) == "unsupported: more than 256 layers");
  CHECK(network([](Recurrent& w) { w.hidden = 1 << 24; }) == "unsupported: weights of more bytes than a window holds");
  CHECK(network([](Recurrent& w) { w.hidden = w.inputs = INT32_MAX, w.layers = 256; }) == "unsupported: weights of more bytes than a window holds");
  CHECK(network([](Recurrent& w) { w.dropout = 1.5f; }) == "invalid: the probability of dropout");
  CHECK(network([](Recurrent& w) { w.dropout = std::nanf(""); }) == "invalid: the probability of dropout");
  CHECK(said(Pass::weights, [](RecurrentCall& c) { c.what.answer = 0; }) == "invalid: an answer that nobody wants");
  CHECK(said(Pass::dropoutStates, [](RecurrentCall& c) { c.what.states = 0; }) == "invalid: dropout's states, which are null");
}

TEST_CASE("sequences and memory that are none", "[dnn]") {
  const auto forward = [](const std::function<void(RecurrentCall&)>& change) { return said(Pass::forward, change); };
  CHECK(forward([](RecurrentCall& c) { c.what.layout = SequenceLayout{3}; }) == "invalid: the layout of sequences");
  CHECK(forward([](RecurrentCall& c) { c.what.steps = 0; }) == "invalid: how many steps or sequences");
  CHECK(forward([](RecurrentCall& c) { c.what.batch = 3; }) == "invalid: how many lengths of sequences");
  CHECK(said(Pass::sizes, [](RecurrentCall& c) { c.what.batch = kMostSequences + 1; }) == "unsupported: more than 8000 sequences");
  CHECK(forward([](RecurrentCall& c) { c.what.steps = INT32_MAX, c.what.inputs = 1 << 20; }) == "unsupported: a tensor of more bytes than a window holds");
  CHECK(forward([](RecurrentCall& c) { c.lengths[1] = 6; }) == "invalid: a sequence's length");
  CHECK(forward([](RecurrentCall& c) { c.lengths[1] = -1; }) == "invalid: a sequence's length");
  CHECK(forward([](RecurrentCall& c) { c.lengths = {0, 0, 0, 0}; }) == "invalid: sequences that are all empty");
  CHECK(forward([](RecurrentCall& c) { c.lengths = {1, 0, 5, 2}; }) == "runs");
  CHECK(forward([](RecurrentCall& c) { c.lengths = {1, 0, 5, 2}, c.what.layout = SequenceLayout::stepsPacked; }) == "invalid: packed sequences that are not sorted by length");
  CHECK(forward([](RecurrentCall& c) { c.what.x = 0; }) == "invalid: an input or output that is null");
  CHECK(forward([](RecurrentCall& c) { c.what.weights = 0; }) == "invalid: weights that are null");
  CHECK(forward([](RecurrentCall& c) { c.what.weightsBytes = 0; }) == "invalid: the size of the weights");
  CHECK(forward([](RecurrentCall& c) { c.what.weightsBytes = ~0ull; }) == "invalid: the size of the weights");
  CHECK(forward([](RecurrentCall& c) { c.what.rankH = 2; }) == "invalid: the rank of the hidden state");
  CHECK(forward([](RecurrentCall& c) { c.what.rankH = 0; }) == "invalid: a hidden state without a descriptor");
  CHECK(forward([](RecurrentCall& c) { c.what.rankC = 0; }) == "invalid: a cell's state without a descriptor");
  CHECK(forward([](RecurrentCall& c) { c.what.rankH = c.what.rankC = 0, c.what.hx = c.what.hy = c.what.cx = c.what.cy = 0; }) == "runs");
  CHECK(forward([](RecurrentCall& c) { c.what.workspace = 0; }) == "invalid: memory to work in that is null");
  CHECK(forward([](RecurrentCall& c) { c.what.training = 1; }) == "invalid: training without a reserve");
  CHECK(forward([](RecurrentCall& c) { c.what.training = 2; }) == "invalid: the forward mode");
  CHECK(said(Pass::backwardData, [](RecurrentCall& c) { c.what.dx = 0; }) == "invalid: an output or gradient that is null");
  CHECK(said(Pass::backwardData, [](RecurrentCall& c) { c.what.training = 0; }) == "invalid: a gradient without training");
  CHECK(said(Pass::backwardWeights, [](RecurrentCall& c) { c.what.dweights = 0; }) == "invalid: an input, output or gradient that is null");
}

TEST_CASE("memory that a recurrent network names", "[dnn]") {
  std::vector<Range> found;
  const auto rangeOf = [&](std::uint64_t address) {
    for (const Range& each : found)
      if (each.address == address) return each;
    return Range{};
  };
  RecurrentCall call = recurrentCall(Pass::forward);
  REQUIRE(ranges(call, found));
  CHECK(found.size() == 8);
  CHECK(rangeOf(call.what.x).bytes == 5 * 4 * 3 * 4);
  CHECK(rangeOf(call.what.y).bytes == 5 * 4 * 8 * 4);
  CHECK((rangeOf(call.what.y).written && rangeOf(call.what.hy).written && !rangeOf(call.what.hx).written && !rangeOf(call.what.weights).written));
  CHECK(rangeOf(call.what.cy).bytes == 2 * 2 * 4 * 4 * 4);
  call.what.layout = SequenceLayout::stepsPacked;
  call.what.projection = 2;
  call.what.lengths = 0x90'0000;
  found.clear();
  REQUIRE(ranges(call, found));
  CHECK(rangeOf(call.what.x).bytes == 10 * 3 * 4);
  CHECK(rangeOf(call.what.y).bytes == 10 * 4 * 4);
  CHECK(rangeOf(call.what.hy).bytes == 2 * 2 * 4 * 2 * 4);
  CHECK(rangeOf(0x90'0000).bytes == 16);

  call = recurrentCall(Pass::backwardData);
  found.clear();
  REQUIRE(ranges(call, found));
  CHECK((!rangeOf(call.what.y).written && rangeOf(call.what.dx).written && rangeOf(call.what.reserve).written && rangeOf(call.what.dcx).written));
  call = recurrentCall(Pass::backwardWeights);
  found.clear();
  REQUIRE(ranges(call, found));
  CHECK((rangeOf(call.what.dweights).written && rangeOf(call.what.dweights).bytes == 4096));

  call = recurrentCall(Pass::weights);
  found.clear();
  REQUIRE(ranges(call, found));
  REQUIRE(found.size() == 1);
  CHECK((found[0].written && found[0].bytes == sizeof(RecurrentAnswer) + 4 * 8 * sizeof(WeightPlace)));

  call = recurrentCall(Pass::forward);
  call.what.x += 2;
  CHECK(!ranges(call, found));
  call = recurrentCall(Pass::forward);
  call.what.y = ~std::uint64_t{0} - 7;
  CHECK(!ranges(call, found));
  call = recurrentCall(Pass::weights);
  call.what.answer += 4;
  CHECK(!ranges(call, found));
}

TEST_CASE("bytes at random are no recurrent network, or one that names its memory", "[dnn]") {
  std::mt19937 random(5);
  std::size_t ran = 0;
  for (int i = 0; i < 40'000; ++i) {
    std::vector<std::byte> bytes = putTogether(recurrentCall(kAll[random() % std::size(kAll)]));
    for (std::uint32_t n = random() % 4; n-- > 0;) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    RecurrentCall call;
    if (!takeApart(bytes, call) || check(call).verdict != Verdict::runs) continue;
    std::vector<Range> found;
    if (!ranges(call, found)) continue;
    ++ran;
    for (const Range& each : found) CHECK((each.address != 0 && each.bytes != 0 && each.address + each.bytes > each.address));
  }
  CHECK(ran > 1000);
}

}  // namespace rouse::dnn
