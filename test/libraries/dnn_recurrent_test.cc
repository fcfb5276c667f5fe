// Recurrent networks on the CPU device: what is refused by name, what is answered, sequences without steps, and results that do not depend on who does
// what. Values: test/programs/dnn_recurrent.cu.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "test/libraries/dnn_recurrent_calls.h"
#include "test/libraries/dnn_runs.h"

namespace rouse::dnn {
namespace {

Result<std::unique_ptr<library::Job>> prepared(const RecurrentCall& call) {
  REQUIRE(check(call).verdict == Verdict::runs);
  return library::cpu::prepare(kLibrary, kRecurrentFunction, putTogether(call), NoMemory{});
}

// Pieces in their order, or backwards.
void runAll(const RecurrentCall& call, bool backwards = false) {
  auto job = prepared(call);
  INFO((job ? "" : job.error().message));
  REQUIRE(job);
  do {
    const std::uint64_t pieces = (*job)->pieces();
    for (std::uint64_t i = 0; i < pieces; ++i) (*job)->run(backwards ? pieces - 1 - i : i);
  } while ((*job)->advance());
}

std::string refusalOf(const RecurrentCall& call) {
  const auto job = prepared(call);
  return job ? "none" : job.error().message;
}

struct Asked {
  RecurrentAnswer head;
  WeightPlace places[64];
};
Asked ask(RecurrentCall call) {
  Asked asked;
  call.what.answer = reinterpret_cast<std::uint64_t>(&asked);
  runAll(call);
  return asked;
}

// All memory that a call names, apart, with numbers in it.
class CallMemory {
 public:
  explicit CallMemory(RecurrentCall& call, std::map<std::uint64_t, std::vector<float>>& kept) {
    std::vector<Range> found;
    REQUIRE(ranges(call, found));
    std::uint64_t* addresses[] = {&call.what.x, &call.what.y, &call.what.hx, &call.what.hy, &call.what.cx, &call.what.cy, &call.what.dx, &call.what.dy, &call.what.dhx,
                                  &call.what.dhy, &call.what.dcx, &call.what.dcy, &call.what.weights, &call.what.dweights, &call.what.workspace, &call.what.reserve};
    for (const Range& range : found) {
      auto& memory = kept[range.address];
      const auto first = static_cast<double>(range.address % 977);
      for (std::size_t i = memory.size(); i < (range.bytes + 3) / 4; ++i) memory.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i) + first)) / 2);
      for (std::uint64_t* each : addresses)
        if (*each == range.address) *each = reinterpret_cast<std::uint64_t>(memory.data());
    }
  }
};

}  // namespace

TEST_CASE("what a recurrent network needs is answered", "[dnn]") {
  const Asked weights = ask(recurrentCall(Pass::weights));
  CHECK(weights.head.status == 0);
  CHECK(weights.head.places == 32);
  // Two directions of 3 and of 8 inputs; matrices first, layer by layer, then biases.
  CHECK(weights.head.bytes == 4 * (2 * 16 * (3 + 4) + 2 * 16 * (8 + 4) + 4 * 32));
  CHECK((weights.places[0].matrix == 0 && weights.places[1].matrix == 4 * 12 && weights.places[4].matrix == 4 * 48 && weights.places[8].matrix == 4 * (48 + 64)));
  CHECK((weights.places[0].bias == 4 * (2 * 112 + 2 * 192) && weights.places[4].bias == weights.places[0].bias + 64));
  RecurrentCall single = recurrentCall(Pass::weights);
  single.what.biases = Biases::recurrent;
  CHECK((ask(single).places[0].bias == kNoPlace && ask(single).places[4].bias != kNoPlace));

  RecurrentCall sizes = recurrentCall(Pass::sizes);
  CHECK(ask(sizes).head.reserveBytes == 0);
  sizes.what.training = 1;
  CHECK(ask(sizes).head.reserveBytes == 4 * 2 * (5 * 4) * 4 * 2 * (1 + 4 + 1) + 64);
}

