// GPT-2 as a function: tokens in ("input_ids") at the place in the text that the parameter "position" says, 0 unless told; the likeliest next
// token out ("next_tokens"), and as many more after it as the parameter "generate" says. Keys and values of all earlier tokens stay on the
// device from one request to the next, so a text is asked for token by token; a request that is sent twice does the same twice. Products
// by cuBLAS, the rest by kernels of its own.
#include "bench/functions/device/kernels.h"
#include "bench/functions/device/products.h"

namespace networks {
namespace {

constexpr float kEpsilon = 1e-5f;

template <class T>
__global__ void embed(const int* token, const T* words, const T* place, T* y, int width) {
  const size_t word = size_t(*token) * width;
  for (int i = threadIdx.x; i < width; i += kThreads) y[i] = as<T>(number(words[word + i]) + number(place[i]));
}

// Query, key and value of one token, with their biases, to where they belong.
template <class T>
__global__ void divide(const T* all, const T* bias, T* q, T* k, T* v, int width) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= width) return;
  q[i] = as<T>(number(all[i]) + number(bias[i]));
  k[i] = as<T>(number(all[width + i]) + number(bias[width + i]));
  v[i] = as<T>(number(all[2 * width + i]) + number(bias[2 * width + i]));
}

// Of equals the first; one block.
template <class T>
__global__ void likeliest(const T* logits, int count, int* token) {
  __shared__ float best[kThreads];
  __shared__ int where[kThreads];
  float mine = -INFINITY;
  int at = 0;
  for (int i = threadIdx.x; i < count; i += kThreads)
    if (number(logits[i]) > mine) mine = number(logits[i]), at = i;
  best[threadIdx.x] = mine, where[threadIdx.x] = at;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const int other = threadIdx.x + half;
      if (best[other] > best[threadIdx.x] || (best[other] == best[threadIdx.x] && where[other] < where[threadIdx.x])) best[threadIdx.x] = best[other], where[threadIdx.x] = where[other];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *token = where[0];
}

template <class T>
class Gpt2 : public Network {
 public:
  explicit Gpt2(const Options& options)
      : shape_(Gpt2Shape::make(options.preset, options.sizes)), tensors_(shape_.tensors(), options), hostTokens_(shape_.positions + 1), hostLogits_(shape_.vocabulary),
        tokens_(shape_.positions + 1), keys_(cacheSize()), values_(cacheSize()), x_(shape_.width), normal_(shape_.width), all_(3 * shape_.width), q_(shape_.width), mixed_(shape_.width),
        inner_(4 * shape_.width), scores_(static_cast<std::size_t>(shape_.heads) * shape_.positions), logits_(shape_.vocabulary) {}

  std::vector<Output> infer(const Request& request) override {
    request.only({"input_ids"}, {"seed", "all", "position", "generate"}, {"next_tokens", "digest", "logits"});
    const std::vector<int> tokens = request.inputs.empty()
                                        ? seededTokens("input_ids", static_cast<std::uint64_t>(request.parameter("seed", 0, INT64_MAX, 1)), shape_.sequence, shape_.vocabulary)
                                        : request.tokens("input_ids", 1, static_cast<std::size_t>(shape_.positions), shape_.vocabulary);
    // No further than what has been there: nobody reads keys that nobody has written.
    const int from = static_cast<int>(request.parameter("position", 0, known_, 0)), count = static_cast<int>(tokens.size());
    if (from + count > shape_.positions) throw Refused("input input_ids: " + std::to_string(count) + " tokens from position " + std::to_string(from) + " on; there are " + std::to_string(shape_.positions));
    const int more = static_cast<int>(request.parameter("generate", 0, shape_.positions - from - count, 0));
    const bool logits = request.wants("logits", request.parameter("all", 0, 1, 0) == 1);

    known_ = from;
    std::copy(tokens.begin(), tokens.end(), static_cast<int*>(hostTokens_));
    CHECK(cudaMemcpyAsync(tokens_ + from, hostTokens_, tokens.size() * sizeof(int), cudaMemcpyHostToDevice, context_.stream));
    for (int i = 0; i < count + more; ++i) {
      step(from + i);
      if (i >= count - 1) choose(from + i);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(hostTokens_, tokens_ + from + count, static_cast<std::size_t>(1 + more) * sizeof(int), cudaMemcpyDeviceToHost, context_.stream));
    std::vector<float> numbers = download<T>(context_, logits_, hostLogits_, shape_.vocabulary);
    known_ = from + count + more;

    std::vector<Output> outputs;
    if (request.wants("next_tokens", true)) outputs.push_back({"next_tokens", {1 + more}, {}, {static_cast<int*>(hostTokens_), hostTokens_ + 1 + more}});
    if (request.wants("digest", true)) outputs.push_back({"digest", {2}, {}, digest()});
    if (logits) outputs.push_back({"logits", {1, shape_.vocabulary}, std::move(numbers), {}});
    return outputs;
  }

