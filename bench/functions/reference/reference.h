// The same networks once more, in plain loops over doubles: what the programs' answers are compared with. No CUDA, no library, no code of the
// programs; common are the list of tensors, their numbers and the form of the answer.
#pragma once

#include <string>
#include <vector>

#include "bench/functions/message.h"
#include "bench/functions/options.h"
#include "bench/functions/weights.h"

namespace networks::reference {

using Numbers = std::vector<double>;

// Reads tensors by name; rounded to 16 bits where the network's weights are.
class Source {
 public:
  Source(const std::vector<TensorSpec>& specs, const Options& options) : specs_(specs), weights_(options.weights, options.seed), half_(options.half) {}
  // `exact`: not rounded in any case.
  Numbers operator()(const std::string& name, bool exact = false) const {
    for (const TensorSpec& spec : specs_) {
      if (spec.name != name) continue;
      Numbers numbers;
      for (const float one : weights_.read(spec)) numbers.push_back(half_ && !exact ? asHalf(one) : one);
      return numbers;
    }
    throw std::logic_error("no tensor " + name);
  }

 private:
  std::vector<TensorSpec> specs_;
  Weights weights_;
  bool half_;
};

struct Result {
  std::string name;
  std::vector<std::int64_t> shape;
  Numbers numbers;
};

std::vector<Result> bert(const Options&);
std::vector<Result> gpt2(const Options&);
std::vector<Result> resnet(const Options&);
std::vector<Result> unet(const Options&);

}  // namespace networks::reference
