// Asks about a recurrent network through the pool, on a GPU whose driver and cuDNN are doubles: prints PASS where the double's made-up answers come back
// through the executor, the second time from memory.
#include <cuda_runtime.h>
#include <cudnn.h>

#include <cstdio>

namespace {

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  ++failures;
}
#define EXPECT(...) expect((__VA_ARGS__), #__VA_ARGS__)

}  // namespace

int main() {
  cudnnHandle_t handle = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  cudnnRNNDescriptor_t network = nullptr;
  cudnnRNNDataDescriptor_t data = nullptr;
  const int lengths[] = {5, 2};
  // The node's library's.
  int minor = 0;
  EXPECT(cudnnGetVersion() == 91234);
  EXPECT(cudnnGetProperty(MINOR_VERSION, &minor) == CUDNN_STATUS_SUCCESS && minor == 12);
  EXPECT(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnCreateDropoutDescriptor(&dropout) == CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnSetDropoutDescriptor(dropout, handle, 0, nullptr, 0, 0) == CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnCreateRNNDescriptor(&network) == CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnSetRNNDescriptor_v8(network, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                  CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, 3, 4, 4, 2, dropout, CUDNN_RNN_PADDED_IO_ENABLED) == CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnCreateRNNDataDescriptor(&data) == CUDNN_STATUS_SUCCESS);
  EXPECT(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 5, 2, 3, lengths, nullptr) == CUDNN_STATUS_SUCCESS);
  char space[8] = {};
  for (int time = 0; time < 2; ++time) {
    std::size_t bytes = 0, workspace = 0, reserve = 0, states = 0;
    void *matrix = nullptr, *bias = &matrix;
    EXPECT(cudnnGetRNNWeightSpaceSize(handle, network, &bytes) == CUDNN_STATUS_SUCCESS);
    EXPECT(bytes == 123456);
    EXPECT(cudnnGetRNNWeightParams(handle, network, 3, bytes, space, 7, nullptr, &matrix, nullptr, &bias) == CUDNN_STATUS_SUCCESS);
    EXPECT(static_cast<char*>(matrix) - space == 37'000);
    EXPECT(cudnnGetRNNWeightParams(handle, network, 0, bytes, space, 1, nullptr, &matrix, nullptr, &bias) == CUDNN_STATUS_SUCCESS);
    EXPECT(bias == nullptr);
    EXPECT(cudnnGetRNNTempSpaceSizes(handle, network, CUDNN_FWD_MODE_TRAINING, data, &workspace, &reserve) == CUDNN_STATUS_SUCCESS);
    EXPECT(workspace == 4096 && reserve == 8192);
    EXPECT(cudnnDropoutGetStatesSize(handle, &states) == CUDNN_STATUS_SUCCESS);
    EXPECT(states == 777);
  }
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(cudnnDestroy(handle) == CUDNN_STATUS_SUCCESS);
  if (failures == 0) std::printf("PASS\n");
  return failures == 0 ? 0 : 1;
}