 private:
  std::size_t cacheSize() const { return static_cast<std::size_t>(shape_.layers) * shape_.positions * shape_.width; }

  void normalize(const std::string& name) {
    layerNorm<<<1, kThreads, 0, context_.stream>>>(static_cast<const T*>(x_), static_cast<const T*>(nullptr), static_cast<const T*>(nullptr), tensors_[name + ".weight"], tensors_[name + ".bias"],
                                                   static_cast<T*>(normal_), shape_.width, kEpsilon);
  }
  // The layers' matrices are in x out.
  void product(T* y, const T* x, const std::string& name, int in, int out) { multiply<T>(context_, {y, out}, {x, in}, {tensors_[name + ".weight"], out}, Second::asIs, 1, out, in); }
  void add(const T* y, const std::string& name) {
    addBiased<<<blocksFor(shape_.width), kThreads, 0, context_.stream>>>(static_cast<T*>(x_), y, tensors_[name + ".bias"], shape_.width, static_cast<std::size_t>(shape_.width));
  }

  // The token at this position goes through all layers, and leaves its keys and values.
  void step(int position) {
    const int width = shape_.width, heads = shape_.heads, each = width / heads, known = position + 1;
    embed<<<1, kThreads, 0, context_.stream>>>(static_cast<const int*>(tokens_ + position), tensors_["wte.weight"], tensors_["wpe.weight"] + static_cast<std::size_t>(position) * width,
                                               static_cast<T*>(x_), width);
    for (int i = 0; i < shape_.layers; ++i) {
      const std::string layer = "h." + std::to_string(i);
      T* const keys = keys_ + static_cast<std::size_t>(i) * shape_.positions * width;
      T* const values = values_ + static_cast<std::size_t>(i) * shape_.positions * width;
      normalize(layer + ".ln_1");
      product(all_, normal_, layer + ".attn.c_attn", width, 3 * width);
      divide<<<(width + kThreads - 1) / kThreads, kThreads, 0, context_.stream>>>(static_cast<const T*>(all_), tensors_[layer + ".attn.c_attn.bias"], static_cast<T*>(q_),
                                                                                 keys + static_cast<std::size_t>(position) * width, values + static_cast<std::size_t>(position) * width, width);
      multiply<T>(context_, {scores_, shape_.positions, shape_.positions}, {q_, each, each}, {keys, width, each}, Second::transposed, 1, known, each, 1 / std::sqrt(static_cast<float>(each)), heads);
      softmax<<<heads, kThreads, 0, context_.stream>>>(static_cast<T*>(scores_), known, shape_.positions);
      multiply<T>(context_, {mixed_, each, each}, {scores_, shape_.positions, shape_.positions}, {values, width, each}, Second::asIs, 1, each, known, 1, heads);
      product(q_, mixed_, layer + ".attn.c_proj", width, width);
      add(q_, layer + ".attn.c_proj");
      normalize(layer + ".ln_2");
      product(inner_, normal_, layer + ".mlp.c_fc", width, 4 * width);
      addBiasTo(context_, static_cast<T*>(inner_), tensors_[layer + ".mlp.c_fc.bias"], 1, 4 * width, GeluByTanh());
      product(q_, inner_, layer + ".mlp.c_proj", 4 * width, width);
      add(q_, layer + ".mlp.c_proj");
    }
  }

  // The likeliest token behind this position, at the next one.
  void choose(int position) {
    normalize("ln_f");
    linear<T>(context_, logits_, normal_, tensors_["wte.weight"], 1, shape_.vocabulary, shape_.width);
    likeliest<<<1, kThreads, 0, context_.stream>>>(static_cast<const T*>(logits_), shape_.vocabulary, tokens_ + position + 1);
  }

  // Of all bytes of the logits: two numbers that answers can be compared by.
  std::vector<int> digest() const {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    const auto* bytes = reinterpret_cast<const unsigned char*>(static_cast<T*>(hostLogits_));
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape_.vocabulary) * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;
    return {static_cast<int>(hash >> 33), static_cast<int>(hash & 0x7fffffff)};
  }

  const Gpt2Shape shape_;
  const Context context_;
  const Tensors<T> tensors_;
  HostBuffer<int> hostTokens_;
  HostBuffer<T> hostLogits_;
  Buffer<int> tokens_;
  Buffer<T> keys_, values_;  // by layer, position, head
  Buffer<T> x_, normal_, all_, q_, mixed_, inner_, scores_, logits_;
  int known_ = 0;  // positions with keys and values
};

}  // namespace
}  // namespace networks

int main(int argc, char** argv) {
  using namespace networks;
  return run(argc, argv, "gpt2", "small tiny", [](const Options& options) -> std::unique_ptr<Network> {
    if (options.half) return std::make_unique<Gpt2<__half>>(options);
    return std::make_unique<Gpt2<float>>(options);
  });
}
