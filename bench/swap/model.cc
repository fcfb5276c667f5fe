#include "bench/swap/model.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "bench/remoting/client.h"
#include "bench/report.h"
#include "bench/swap/kernels.h"

namespace rouse::bench {
namespace {

constexpr unsigned kThreads = 64;
constexpr std::uint64_t kWordsAThread = 64, kMostBlocks = 64;

// Of one library for the whole process, and its life.
const void* kernel(const char* name) {
  static const cudaLibrary_t library = [] {
    cudaLibrary_t loaded = nullptr;
    check(cudaLibraryLoadData(&loaded, kSwapPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
    return loaded;
  }();
  cudaKernel_t found = nullptr;
  check(cudaLibraryGetKernel(&found, library, name), "cudaLibraryGetKernel");
  return found;
}

}  // namespace

Naming::Naming() : kernel_(kernel("name8")) {}

Model::Model(const Network& network, std::uint64_t seed, int gpu) {
  double begin = now();
  check(cudaSetDevice(gpu), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");
  attachSeconds_ = now() - begin;

  begin = now();
  layerKernel_ = kernel("layer");
  naming_.emplace();
  void* memory = nullptr;
  check(cudaMalloc(&memory, (3 * network.layers.size() + 1) * sizeof(Word)), "cudaMalloc");
  activations_ = static_cast<Word*>(memory);
  loadSeconds_ = now() - begin;

  std::vector<std::uint32_t> weight, bias;
  std::uint64_t tensor = 0;
  for (const Layer& layer : network.layers) {
    weight.resize(layer.weight);
    fillTensor(seed, tensor++, weight);
    bias.resize(layer.bias);
    if (layer.bias != 0) fillTensor(seed, tensor++, bias);
    reference_.add(weight, bias);
    layers_.push_back({upload(weight), layer.weight, upload(bias), layer.bias});
  }
  begin = now();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  loadSeconds_ += now() - begin;
}

const std::uint32_t* Model::upload(const std::vector<std::uint32_t>& words) {
  if (words.empty()) return nullptr;
  const double begin = now();
  void* memory = nullptr;
  check(cudaMalloc(&memory, words.size() * sizeof words[0]), "cudaMalloc");
  check(cudaMemcpy(memory, words.data(), words.size() * sizeof words[0], cudaMemcpyHostToDevice), "cudaMemcpy");
  loadSeconds_ += now() - begin;
  return static_cast<const std::uint32_t*>(memory);
}

void Model::launchLayer(std::size_t layer, Effort effort, std::uint32_t phase, bool traced) {
  Tensors& t = layers_[layer];
  const Word* in = activations_ + layer;
  Word* out = activations_ + layer + 1;
  Word* times = traced ? activations_ + layers_.size() + 1 + 2 * layer : nullptr;
  void* arguments[] = {&t.weight, &t.weights, &t.bias, &t.biases, &effort.stride, &phase, &effort.uses, &in, &out, &times};
  const std::uint64_t words = std::max(t.weights, t.biases) / effort.stride;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(words / (kThreads * kWordsAThread), 1, kMostBlocks));
  check(cudaLaunchKernel(layerKernel_, dim3(blocks), dim3(kThreads), arguments, 0, nullptr), "cudaLaunchKernel");
}

Model::Answer Model::infer(std::uint64_t request, Effort effort, bool traced) { return inferBehind(request, effort, traced, {}); }

Model::Answer Model::inferBehind(std::uint64_t request, Effort effort, bool traced, const std::vector<cudaEvent_t>& arriving) {
  const auto phase = static_cast<std::uint32_t>(request % effort.stride);
  const std::vector<Word> expected = reference_.infer(request, effort, phase);
  const std::size_t count = layers_.size();
  Answer answer;
  std::vector<Word> start(count + 1, 0), outputs(count + 1);
  start[0] = request;
  if (traced) {
    // Times of the first thread are found by minimum, of the last by maximum.
    answer.times.assign(2 * count, 0);
    for (std::size_t i = 0; i < count; ++i) answer.times[2 * i] = ~std::uint64_t{0};
    start.insert(start.end(), answer.times.begin(), answer.times.end());
  }
  answer.began = now();
  check(cudaMemcpyAsync(activations_, start.data(), start.size() * sizeof(Word), cudaMemcpyHostToDevice, nullptr), "cudaMemcpyAsync");
  for (std::size_t i = 0; i < count; ++i) {
    if (!arriving.empty()) check(cudaStreamWaitEvent(nullptr, arriving[i], 0), "cudaStreamWaitEvent");
    launchLayer(i, effort, phase, traced);
  }
  answer.queued = now();
  check(cudaMemcpy(outputs.data(), activations_, outputs.size() * sizeof(Word), cudaMemcpyDeviceToHost), "cudaMemcpy");
  answer.ended = now();
  answer.seconds = answer.ended - answer.began;
  for (std::size_t i = 0; i < count && answer.wrong.empty(); ++i) {
    if (outputs[i + 1] == expected[i]) continue;
    char text[128];
    std::snprintf(text, sizeof text, "request %llu, layer %zu: %llx, expected %llx", static_cast<unsigned long long>(request), i,
                  static_cast<unsigned long long>(outputs[i + 1]), static_cast<unsigned long long>(expected[i]));
    answer.wrong = text;
  }
  if (traced) {
    check(cudaMemcpy(answer.times.data(), activations_ + count + 1, 2 * count * sizeof(Word), cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (std::uint64_t& time : answer.times) time &= ~std::uint64_t{0} >> 1;
  }
  return answer;
}

template <class Visit>
void Model::forEachTensor(Visit&& visit) {
  for (Tensors& t : layers_) {
    visit(t.weight, t.weights);
    if (t.biases != 0) visit(t.bias, t.biases);
  }
}

Model::Answer Model::inferNaively(std::uint64_t request, Effort effort) {
  const auto release = [](const std::uint32_t*& tensor, std::uint64_t) {
    check(cudaFree(const_cast<std::uint32_t*>(tensor)), "cudaFree");
    tensor = nullptr;
  };
  if (pageable_.empty()) {
    forEachTensor([&](const std::uint32_t* tensor, std::uint64_t words) {
      pageable_.emplace_back(words);
      check(cudaMemcpy(pageable_.back().data(), tensor, words * sizeof *tensor, cudaMemcpyDeviceToHost), "cudaMemcpy");
    });
    forEachTensor(release);
  }
  const double begin = now();
  auto home = pageable_.begin();
  forEachTensor([&](const std::uint32_t*& tensor, std::uint64_t words) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, words * sizeof *tensor), "cudaMalloc");
    check(cudaMemcpy(memory, home++->data(), words * sizeof *tensor, cudaMemcpyHostToDevice), "cudaMemcpy");
    tensor = static_cast<const std::uint32_t*>(memory);
  });
  const double loading = now() - begin;
  Answer answer = infer(request, effort, false);
  answer.seconds += loading;
  forEachTensor(release);
  return answer;
}

Model::Answer Model::inferPipelined(std::uint64_t request, Effort effort) {
  if (pinned_.empty()) {
    check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    arrived_.resize(layers_.size());
    for (cudaEvent_t& event : arrived_) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    forEachTensor([&](const std::uint32_t* tensor, std::uint64_t words) {
      void* memory = nullptr;
      check(cudaMallocHost(&memory, words * sizeof *tensor), "cudaMallocHost");
      check(cudaMemcpy(memory, tensor, words * sizeof *tensor, cudaMemcpyDeviceToHost), "cudaMemcpy");
      pinned_.push_back(static_cast<std::uint32_t*>(memory));
    });
  }
  const auto send = [&](const std::uint32_t* tensor, const std::uint32_t* home, std::uint64_t words) {
    check(cudaMemcpyAsync(const_cast<std::uint32_t*>(tensor), home, words * sizeof *tensor, cudaMemcpyHostToDevice, copies_), "cudaMemcpyAsync");
  };
  const double begin = now();
  auto home = pinned_.begin();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Tensors& t = layers_[i];
    send(t.weight, *home++, t.weights);
    if (t.biases != 0) send(t.bias, *home++, t.biases);
    check(cudaEventRecord(arrived_[i], copies_), "cudaEventRecord");
  }
  const double sending = now() - begin;
  Answer answer = inferBehind(request, effort, false, arrived_);
  answer.seconds += sending;
  return answer;
}

void Model::spoil() {
  const Tensors& first = layers_.at(0);
  auto* word = const_cast<std::uint32_t*>(first.weight + first.weights / 2);
  std::uint32_t content = 0;
  check(cudaMemcpy(&content, word, sizeof content, cudaMemcpyDeviceToHost), "cudaMemcpy");
  content ^= 1;
  check(cudaMemcpy(word, &content, sizeof content, cudaMemcpyHostToDevice), "cudaMemcpy");
}

double Model::touch() {
  std::vector<const void*> all;
  for (const Tensors& t : layers_) {
    all.push_back(t.weight);
    if (t.bias != nullptr) all.push_back(t.bias);
  }
  return naming_->run(all);
}

double Naming::run(const std::vector<const void*>& all) const {
  const double begin = now();
  for (std::size_t first = 0; first < all.size(); first += 8) {
    std::array<const void*, 8> named{};
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), std::min<std::size_t>(8, all.size() - first), named.begin());
    std::array<void*, 8> arguments{};
    for (std::size_t i = 0; i < 8; ++i) arguments[i] = &named[i];
    check(cudaLaunchKernel(kernel_, dim3(1), dim3(1), arguments.data(), 0, nullptr), "cudaLaunchKernel");
  }
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return now() - begin;
}

}  // namespace rouse::bench
