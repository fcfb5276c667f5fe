// What the runtime keeps for each thread of the program.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace rouse::client {
class Device;
}

namespace rouse::cudart {

struct CallConfiguration {
  dim3 grid, block;
  std::size_t sharedBytes = 0;
  cudaStream_t stream = nullptr;
};

struct OuterConfiguration {
  CallConfiguration configuration;
  OuterConfiguration* outer = nullptr;
};

// Constant-initialised and without a destructor, so that reaching it needs no guard. Initial-exec: one instruction
// instead of a call on the launch path; small enough for the static TLS that glibc keeps in reserve for libraries
// opened later.
struct ThreadState {
  cudaError_t lastError = cudaSuccess;
  int chosenDevice = 0;              // by cudaSetDevice or at the first use, plus 1; 0: none
  client::Device* device = nullptr;  // whose context is current; null: none is, and the next call that needs one begins with the chosen device's
  const void* context = nullptr;     // the driver's, on that device; null: the device's primary one
  cudaStreamCaptureMode captureMode = cudaStreamCaptureModeGlobal;
  bool inHostFunction = false;  // CUDA forbids calls that reach a device from there
  bool configured = false;      // `configuration` waits for its stub to be called
  CallConfiguration configuration;
  OuterConfiguration* outer = nullptr;  // of <<<>>> whose arguments are still being evaluated, innermost first
};

extern constinit thread_local ThreadState threadState __attribute__((tls_model("initial-exec")));

}  // namespace rouse::cudart
