#include "bench/remoting/client.h"

#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>

namespace rouse::bench {
namespace {

constexpr const char* kEmptyPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry empty(.param .u64 data, .param .u32 count) { ret; }
)";

const std::map<std::string, std::function<nlohmann::json()>>& table() {
  static const std::map<std::string, std::function<nlohmann::json()>> measurements{
      {"enqueue", measureEnqueue},       {"launch-rate", measureLaunchRate}, {"round-trips", measureRoundTrips},
      {"copies", measureCopies},         {"first-call", measureFirstCall},   {"wait-idle", waitIdle},
  };
  return measurements;
}

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

EmptyKernel::EmptyKernel() {
  check(cudaLibraryLoadData(&library_, kEmptyPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library_, "empty"), "cudaLibraryGetKernel");
  kernel_ = kernel;
  launch();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

EmptyKernel::~EmptyKernel() { cudaLibraryUnload(library_); }

std::vector<std::string> clientMeasurements() {
  std::vector<std::string> names;
  for (const auto& [name, measurement] : table()) names.push_back(name);
  return names;
}

int runMeasurement(const std::string& what) {
  std::cout << table().at(what)().dump() << std::endl;
  return 0;
}

}  // namespace rouse::bench
