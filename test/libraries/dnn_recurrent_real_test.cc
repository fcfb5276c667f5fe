// Recurrent networks on GPUs: each as the same calls of NVIDIA's library, with all that the program has set.
#include <bit>

#include "test/libraries/dnn_real.h"
#include "test/libraries/dnn_recurrent_calls.h"

namespace rouse::library::cuda {
namespace {

struct RealRecurrent : Real {
  Status go(const dnn::RecurrentCall& call) {
    REQUIRE(dnn::check(call).verdict == dnn::Verdict::runs);
    return libraries.call(*handle, dnn::kLibrary, dnn::kRecurrentFunction, dnn::putTogether(call));
  }
  struct Asked {
    dnn::RecurrentAnswer head;
    dnn::WeightPlace places[64];
  };
  Asked ask(dnn::RecurrentCall call) {
    Asked asked;
    asked.head.status = dnn::kUnanswered;
    call.what.answer = reinterpret_cast<std::uint64_t>(&asked);
    REQUIRE(go(call).ok());
    return asked;
  }
};

void checkNothingIsLeft(const std::vector<Taken>& calls) {
  for (const auto& [made, gone] : {std::pair{"cudnnCreateRNNDescriptor", "cudnnDestroyRNNDescriptor"}, {"cudnnCreateRNNDataDescriptor", "cudnnDestroyRNNDataDescriptor"},
                                   {"cudnnCreateDropoutDescriptor", "cudnnDestroyDropoutDescriptor"}, {"cudnnCreateTensorDescriptor", "cudnnDestroyTensorDescriptor"}})
    CHECK(countOf(calls, made) == countOf(calls, gone));
}

std::uint64_t bitsOf(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

TEST_CASE_METHOD(RealRecurrent, "a recurrent network's pass is the library's, with all settings", "[dnn]") {
  dnn::RecurrentCall call = dnn::recurrentCall(dnn::Pass::forward);
  call.what.algorithm = dnn::RecurrentAlgorithm::persistSmall;
  call.what.biases = dnn::Biases::input;
  call.what.fills = dnn::kFillY;
  call.what.fillY = bitsOf(-3.f);
  call.what.rankH = 5;
  call.what.lengths = 0x90'0000;
  REQUIRE(go(call).ok());
  auto calls = taken();
  const Words dropout = the(calls, "cudnnSetDropoutDescriptor").arguments;
  CHECK((dropout[2] == bitsOf(0) && dropout[3] == 0 && dropout[4] == 0));
  const Words network = the(calls, "cudnnSetRNNDescriptor_v8").arguments;
  CHECK(Words(network.begin() + 1, network.end()) ==
        Words{CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, CUDNN_LSTM, CUDNN_RNN_SINGLE_INP_BIAS, CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
              CUDNN_FMA_MATH, 3, 4, 4, 2, dropout[0], CUDNN_RNN_PADDED_IO_ENABLED});
  CHECK(countOf(calls, "cudnnRNNSetClip_v9") + countOf(calls, "cudnnRNNSetClip_v8") == 0);
  const Words run = the(calls, "cudnnRNNForward").arguments;
  const dnn::Recurrent& what = call.what;
  CHECK((run[1] == network[0] && run[2] == CUDNN_FWD_MODE_INFERENCE && run[3] == 0x90'0000 && run[5] == what.x && run[7] == what.y));
  CHECK((run[9] == what.hx && run[10] == what.hy && run[12] == what.cx && run[13] == what.cy && run[14] == 4096 && run[15] == what.weights));
  CHECK((run[16] == 128 && run[17] == what.workspace && run[18] == 0 && run[19] == 0));
  for (const Taken& each : calls) {
    const Words& a = each.arguments;
    if (each.name == "cudnnSetRNNDataDescriptor" && a[0] == run[4]) CHECK(Words(a.begin() + 1, a.end()) == Words{CUDNN_DATA_FLOAT, 0, 5, 4, 3, 5, 2, 2, 1, 0});
    if (each.name == "cudnnSetRNNDataDescriptor" && a[0] == run[6]) CHECK(Words(a.begin() + 1, a.end()) == Words{CUDNN_DATA_FLOAT, 0, 5, 4, 8, 5, 2, 2, 1, bitsOf(-3.f)});
    if (each.name == "cudnnSetTensorNdDescriptor" && a[0] == run[8]) CHECK(Words(a.begin() + 1, a.end()) == Words{CUDNN_DATA_FLOAT, 4, 4, 4, 1, 1, 16, 4, 1, 1, 1});
    if (each.name == "cudnnSetTensorNdDescriptor" && a[0] == run[11]) CHECK(Words(a.begin() + 1, a.end()) == Words{CUDNN_DATA_FLOAT, 4, 4, 4, 16, 4, 1});
  }
  checkNothingIsLeft(calls);

  // Training with dropout: its states go on where they are; a projection, and clipping as either function sets it.
  call = dnn::recurrentCall(dnn::Pass::backwardData);
  call.what.dropout = 0.25f;
  call.what.states = 0x60'0000;
  call.what.statesBytes = 777;
  call.what.seed = 5;
  call.what.projection = 2;
  call.what.clips = 1;
  call.what.lowerClip = -2;
  call.what.upperClip = 3;
  REQUIRE(go(call).ok());
  calls = taken();
  const Words restored = the(calls, "cudnnRestoreDropoutDescriptor").arguments;
  CHECK(Words(restored.begin() + 2, restored.end()) == Words{bitsOf(0.25f), 0x60'0000, 777, 5});
  CHECK(countOf(calls, "cudnnSetDropoutDescriptor") == 0);
  CHECK(the(calls, "cudnnSetRNNDescriptor_v8").arguments[11] == 2);
  CHECK(the(calls, "cudnnRNNSetClip_v9").arguments[2] == std::bit_cast<std::uint64_t>(-2.0));
  const Words back = the(calls, "cudnnRNNBackwardData_v8").arguments;
  CHECK((back[4] == call.what.y && back[5] == call.what.dy && back[7] == call.what.dx && back[10] == call.what.dhy && back[11] == call.what.dhx));
  CHECK((back[14] == call.what.dcy && back[15] == call.what.dcx && back[20] == 32768 && back[21] == call.what.reserve));
  checkNothingIsLeft(calls);
  call.what.clipNan = 2;
  REQUIRE(go(call).ok());
  CHECK(the(taken(), "cudnnRNNSetClip_v8").arguments[2] == CUDNN_PROPAGATE_NAN);

  call = dnn::recurrentCall(dnn::Pass::backwardWeights);
  REQUIRE(go(call).ok());
  calls = taken();
  const Words weights = the(calls, "cudnnRNNBackwardWeights_v8").arguments;
  CHECK((weights[2] == CUDNN_WGRAD_MODE_ADD && weights[5] == call.what.x && weights[7] == call.what.hx && weights[9] == call.what.y && weights[11] == call.what.dweights));
  checkNothingIsLeft(calls);
}

TEST_CASE_METHOD(RealRecurrent, "what only the library knows is answered as it says it", "[dnn]") {
  const Asked weights = ask(dnn::recurrentCall(dnn::Pass::weights));
  CHECK((weights.head.status == CUDNN_STATUS_SUCCESS && weights.head.bytes == 123456 && weights.head.places == 32));
  CHECK((weights.places[0].matrix == 0 && weights.places[0].bias == 4 && weights.places[1].bias == dnn::kNoPlace));
  CHECK(weights.places[8 * 3 + 7].matrix == 37'000);
  checkNothingIsLeft(taken());
  dnn::RecurrentCall sizes = dnn::recurrentCall(dnn::Pass::sizes);
  CHECK((ask(sizes).head.bytes == 4096 && ask(sizes).head.reserveBytes == 0));
  taken();
  sizes.what.training = 1;
  CHECK(ask(sizes).head.reserveBytes == 8192);
  const auto calls = taken();
  const Words longest = the(calls, "cudnnSetRNNDataDescriptor").arguments;
  CHECK(Words(longest.begin() + 6, longest.end()) == Words{5, 5, 5, 5, 0});
  checkNothingIsLeft(calls);
  CHECK(ask(dnn::recurrentCall(dnn::Pass::stateSize)).head.bytes == 777);
  REQUIRE(go(dnn::recurrentCall(dnn::Pass::dropoutStates)).ok());
  const Words states = the(taken(), "cudnnSetDropoutDescriptor").arguments;
  CHECK(Words(states.begin() + 2, states.end()) == Words{bitsOf(0.5f), 0x60'0000, 4096, 0});
}

TEST_CASE_METHOD(RealRecurrent, "what the library refuses is named, with what it says last", "[dnn]") {
  refuse(ROUSE_CUDNN_DOUBLE, "cudnnSetRNNDescriptor_v8", CUDNN_STATUS_NOT_SUPPORTED);
  const Asked asked = ask(dnn::recurrentCall(dnn::Pass::weights));
  CHECK(asked.head.status == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(std::string(asked.head.why) == "cudnnSetRNNDescriptor_v8: CUDNN_STATUS_OF_THE_DOUBLE: why the double refuses");
  checkNothingIsLeft(taken());
  refuse(ROUSE_CUDNN_DOUBLE, "cudnnRNNForward", CUDNN_STATUS_NOT_SUPPORTED);
  const Status status = go(dnn::recurrentCall(dnn::Pass::forward));
  REQUIRE(!status.ok());
  CHECK(status.error().code == CudaError::notSupported);
  CHECK(status.error().message ==
        "cuDNN: a recurrent network (LSTM) of 2 layers, 3 to 4, 4 sequences of 5, algorithm 0: cudnnRNNForward: CUDNN_STATUS_OF_THE_DOUBLE: why the double refuses");
  checkNothingIsLeft(taken());
  refuse(ROUSE_CUDNN_DOUBLE, "", 0);
  REQUIRE(go(dnn::recurrentCall(dnn::Pass::forward)).ok());
  taken();
}

}  // namespace rouse::library::cuda
