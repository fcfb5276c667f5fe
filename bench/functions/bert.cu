// An encoder of BERT as a function: tokens in ("input_ids"), what its pooler makes of them out ("pooled"), on request the last layer
// ("sequence"). Products by cuBLAS, the rest by kernels of its own.
#include "bench/functions/device/kernels.h"
#include "bench/functions/device/products.h"

namespace networks {
namespace {

constexpr float kEpsilon = 1e-12f;

template <class T>
__global__ void embed(const int* tokens, const T* words, const T* places, const T* kinds, T* y, int width) {
  const size_t row = size_t(blockIdx.x) * width, word = size_t(tokens[blockIdx.x]) * width;
  for (int i = threadIdx.x; i < width; i += kThreads) y[row + i] = as<T>(number(words[word + i]) + number(places[row + i]) + number(kinds[i]));
}

template <class T>
class Bert : public Network {
 public:
  explicit Bert(const Options& options)
      : shape_(BertShape::make(options.preset, options.sizes)), tensors_(shape_.tensors(), options), hostTokens_(shape_.positions), host_(most() * shape_.width),
        tokens_(shape_.positions), x_(most() * shape_.width), q_(most() * shape_.width), k_(most() * shape_.width), v_(most() * shape_.width), mixed_(most() * shape_.width),
        inner_(most() * shape_.width * 4), scores_(most() * most() * shape_.heads), pooled_(shape_.width) {}

  std::vector<Output> infer(const Request& request) override {
    request.only({"input_ids"}, {"seed", "all"}, {"pooled", "sequence"});
    const std::vector<int> tokens = request.inputs.empty()
                                        ? seededTokens("input_ids", static_cast<std::uint64_t>(request.parameter("seed", 0, INT64_MAX, 1)), shape_.sequence, shape_.vocabulary)
                                        : request.tokens("input_ids", 1, most(), shape_.vocabulary);
    const bool all = request.parameter("all", 0, 1, 0) == 1, sequence = request.wants("sequence", all), pooled = request.wants("pooled", true);
    const int rows = static_cast<int>(tokens.size()), width = shape_.width;
    std::copy(tokens.begin(), tokens.end(), static_cast<int*>(hostTokens_));
    CHECK(cudaMemcpyAsync(tokens_, hostTokens_, tokens.size() * sizeof(int), cudaMemcpyHostToDevice, context_.stream));
    embed<<<rows, kThreads, 0, context_.stream>>>(static_cast<const int*>(tokens_), tensors_["embeddings.word_embeddings.weight"], tensors_["embeddings.position_embeddings.weight"],
                                                  tensors_["embeddings.token_type_embeddings.weight"], static_cast<T*>(x_), width);
    normalize(x_, nullptr, nullptr, "embeddings.LayerNorm", rows);
    for (int i = 0; i < shape_.layers; ++i) layer("encoder.layer." + std::to_string(i), rows);
    // The pooler looks at the first token alone.
    linear<T>(context_, pooled_, x_, tensors_["pooler.dense.weight"], 1, width, width);
    addBiasTo(context_, static_cast<T*>(pooled_), tensors_["pooler.dense.bias"], 1, width, Tanh());
    CHECK(cudaGetLastError());
    std::vector<Output> outputs;
    if (pooled) outputs.push_back({"pooled", {1, width}, download<T>(context_, pooled_, host_, width), {}});
    if (sequence) outputs.push_back({"sequence", {1, rows, width}, download<T>(context_, x_, host_, tokens.size() * width), {}});
    return outputs;
  }

 private:
  std::size_t most() const { return static_cast<std::size_t>(shape_.positions); }

  // x = normalized (x + bias + other)
  void normalize(T* x, const T* bias, const T* other, const std::string& name, int rows) {
    layerNorm<<<rows, kThreads, 0, context_.stream>>>(static_cast<const T*>(x), bias, other, tensors_[name + ".weight"], tensors_[name + ".bias"], static_cast<T*>(x_), shape_.width, kEpsilon);
  }

  void layer(const std::string& name, int rows) {
    const int width = shape_.width, heads = shape_.heads, each = width / heads;
    const auto project = [&](T* y, const char* part) {
      linear<T>(context_, y, x_, tensors_[name + ".attention.self." + part + ".weight"], rows, width, width);
      addBiasTo(context_, y, tensors_[name + ".attention.self." + part + ".bias"], rows, width, Same());
    };
    project(q_, "query");
    project(k_, "key");
    project(v_, "value");
    // Heads lie beside each other in the rows.
    multiply<T>(context_, {scores_, rows, static_cast<long long>(rows) * rows}, {q_, width, each}, {k_, width, each}, Second::transposed, rows, rows, each,
                1 / std::sqrt(static_cast<float>(each)), heads);
    softmax<<<heads * rows, kThreads, 0, context_.stream>>>(static_cast<T*>(scores_), rows, rows);
    multiply<T>(context_, {mixed_, width, each}, {scores_, rows, static_cast<long long>(rows) * rows}, {v_, width, each}, Second::asIs, rows, each, rows, 1, heads);
    linear<T>(context_, q_, mixed_, tensors_[name + ".attention.output.dense.weight"], rows, width, width);
    normalize(q_, tensors_[name + ".attention.output.dense.bias"], x_, name + ".attention.output.LayerNorm", rows);
    linear<T>(context_, inner_, x_, tensors_[name + ".intermediate.dense.weight"], rows, 4 * width, width);
    addBiasTo(context_, static_cast<T*>(inner_), tensors_[name + ".intermediate.dense.bias"], rows, 4 * width, Gelu());
    linear<T>(context_, q_, inner_, tensors_[name + ".output.dense.weight"], rows, width, 4 * width);
    normalize(q_, tensors_[name + ".output.dense.bias"], x_, name + ".output.LayerNorm", rows);
  }

  const BertShape shape_;
  const Context context_;
  const Tensors<T> tensors_;
  HostBuffer<int> hostTokens_;
  HostBuffer<T> host_;
  Buffer<int> tokens_;
  Buffer<T> x_, q_, k_, v_, mixed_, inner_, scores_, pooled_;
};

}  // namespace
}  // namespace networks

int main(int argc, char** argv) {
  using namespace networks;
  return run(argc, argv, "bert", "base large tiny", [](const Options& options) -> std::unique_ptr<Network> {
    if (options.half) return std::make_unique<Bert<__half>>(options);
    return std::make_unique<Bert<float>>(options);
  });
}
