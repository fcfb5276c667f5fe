// The half of the remoting benchmark that runs as a program of the pool. Each measurement prints one JSON object.
#pragma once

#include <cuda_runtime_api.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

std::vector<std::string> clientMeasurements();
int runMeasurement(const std::string& what);

// Throws with the call's text and CUDA's message.
void check(cudaError_t error, const char* what);

// A kernel that does nothing, with a pointer and a count as parameters: the shape of a typical launch.
class EmptyKernel {
 public:
  EmptyKernel();
  ~EmptyKernel();
  EmptyKernel(const EmptyKernel&) = delete;
  EmptyKernel& operator=(const EmptyKernel&) = delete;

  void launch(cudaStream_t stream = nullptr) const {
    void* arguments[] = {const_cast<void**>(&pointer_), const_cast<unsigned*>(&count_)};
    check(cudaLaunchKernel(kernel_, dim3(1), dim3(32), arguments, 0, stream), "cudaLaunchKernel");
  }

 private:
  cudaLibrary_t library_ = nullptr;
  const void* kernel_ = nullptr;
  void* pointer_ = nullptr;
  unsigned count_ = 0;
};

nlohmann::json measureEnqueue();
nlohmann::json measureLaunchRate();
nlohmann::json measureRoundTrips();
nlohmann::json measureCopies();
nlohmann::json measureFirstCall();
nlohmann::json waitIdle();

}  // namespace rouse::bench
