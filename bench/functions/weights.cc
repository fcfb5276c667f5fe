#include "bench/functions/weights.h"

#include <cmath>
#include <stdexcept>

namespace networks {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// FNV-1a of the name, and the seed.
std::uint64_t start(const std::string& name, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return mix(hash ^ mix(seed));
}

}  // namespace

std::vector<float> seededNumbers(const TensorSpec& spec, std::uint64_t seed) {
  const std::uint64_t from = start(spec.name, seed);
  std::vector<float> numbers(static_cast<std::size_t>(spec.count()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    // 24 bits: -1 to 1 without rounding.
    const float unit = static_cast<float>(static_cast<std::int32_t>(mix(from + i) >> 40) - (1 << 23)) * (1.0f / (1 << 23));
    const float product = spec.spread * unit;
    numbers[i] = spec.center + product;
  }
  return numbers;
}

std::vector<int> seededTokens(const std::string& name, std::uint64_t seed, int count, int limit) {
  const std::uint64_t from = start(name, seed);
  std::vector<int> tokens(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int>(mix(from + i) % static_cast<std::uint64_t>(limit));
  return tokens;
}

float asHalf(float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  // 11 bits of significand; below 2^-14 ever fewer.
  const int unit = std::max(exponent, -13) - 11;
  const float rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(rounded) > 65504 ? std::copysign(HUGE_VALF, value) : rounded;
}

Weights::Weights(const std::string& file, std::uint64_t seed) : file_(file.empty() ? nullptr : std::make_unique<SafeTensors>(file)), seed_(seed) {}

std::vector<float> Weights::read(const TensorSpec& spec) const {
  if (file_ == nullptr) return seededNumbers(spec, seed_);
  for (const char* prefix : {"", "bert.", "transformer.", "model."})
    if (file_->has(prefix + spec.name)) return file_->read(prefix + spec.name, spec.shape);
  throw std::runtime_error(file_->path() + ": there is no tensor " + spec.name);
}

}  // namespace networks
