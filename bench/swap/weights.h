// Contents of a network's parameters and what its inference must give, without a device. A layer turns x into
//
//   uses * sum over its words w[i], for i = phase, phase + stride, phase + 2 stride, …:   w[i] * (x + i)        modulo 2^64
//
// (the bias follows the weight, numbered on from it, but begins with `phase` again), and its result is the next layer's x. So an
// answer depends on each word read, on its place and on all layers before; stride 1 reads every word, stride 1024 one of each
// page. Other phases read other words. A layer of many uses computes for longer with the same words, as convolutions do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/swap/networks.h"

namespace rouse::bench {

using Word = std::uint64_t;

constexpr std::uint32_t kMostStride = 1024;  // a power of two, as all strides are
constexpr std::uint32_t kMostUses = 65535;

// How much an inference does with a network's words.
struct Effort {
  std::uint32_t stride = 1;  // a power of two up to kMostStride: one word in so many is read
  std::uint32_t uses = 1;    // odd, up to kMostUses, so that no layer takes a bit from its result: so often each of these

  bool valid() const { return stride != 0 && kMostStride % stride == 0 && uses % 2 == 1 && uses <= kMostUses; }
};

// The parameters of tensor number `tensor` (weights and biases counted in order).
void fillTensor(std::uint64_t seed, std::uint64_t tensor, std::span<std::uint32_t> words);

class Reference {
 public:
  // To be called for each layer in order, with what is uploaded. `bias` may be empty.
  void add(std::span<const std::uint32_t> weight, std::span<const std::uint32_t> bias);

  // x behind each layer. phase: below effort.stride.
  std::vector<Word> infer(Word x, Effort effort, std::uint32_t phase) const;

 private:
  struct Sums {
    Word words = 0, weighted = 0;  // of w[i], of w[i] * i
  };
  std::vector<std::vector<Sums>> layers_;  // by layer, by i modulo kMostStride
};

}  // namespace rouse::bench
