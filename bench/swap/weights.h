// Contents of a network's parameters and what its inference must give, without a device. A layer turns x into
//
//   sum over its words w[i], for i = phase, phase + stride, phase + 2 stride, …:   w[i] * (x + i)        modulo 2^64
//
// (the bias follows the weight, numbered on from it, but begins with `phase` again), and its result is the next layer's x. So an
// answer depends on each word read, on its place and on all layers before; stride 1 reads every word, stride 1024 one of each
// page. Other phases read other words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/swap/networks.h"

namespace rouse::bench {

using Word = std::uint64_t;

constexpr std::uint32_t kMostStride = 1024;  // a power of two, as all strides are

// The parameters of tensor number `tensor` (weights and biases counted in order).
void fillTensor(std::uint64_t seed, std::uint64_t tensor, std::span<std::uint32_t> words);

class Reference {
 public:
  // To be called for each layer in order, with what is uploaded. `bias` may be empty.
  void add(std::span<const std::uint32_t> weight, std::span<const std::uint32_t> bias);

  // x behind each layer. stride: a power of two up to kMostStride; phase below it.
  std::vector<Word> infer(Word x, std::uint32_t stride, std::uint32_t phase) const;

 private:
  struct Sums {
    Word words = 0, weighted = 0;  // of w[i], of w[i] * i
  };
  std::vector<std::vector<Sums>> layers_;  // by layer, by i modulo kMostStride
};

}  // namespace rouse::bench
