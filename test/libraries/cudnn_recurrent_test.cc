// Recurrent networks as a program calls them, before executors that answer nothing: what travels, what is refused at the call, and that only questions wait.
#include <cstring>

#include "schemas/dnn/recurrent.h"
#include "test/libraries/cudnn_fixture.h"

using namespace rouse;
using namespace rouse::test;

namespace {

// An LSTM of two layers and both directions, 3 to 4; two sequences of at most 5.
struct RecurrentCalls : Cudnn {
  RecurrentCalls() {
    REQUIRE(cudnnCreateDropoutDescriptor(&dropout) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 0) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateRNNDescriptor(&network) == CUDNN_STATUS_SUCCESS);
    REQUIRE(set(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, CUDNN_LSTM) == CUDNN_STATUS_SUCCESS);
    for (auto* each : {&x, &y}) REQUIRE(cudnnCreateRNNDataDescriptor(each) == CUDNN_STATUS_SUCCESS);
    REQUIRE(sequences(x, 3, nullptr) == CUDNN_STATUS_SUCCESS);
    REQUIRE(sequences(y, 8, &fill) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateTensorDescriptor(&state) == CUDNN_STATUS_SUCCESS);
    const int dims[] = {4, 2, 4}, strides[] = {8, 4, 1};
    REQUIRE(cudnnSetTensorNdDescriptor(state, CUDNN_DATA_FLOAT, 3, dims, strides) == CUDNN_STATUS_SUCCESS);
  }
  ~RecurrentCalls() {
    CHECK(cudnnDestroyDropoutDescriptor(dropout) == CUDNN_STATUS_SUCCESS);
    CHECK(cudnnDestroyRNNDescriptor(network) == CUDNN_STATUS_SUCCESS);
    for (auto each : {x, y}) CHECK(cudnnDestroyRNNDataDescriptor(each) == CUDNN_STATUS_SUCCESS);
    CHECK(cudnnDestroyTensorDescriptor(state) == CUDNN_STATUS_SUCCESS);
  }
  cudnnStatus_t set(cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell, cudnnRNNInputMode_t input = CUDNN_LINEAR_INPUT, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return cudnnSetRNNDescriptor_v8(network, algorithm, cell, CUDNN_RNN_DOUBLE_BIAS, CUDNN_BIDIRECTIONAL, input, type, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, 3, 4, 4, 2, dropout,
                                    CUDNN_RNN_PADDED_IO_ENABLED);
  }
  cudnnStatus_t sequences(cudnnRNNDataDescriptor_t desc, int vector, float* filling) {
    const int lengths[] = {5, 2};
    return cudnnSetRNNDataDescriptor(desc, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 5, 2, vector, lengths, filling);
  }
  cudnnStatus_t forward(cudnnForwardMode_t mode = CUDNN_FWD_MODE_INFERENCE) {
    return cudnnRNNForward(handle, network, mode, nullptr, x, memory, y, memory + 1024, state, memory + 2048, memory + 3072, state, nullptr, memory + 4096, 8192, memory + 8192,
                           64, memory + 16384, mode == CUDNN_FWD_MODE_TRAINING ? 4096 : 0, mode == CUDNN_FWD_MODE_TRAINING ? memory + 32768 : nullptr);
  }
  dnn::RecurrentCall lastRecurrent() {
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    dnn::RecurrentCall call;
    REQUIRE(dnn::takeApart(poolOfThisProcess().executor(0).lastLibraryCall(), call));
    return call;
  }
  cudnnDropoutDescriptor_t dropout = nullptr;
  cudnnRNNDescriptor_t network = nullptr;
  cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
  cudnnTensorDescriptor_t state = nullptr;
  float fill = -3;
};

}  // namespace

