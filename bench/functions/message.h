// What is asked and what is answered: Open Inference Protocol v2, tensors as JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace networks {

// The request is at fault: 400.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Request {
  std::map<std::string, std::vector<double>> inputs;  // flat
  std::map<std::string, std::int64_t> parameters;     // whole numbers: seed, where no input is given; others by network
  std::vector<std::string> outputs;                   // names; empty: what the network answers unasked

  // The body of a request. Throws Refused.
  static Request parse(const std::string& body);

  // That input as whole numbers from 0 to limit - 1, from least to most of them. Throws Refused.
  std::vector<int> tokens(const std::string& name, std::size_t least, std::size_t most, int limit) const;
  // That input, of exactly so many numbers. Throws Refused.
  std::vector<float> numbers(const std::string& name, std::size_t count) const;
  // From least to most, `otherwise` where it is not given. Throws Refused.
  std::int64_t parameter(const std::string& name, std::int64_t least, std::int64_t most, std::int64_t otherwise) const;
  bool wants(const std::string& output, bool unasked) const;

  // Nothing else is named than these. Throws Refused.
  using Names = std::initializer_list<const char*>;
  void only(Names inputs, Names parameters, Names outputs) const;
};

struct Output {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> numbers;  // or whole numbers, where `tokens` is not empty
  std::vector<int> tokens;
};

// As the body of an answer: each number in the fewest digits that give the same one again, so equal bodies are equal numbers.
std::string answerOf(const std::string& network, const std::vector<Output>&);
std::string errorOf(const std::string& text);

}  // namespace networks