TEST_CASE("recurrent networks that the CPU device does not serve", "[dnn]") {
  RecurrentCall projected = recurrentCall(Pass::weights);
  projected.what.projection = 2;
  CHECK(ask(projected).head.status == kNotSupported);
  CHECK(std::string(ask(projected).head.why) == "cuDNN on the CPU device: a recurrent network (LSTM): a projection is not served");
  RecurrentCall dropped = recurrentCall(Pass::sizes);
  dropped.what.dropout = 0.5f;
  CHECK(ask(dropped).head.status == 0);
  dropped.what.training = 1;
  CHECK(std::string(ask(dropped).head.why) == "cuDNN on the CPU device: a recurrent network (LSTM): dropout between layers is not served");
  // Programs make dropout's states also where nothing is dropped.
  CHECK((ask(recurrentCall(Pass::stateSize)).head.status == 0 && ask(recurrentCall(Pass::stateSize)).head.bytes > 0));
  RecurrentCall nothing = recurrentCall(Pass::dropoutStates);
  nothing.what.dropout = 0;
  CHECK(refusalOf(nothing) == "none");
  CHECK(refusalOf(recurrentCall(Pass::dropoutStates)) == "cuDNN on the CPU device: dropout's states: dropout, whose random numbers are NVIDIA's, is not served");
  RecurrentCall clipped = recurrentCall(Pass::forward);
  clipped.what.clips = 1;
  CHECK(refusalOf(clipped) == "cuDNN on the CPU device: a recurrent network (LSTM): clipping is not served");
  RecurrentCall small = recurrentCall(Pass::forward);
  small.what.weightsBytes = 2940;
  CHECK(refusalOf(small) == "cuDNN on the CPU device: a recurrent network (LSTM): weights of 2940 bytes; it needs 2944");
  RecurrentCall tight = recurrentCall(Pass::backwardData);
  tight.what.reserveBytes = 100;
  CHECK(refusalOf(tight) == "cuDNN on the CPU device: a recurrent network (LSTM): a reserve of 100 bytes; it needs 7744");
  RecurrentCall large = recurrentCall(Pass::forward);
  large.what.steps = 1 << 26;
  large.lengths.assign(4, 1 << 26);
  CHECK(refusalOf(large).find("bytes of working memory for as long as it runs; at most 4294967296") != std::string::npos);
}

TEST_CASE("a recurrent network gives the same whoever does what, and sequences without steps keep their states", "[dnn]") {
  constexpr std::uint64_t kReserve = 0x5000'0000;
  for (const Cell cell : {Cell::relu, Cell::tanh, Cell::lstm, Cell::gru}) {
    for (const SequenceLayout layout : {SequenceLayout::stepsPadded, SequenceLayout::stepsPacked, SequenceLayout::batchPadded}) {
      INFO("cell " << int(cell) << ", layout " << int(layout));
      const bool packed = layout == SequenceLayout::stepsPacked;
      const std::size_t empty = packed ? 3 : 1;  // the sequence without steps
      std::vector<std::map<std::uint64_t, std::vector<float>>> results;
      RecurrentCall forward = recurrentCall(Pass::forward), data = recurrentCall(Pass::backwardData), weights = recurrentCall(Pass::backwardWeights);
      forward.what.training = 1;
      for (RecurrentCall* each : {&forward, &data, &weights}) {
        Recurrent& what = each->what;
        each->lengths = packed ? std::vector<std::int32_t>{5, 3, 1, 0} : std::vector<std::int32_t>{3, 0, 5, 1};
        what.cell = cell;
        what.layout = layout;
        what.reserve = kReserve;
        what.reserveBytes = ask([&] {
                              RecurrentCall sizes{what, {}};
                              sizes.what.pass = Pass::sizes;
                              return sizes;
                            }()).head.reserveBytes;
        what.weightsBytes = ask([&] {
                              RecurrentCall size{what, {}};
                              size.what.pass = Pass::weights;
                              return size;
                            }()).head.bytes;
        if (cell != Cell::lstm) what.cx = what.cy = what.dcx = what.dcy = 0;
      }
      // Apart from the other passes' memory.
      data.what.weights = forward.what.weights;
      data.what.dhy += 0x100'0000, data.what.dhx += 0x100'0000, data.what.dx += 0x100'0000, data.what.dy += 0x100'0000;
      if (cell == Cell::lstm) data.what.dcy += 0x100'0000, data.what.dcx += 0x100'0000;
      forward.what.hy += 0x200'0000;
      weights.what.x = forward.what.x;
      weights.what.dweights += 0x300'0000;
      for (const bool backwards : {false, true}) {
        std::map<std::uint64_t, std::vector<float>> kept;
        for (RecurrentCall each : {forward, data, weights}) {
          CallMemory memory(each, kept);
          runAll(each, backwards);
        }
        results.push_back(std::move(kept));
      }
      // The reserve's first bytes, before it is aligned, are whatever they were.
      for (const auto& [address, memory] : results[0]) CHECK((address == kReserve || memory == results[1][address]));
      auto& kept = results[0];
      for (std::size_t pseudo = 0; pseudo < 4; ++pseudo) {
        for (std::size_t j = 0; j < 4; ++j) {
          const std::size_t at = (pseudo * 4 + empty) * 4 + j;
          CHECK(kept[forward.what.hy][at] == kept[forward.what.hx][at]);
          CHECK(kept[data.what.dhx][at] == kept[data.what.dhy][at]);
        }
      }
      // Behind the ends of sequences: 0.
      const std::vector<float>& y = kept[forward.what.y];
      CHECK(y.size() == (packed ? 9u : 20u) * 8);
      for (std::size_t step = 0; step < 5 && !packed; ++step) {
        for (std::size_t j = 0; j < 8; ++j) CHECK(y[(layout == SequenceLayout::stepsPadded ? step * 4 + empty : empty * 5 + step) * 8 + j] == 0);
      }
    }
  }
}

}  // namespace rouse::dnn
