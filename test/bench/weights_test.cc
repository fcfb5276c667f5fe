#include "bench/swap/weights.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace rouse::bench {
namespace {

// The definition, word by word.
Word layerOf(const std::vector<std::uint32_t>& weight, const std::vector<std::uint32_t>& bias, Word x, Effort effort, std::uint32_t phase) {
  Word sum = 0;
  for (std::size_t i = phase; i < weight.size(); i += effort.stride) sum += weight[i] * (x + i);
  for (std::size_t i = phase; i < bias.size(); i += effort.stride) sum += bias[i] * (x + weight.size() + i);
  return effort.uses * sum;
}

TEST_CASE("the reference gives what its definition says, for any effort and phase") {
  std::vector<std::vector<std::uint32_t>> tensors;
  Reference reference;
  std::uint64_t number = 0;
  for (const std::size_t words : {5000, 3, 1, 4096}) {
    std::vector<std::uint32_t> weight(words), bias(words % 2 == 0 ? 1500 : 0);
    fillTensor(7, number++, weight);
    fillTensor(7, number++, bias);
    reference.add(weight, bias);
    tensors.push_back(weight);
    tensors.push_back(bias);
  }
  for (std::uint32_t stride = 1; stride <= kMostStride; stride *= 4) {
    for (const std::uint32_t phase : {0u, stride / 2, stride - 1}) {
      const Effort effort{.stride = stride, .uses = phase % 2 == 0 ? 1 : kMostUses - 2 * stride};
      REQUIRE(effort.valid());
      const auto outputs = reference.infer(123456789, effort, phase);
      Word x = 123456789;
      for (std::size_t layer = 0; layer < outputs.size(); ++layer) {
        x = layerOf(tensors[2 * layer], tensors[2 * layer + 1], x, effort, phase);
        CHECK(outputs[layer] == x);
      }
    }
  }
}

TEST_CASE("contents depend on seed and tensor, and no two words of them look like an address") {
  std::vector<std::uint32_t> a(10'000), b(10'000), c(10'000), again(10'000);
  fillTensor(1, 0, a);
  fillTensor(1, 1, b);
  fillTensor(2, 0, c);
  fillTensor(1, 0, again);
  CHECK(a == again);
  CHECK(a != b);
  CHECK(a != c);
  // Addresses are below 2^48.
  CHECK(std::all_of(a.begin(), a.end(), [](std::uint32_t word) { return word >> 16 != 0; }));
}

TEST_CASE("an inference that reads all words notices one bit anywhere") {
  std::vector<std::uint32_t> words(3000);
  fillTensor(1, 0, words);
  Reference right;
  right.add(words, {});
  words[2345] ^= 4;
  Reference wrong;
  wrong.add(words, {});
  CHECK(right.infer(5, {}, 0) != wrong.infer(5, {}, 0));
  // With a stride, the phase that reads it does.
  CHECK(right.infer(5, {.stride = 16, .uses = 3}, 2345 % 16) != wrong.infer(5, {.stride = 16, .uses = 3}, 2345 % 16));
  CHECK(right.infer(5, {.stride = 16, .uses = 3}, 2346 % 16) == wrong.infer(5, {.stride = 16, .uses = 3}, 2346 % 16));
}

}  // namespace
}  // namespace rouse::bench