TEST_CASE_METHOD(RecurrentCalls, "a recurrent network's pass: one command with all that is set, no round trip", "[libraries][cudnn]") {
  const auto before = calls(), signals = count(wire::Opcode::SlotSignal);
  for (int i = 0; i < 20; ++i) REQUIRE(forward() == CUDNN_STATUS_SUCCESS);
  CHECK(count(wire::Opcode::SlotSignal) == signals);
  CHECK(calls() == before + 20);
  const dnn::RecurrentCall call = lastRecurrent();
  const dnn::Recurrent& what = call.what;
  CHECK(dnn::check(call).verdict == dnn::Verdict::runs);
  CHECK((what.pass == dnn::Pass::forward && what.cell == dnn::Cell::lstm && what.algorithm == dnn::RecurrentAlgorithm::persistSmall && what.bidirectional == 1));
  CHECK((what.biases == dnn::Biases::both && what.math == dnn::MathType::fma && what.auxiliary == 1 && what.inputs == 3 && what.hidden == 4 && what.layers == 2));
  CHECK((what.projection == 0 && what.training == 0 && what.steps == 5 && what.batch == 2 && call.lengths == std::vector<std::int32_t>{5, 2}));
  CHECK((what.fills == dnn::kFillY && static_cast<std::uint32_t>(what.fillY) == 0xc040'0000 && what.rankH == 3 && what.rankC == 3));
  CHECK((what.x == at(0) && what.y == at(1024) && what.hx == at(2048) && what.hy == at(3072) && what.cx == 0 && what.cy == at(4096)));
  CHECK((what.weights == at(8192) && what.weightsBytes == 8192 && what.workspace == at(16384) && what.workspaceBytes == 64 && what.reserveBytes == 0));

  // Gradients.
  REQUIRE(forward(CUDNN_FWD_MODE_TRAINING) == CUDNN_STATUS_SUCCESS);
  CHECK((lastRecurrent().what.training == 1 && lastRecurrent().what.reserve == at(32768)));
  REQUIRE(cudnnRNNBackwardData_v8(handle, network, nullptr, y, memory + 1024, memory + 1200, x, memory + 1400, state, nullptr, memory + 2048, memory + 3072, state, nullptr,
                                  memory + 4096, memory + 5000, 8192, memory + 8192, 64, memory + 16384, 4096, memory + 32768) == CUDNN_STATUS_SUCCESS);
  CHECK((lastRecurrent().what.dy == at(1200) && lastRecurrent().what.dx == at(1400) && lastRecurrent().what.dhy == at(2048) && lastRecurrent().what.dcx == at(5000)));
  const auto weights = [&](cudnnWgradMode_t mode) {
    return cudnnRNNBackwardWeights_v8(handle, network, mode, nullptr, x, memory, state, memory + 2048, y, memory + 1024, 8192, memory + 8192, 64, memory + 16384, 4096,
                                      memory + 32768);
  };
  REQUIRE(weights(CUDNN_WGRAD_MODE_ADD) == CUDNN_STATUS_SUCCESS);
  CHECK((lastRecurrent().what.dweights == at(8192) && lastRecurrent().what.x == at(0)));
  CHECK(weights(CUDNN_WGRAD_MODE_SET) == CUDNN_STATUS_NOT_SUPPORTED);

  // A descriptor of dropout that is gone is as it was when the network was set; one that is set anew is as it is.
  REQUIRE(cudnnRestoreDropoutDescriptor(dropout, handle, 0.5f, memory, 256, 9) == CUDNN_STATUS_SUCCESS);
  REQUIRE(forward() == CUDNN_STATUS_SUCCESS);
  CHECK((lastRecurrent().what.dropout == 0.5f && lastRecurrent().what.states == at(0) && lastRecurrent().what.statesBytes == 256 && lastRecurrent().what.seed == 9));
  REQUIRE(cudnnSetDropoutDescriptor(dropout, handle, 0.5f, memory, 256, 9) == CUDNN_STATUS_SUCCESS);
  CHECK(lastRecurrent().what.pass == dnn::Pass::dropoutStates);
  REQUIRE(cudnnDestroyDropoutDescriptor(dropout) == CUDNN_STATUS_SUCCESS);
  REQUIRE(forward() == CUDNN_STATUS_SUCCESS);
  CHECK(lastRecurrent().what.dropout == 0);
  REQUIRE(cudnnCreateDropoutDescriptor(&dropout) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(RecurrentCalls, "recurrent networks that are wrong are refused at the call", "[libraries][cudnn]") {
  const auto before = calls();
  const auto bad = [](cudnnStatus_t status) { return CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_BAD_PARAM; };
  CHECK(bad(set(CUDNN_RNN_ALGO_COUNT, CUDNN_GRU)));
  const auto refusedBefore = unsupportedCalls("cudnnSetRNNDescriptor_v8");
  CHECK(set(CUDNN_RNN_ALGO_PERSIST_DYNAMIC, CUDNN_GRU) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(set(CUDNN_RNN_ALGO_STANDARD, CUDNN_GRU, CUDNN_SKIP_INPUT) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(set(CUDNN_RNN_ALGO_STANDARD, CUDNN_GRU, CUDNN_LINEAR_INPUT, CUDNN_DATA_INT8) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(unsupportedCalls("cudnnSetRNNDescriptor_v8") == refusedBefore + 3);
  // What has been refused has changed nothing.
  CHECK(forward() == CUDNN_STATUS_SUCCESS);
  CHECK(bad(cudnnRNNForward(handle, network, CUDNN_FWD_MODE_INFERENCE, nullptr, x, memory, x, memory, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 8192, memory, 0,
                            nullptr, 0, nullptr)));
  CHECK(bad(forward(cudnnForwardMode_t(2))));
  REQUIRE(sequences(y, 8, nullptr) == CUDNN_STATUS_SUCCESS);
  const int others[] = {4, 2};
  REQUIRE(cudnnSetRNNDataDescriptor(y, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 5, 2, 8, others, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(bad(forward()));
  REQUIRE(sequences(y, 8, nullptr) == CUDNN_STATUS_SUCCESS);
  const int dims[] = {4, 2, 3}, strides[] = {6, 3, 1};
  REQUIRE(cudnnSetTensorNdDescriptor(state, CUDNN_DATA_FLOAT, 3, dims, strides) == CUDNN_STATUS_SUCCESS);
  CHECK(bad(forward()));
  char why[256] = "";
  cudnnGetLastErrorString(why, sizeof why);
  CHECK(std::string(why) == "cudnnRNNForward: states that are not packed, layers, batch and vector");
  CHECK(bad(cudnnDestroyRNNDescriptor(reinterpret_cast<cudnnRNNDescriptor_t>(x))));
  CHECK(calls() == before + 1);
}

TEST_CASE_METHOD(RecurrentCalls, "questions wait for the executor, whose silence is no answer", "[libraries][cudnn]") {
  const auto before = calls();
  std::size_t bytes = 99, work = 99;
  CHECK(cudnnGetRNNWeightSpaceSize(handle, network, &bytes) == CUDNN_STATUS_EXECUTION_FAILED);
  CHECK(bytes == 99);
  CHECK((lastRecurrent().what.pass == dnn::Pass::weights && lastRecurrent().what.answer != 0 && lastRecurrent().what.dropout == 0));
  CHECK(cudnnGetRNNTempSpaceSizes(handle, network, CUDNN_FWD_MODE_TRAINING, x, &work, nullptr) == CUDNN_STATUS_EXECUTION_FAILED);
  CHECK((lastRecurrent().what.pass == dnn::Pass::sizes && lastRecurrent().what.training == 1 && lastRecurrent().what.steps == 5 && lastRecurrent().what.batch == 2));
  CHECK(cudnnDropoutGetStatesSize(handle, &bytes) == CUDNN_STATUS_EXECUTION_FAILED);
  CHECK(lastRecurrent().what.pass == dnn::Pass::stateSize);
  void* at = nullptr;
  CHECK(cudnnGetRNNWeightParams(handle, network, 0, 8192, memory, 0, nullptr, &at, nullptr, nullptr) == CUDNN_STATUS_EXECUTION_FAILED);
  CHECK(CUDNN_STATUS_CATEGORY(cudnnGetRNNWeightParams(handle, network, 0, 8192, memory, 8, nullptr, &at, nullptr, nullptr)) == CUDNN_STATUS_BAD_PARAM);
  CHECK(calls() == before + 4);
}
