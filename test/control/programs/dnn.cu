// Uses cuDNN: one function that the pool serves, and one that it does not.
#include <cudnn.h>

int main() {
  cudnnHandle_t handle;
  void* memory = nullptr;
  cudaMalloc(&memory, 1024);
  cudnnCreate(&handle);
  cudnnCTCLossDescriptor_t loss;
  cudnnCreateCTCLossDescriptor(&loss);
  return cudnnDestroy(handle);
}
