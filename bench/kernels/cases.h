// What `rouse-bench kernels` measures: computations that a program of the pool has done by the device and by itself.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/kernels/reference.h"

namespace rouse::bench {

// The kernels of kernels.cu, loaded once.
class Kernels {
 public:
  Kernels();
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  template <class... Arguments>
  void launch(const char* name, dim3 grid, dim3 block, Arguments... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    launchWith(name, grid, block, pointers);
  }

  // From now on each launch is waited for; times by kernel, in seconds, in the order of its launches.
  void timeEach() { timed_ = true; }
  const std::map<std::string, std::vector<double>>& times() const { return times_; }

 private:
  void launchWith(const char* name, dim3 grid, dim3 block, void** arguments);

  cudaLibrary_t library_ = nullptr;
  std::map<std::string, cudaKernel_t> kernels_;
  bool timed_ = false;
  std::map<std::string, std::vector<double>> times_;
};

// One computation with its data, on the device and here. Both may be run any number of times, with the same result.
class Case {
 public:
  virtual ~Case() = default;
  virtual void onDevice() = 0;  // does not wait for it
  virtual void here(Team&) = 0;
  // Of the two results: the largest difference, by the value itself or, where that is smaller, by the mean of all values; 1 where
  // integers differ.
  virtual double difference() = 0;
};

struct CaseKind {
  const char* name;
  bool barriers;
  std::unique_ptr<Case> (*make)(Kernels&, double scale);  // `scale` 1: a hundredth of a second or more
};

const std::vector<CaseKind>& kernelCases();

}  // namespace rouse::bench
