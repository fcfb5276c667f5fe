#include <algorithm>
#include <cmath>

#include "bench/functions/reference/reference.h"

namespace networks::reference {
namespace {

// All tokens of a text at once, each attending to those before it: nothing is kept from one to the next, as the program does it.

// y (tokens x out) = x (tokens x in) x weight (in x out) + bias
Numbers product(const Numbers& x, std::size_t tokens, const Numbers& weight, const Numbers& bias) {
  const std::size_t out = bias.size(), in = x.size() / tokens;
  Numbers y(tokens * out);
  for (std::size_t t = 0; t < tokens; ++t) {
    std::copy(bias.begin(), bias.end(), y.begin() + static_cast<std::ptrdiff_t>(t * out));
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t o = 0; o < out; ++o) y[t * out + o] += x[t * in + i] * weight[i * out + o];
  }
  return y;
}

Numbers normalized(const Numbers& x, std::size_t width, const Numbers& scale, const Numbers& shift) {
  Numbers y(x.size());
  for (std::size_t row = 0; row < x.size(); row += width) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row + i];
    mean /= static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) squares += std::pow(x[row + i] - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(width) + 1e-5);
    for (std::size_t i = 0; i < width; ++i) y[row + i] = scale[i] * (x[row + i] - mean) / deviation + shift[i];
  }
  return y;
}

// qkv: tokens x 3 width
Numbers causal(const Numbers& qkv, std::size_t tokens, std::size_t width, std::size_t heads) {
  const std::size_t each = width / heads, row = 3 * width;
  Numbers mixed(tokens * width);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t h = 0; h < heads; ++h) {
      Numbers share;
      double all = 0;
      for (std::size_t before = 0; before <= t; ++before) {
        double score = 0;
        for (std::size_t i = 0; i < each; ++i) score += qkv[t * row + h * each + i] * qkv[before * row + width + h * each + i];
        share.push_back(std::exp(score / std::sqrt(static_cast<double>(each))));
        all += share.back();
      }
      for (std::size_t before = 0; before <= t; ++before)
        for (std::size_t i = 0; i < each; ++i) mixed[t * width + h * each + i] += share[before] / all * qkv[before * row + 2 * width + h * each + i];
    }
  return mixed;
}

}  // namespace

std::vector<Result> gpt2(const Options& options) {
  const Gpt2Shape shape = Gpt2Shape::make(options.preset, options.sizes);
  const Source tensor(shape.tensors(), options);
  const auto width = static_cast<std::size_t>(shape.width), tokens = static_cast<std::size_t>(shape.sequence);
  const Numbers words = tensor("wte.weight"), places = tensor("wpe.weight");
  const std::vector<int> ids = seededTokens("input_ids", options.inputSeed, shape.sequence, shape.vocabulary);
  Numbers x(tokens * width);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < width; ++i) x[t * width + i] = words[static_cast<std::size_t>(ids[t]) * width + i] + places[t * width + i];
  const auto norm = [&](const std::string& name) { return normalized(x, width, tensor(name + ".weight"), tensor(name + ".bias")); };
  const auto layer = [&](const Numbers& in, const std::string& name) { return product(in, tokens, tensor(name + ".weight"), tensor(name + ".bias")); };
  for (int i = 0; i < shape.layers; ++i) {
    const std::string name = "h." + std::to_string(i);
    const Numbers attended = layer(causal(layer(norm(name + ".ln_1"), name + ".attn.c_attn"), tokens, width, static_cast<std::size_t>(shape.heads)), name + ".attn.c_proj");
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += attended[e];
    Numbers inner = layer(norm(name + ".ln_2"), name + ".mlp.c_fc");
    for (double& one : inner) one = 0.5 * one * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (one + 0.044715 * one * one * one)));
    const Numbers passed = layer(inner, name + ".mlp.c_proj");
    for (std::size_t e = 0; e < x.size(); ++e) x[e] += passed[e];
  }
  const Numbers last = norm("ln_f");
  Numbers logits(static_cast<std::size_t>(shape.vocabulary));
  for (std::size_t word = 0; word < logits.size(); ++word)
    for (std::size_t i = 0; i < width; ++i) logits[word] += words[word * width + i] * last[(tokens - 1) * width + i];
  const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  return {{"next_tokens", {1}, {static_cast<double>(best)}}, {"logits", {1, shape.vocabulary}, logits}};
}

}  // namespace networks::reference
