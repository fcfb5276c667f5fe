#include "bench/swap/weights.h"

namespace rouse::bench {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014).
Word mix(Word x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// A small floating-point number of either sign, as parameters are: two of them never look like an address.
std::uint32_t likeWeight(Word random) { return (static_cast<std::uint32_t>(random) & 0x81ffffffu) | 0x3c000000u; }

}  // namespace

void fillTensor(std::uint64_t seed, std::uint64_t tensor, std::span<std::uint32_t> words) {
  const Word base = mix(mix(seed) ^ tensor);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const Word two = mix(base + i);
    words[i] = likeWeight(two);
    if (i + 1 < words.size()) words[i + 1] = likeWeight(two >> 32);
  }
}

void Reference::add(std::span<const std::uint32_t> weight, std::span<const std::uint32_t> bias) {
  std::vector<Sums>& sums = layers_.emplace_back(kMostStride);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    Sums& sum = sums[i % kMostStride];
    sum.words += weight[i];
    sum.weighted += weight[i] * Word{i};
  }
  for (std::size_t i = 0; i < bias.size(); ++i) {
    Sums& sum = sums[i % kMostStride];
    sum.words += bias[i];
    sum.weighted += bias[i] * Word{weight.size() + i};
  }
}

std::vector<Word> Reference::infer(Word x, Effort effort, std::uint32_t phase) const {
  std::vector<Word> outputs;
  outputs.reserve(layers_.size());
  for (const auto& sums : layers_) {
    Word next = 0;
    for (std::uint32_t i = phase; i < kMostStride; i += effort.stride) next += sums[i].words * x + sums[i].weighted;
    outputs.push_back(x = effort.uses * next);
  }
  return outputs;
}

}  // namespace rouse::bench
