// A network on a GPU of the pool, as any CUDA program would have it: an allocation for each tensor, a launch for each layer, one
// stream. Checks each answer.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/swap/networks.h"
#include "bench/swap/weights.h"

namespace rouse::bench {

// Kernels that do nothing, but name each of these: they run when all of it has arrived.
class Naming {
 public:
  Naming();
  // Until they have run. Seconds.
  double run(const std::vector<const void*>& all) const;

 private:
  const void* kernel_;
};

class Model {
 public:
  struct Answer {
    double seconds = 0;  // from the first call until the output is here
    std::string wrong;   // empty: each layer's output is right
    // CLOCK_MONOTONIC, where asked for: the first call; the last launch queued; the output here.
    double began = 0, queued = 0, ended = 0;
    std::vector<std::uint64_t> times;  // of each layer: when its first thread began and its last ended, nanoseconds of the device
  };

  // Attaches, uploads. Device memory ends with the process.
  Model(const Network& network, std::uint64_t seed, int gpu);

  // Attach, and all uploads with their allocations; contents are made in between and not counted.
  double attachSeconds() const { return attachSeconds_; }
  double loadSeconds() const { return loadSeconds_; }

  Answer infer(std::uint64_t request, Effort effort, bool traced);
  // The same by a program that helps itself, as in the Torpor paper's baseline: its tensors are in pageable memory of its own, each gets
  // cudaMalloc and one cudaMemcpy, then the inference, and all are freed (which is not timed). From the first such call on, no
  // tensor is on the device between calls: infer() and touch() are over.
  Answer inferNaively(std::uint64_t request, Effort effort);
  // The same by a program that pipelines: its tensors are in pinned memory of its own, and each goes by one copy to the place on the
  // device that it has for good, behind the one before; a layer waits for its own.
  Answer inferPipelined(std::uint64_t request, Effort effort);
  // Flips one bit of the first tensor on the device, behind everybody's back: for the test that a wrong byte is noticed.
  void spoil();
  // Names each tensor. Seconds.
  double touch();

 private:
  struct Tensors {
    const std::uint32_t* weight = nullptr;
    std::uint64_t weights = 0;
    const std::uint32_t* bias = nullptr;
    std::uint64_t biases = 0;
  };
  const std::uint32_t* upload(const std::vector<std::uint32_t>& words);
  // visit(tensor, words) for each pointer to a tensor on the device.
  template <class Visit>
  void forEachTensor(Visit&& visit);
  void launchLayer(std::size_t layer, Effort effort, std::uint32_t phase, bool traced);

  // `arriving`: what a layer has to wait for, by layer; empty: nothing.
  Answer inferBehind(std::uint64_t request, Effort effort, bool traced, const std::vector<cudaEvent_t>& arriving);

  std::vector<Tensors> layers_;
  std::vector<std::vector<std::uint32_t>> pageable_;  // by tensor, where it is naive
  std::vector<std::uint32_t*> pinned_;                // by tensor, where it pipelines
  std::vector<cudaEvent_t> arrived_;                  // by layer
  cudaStream_t copies_ = nullptr;
  Reference reference_;
  Word* activations_ = nullptr;  // of layer i at i + 1; the input at 0; then two times for each layer
  const void* layerKernel_ = nullptr;
  std::optional<Naming> naming_;
  double attachSeconds_ = 0, loadSeconds_ = 0;
};

}  // namespace rouse::bench
