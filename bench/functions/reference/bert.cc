#include <cmath>

#include "bench/functions/reference/reference.h"

namespace networks::reference {
namespace {

using Rows = std::vector<Numbers>;  // one vector a token

// The layer's matrix has a row for each output. Columns of the input are gathered first, so that the inner loop runs over tokens.
Rows dense(const Rows& x, const Numbers& weight, const Numbers& bias) {
  const std::size_t tokens = x.size(), in = x[0].size(), out = bias.size();
  Numbers columns(in * tokens);
  for (std::size_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < in; ++i) columns[i * tokens + t] = x[t][i];
  Rows y(tokens, Numbers(out));
  Numbers sums(tokens);
  for (std::size_t o = 0; o < out; ++o) {
    sums.assign(tokens, bias[o]);
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t t = 0; t < tokens; ++t) sums[t] += weight[o * in + i] * columns[i * tokens + t];
    for (std::size_t t = 0; t < tokens; ++t) y[t][o] = sums[t];
  }
  return y;
}

void normalize(Numbers& x, const Numbers& scale, const Numbers& shift) {
  double mean = 0, variance = 0;
  for (const double one : x) mean += one / static_cast<double>(x.size());
  for (const double one : x) variance += (one - mean) * (one - mean) / static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (x[i] - mean) / std::sqrt(variance + 1e-12) * scale[i] + shift[i];
}

Rows attention(const Rows& q, const Rows& k, const Rows& v, std::size_t heads) {
  const std::size_t tokens = q.size(), each = q[0].size() / heads;
  Rows mixed(tokens, Numbers(q[0].size()));
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t t = 0; t < tokens; ++t) {
      Numbers weights(tokens);
      double sum = 0;
      for (std::size_t other = 0; other < tokens; ++other) {
        double score = 0;
        for (std::size_t i = head * each; i < (head + 1) * each; ++i) score += q[t][i] * k[other][i];
        sum += weights[other] = std::exp(score / std::sqrt(static_cast<double>(each)));
      }
      for (std::size_t other = 0; other < tokens; ++other)
        for (std::size_t i = head * each; i < (head + 1) * each; ++i) mixed[t][i] += weights[other] / sum * v[other][i];
    }
  return mixed;
}

}  // namespace

std::vector<Result> bert(const Options& options) {
  const BertShape shape = BertShape::make(options.preset, options.sizes);
  const Source tensor(shape.tensors(), options);
  const auto width = static_cast<std::size_t>(shape.width);
  Rows x;
  const Numbers words = tensor("embeddings.word_embeddings.weight"), places = tensor("embeddings.position_embeddings.weight"), kinds = tensor("embeddings.token_type_embeddings.weight");
  for (const int token : seededTokens("input_ids", options.inputSeed, shape.sequence, shape.vocabulary)) {
    Numbers row(width);
    for (std::size_t i = 0; i < width; ++i) row[i] = words[static_cast<std::size_t>(token) * width + i] + places[x.size() * width + i] + kinds[i];
    x.push_back(row);
  }
  const auto normalizeAll = [&](Rows& rows, const std::string& name) {
    const Numbers scale = tensor(name + ".weight"), shift = tensor(name + ".bias");
    for (Numbers& row : rows) normalize(row, scale, shift);
  };
  const auto layer = [&](const Rows& rows, const std::string& name) { return dense(rows, tensor(name + ".weight"), tensor(name + ".bias")); };
  const auto add = [](Rows& to, const Rows& more) {
    for (std::size_t t = 0; t < to.size(); ++t)
      for (std::size_t i = 0; i < to[t].size(); ++i) to[t][i] += more[t][i];
  };
  normalizeAll(x, "embeddings.LayerNorm");
  for (int i = 0; i < shape.layers; ++i) {
    const std::string name = "encoder.layer." + std::to_string(i);
    const Rows mixed = attention(layer(x, name + ".attention.self.query"), layer(x, name + ".attention.self.key"), layer(x, name + ".attention.self.value"), static_cast<std::size_t>(shape.heads));
    add(x, layer(mixed, name + ".attention.output.dense"));
    normalizeAll(x, name + ".attention.output.LayerNorm");
    Rows inner = layer(x, name + ".intermediate.dense");
    for (Numbers& row : inner)
      for (double& one : row) one = one * 0.5 * (1 + std::erf(one / std::sqrt(2.0)));
    add(x, layer(inner, name + ".output.dense"));
    normalizeAll(x, name + ".output.LayerNorm");
  }
  Rows pooled = layer({x[0]}, "pooler.dense");
  for (double& one : pooled[0]) one = std::tanh(one);
  Numbers sequence;
  for (const Numbers& row : x) sequence.insert(sequence.end(), row.begin(), row.end());
  return {{"pooled", {1, shape.width}, pooled[0]}, {"sequence", {1, shape.sequence, shape.width}, sequence}};
}

}  // namespace networks::reference
