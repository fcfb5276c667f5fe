// Numbers of the tensors: from a seed, or from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/functions/safetensors.h"
#include "bench/functions/shapes.h"

namespace networks {

// The same for the same seed, name and count, whatever else is asked for.
std::vector<float> seededNumbers(const TensorSpec&, std::uint64_t seed);
// Whole numbers from 0 to limit - 1: tokens.
std::vector<int> seededTokens(const std::string& name, std::uint64_t seed, int count, int limit);

// As a 16-bit floating-point number holds it (IEEE 754 binary16, ties to even), back as a float; beyond its range: infinite.
float asHalf(float);

class Weights {
 public:
  // `file`: in the format of safetensors; empty: seeded. Throws std::runtime_error, naming the file.
  Weights(const std::string& file, std::uint64_t seed);
  // Throws std::runtime_error, naming file and tensor, unless the file has it in this shape. Names with "bert.", "transformer."
  // or "model." in front are found, too.
  std::vector<float> read(const TensorSpec&) const;

 private:
  std::unique_ptr<SafeTensors> file_;
  std::uint64_t seed_;
};

}  // namespace networks
