#include "bench/swap/client.h"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "bench/remoting/client.h"
#include "bench/report.h"
#include "bench/swap/model.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

void say(const json& answer) { std::cout << answer.dump() << std::endl; }

json answerTo(Model& model, const std::string& line) {
  std::istringstream words(line);
  std::string what, extra;
  words >> what;
  if (what == "touch") return {{"ms", model.touch() * 1e3}};
  if (what == "spoil") return model.spoil(), json::object();
  std::uint64_t request = 0;
  Effort effort;
  if (!(words >> request >> effort.stride >> effort.uses) || !effort.valid()) throw std::runtime_error("not understood: " + line);
  const bool traced = what == "infer" && words >> extra && extra == "trace";
  Model::Answer answer;
  if (what == "infer") {
    answer = model.infer(request, effort, traced);
  } else if (what == "naive") {
    answer = model.inferNaively(request, effort);
  } else if (what == "pipelined") {
    answer = model.inferPipelined(request, effort);
  } else {
    throw std::runtime_error("not understood: " + line);
  }
  json said{{"ms", answer.seconds * 1e3}, {"wrong", answer.wrong}};
  if (traced) said.update({{"began", answer.began}, {"queued", answer.queued}, {"ended", answer.ended}, {"times", answer.times}});
  return said;
}

}  // namespace

int serveNetwork(const std::string& name, double scale, std::uint64_t seed, int gpu) {
  const Network network = scaled(bench::network(name), scale);
  Model model(network, seed, gpu);
  say({{"attach_ms", model.attachSeconds() * 1e3}, {"load_ms", model.loadSeconds() * 1e3}, {"bytes", network.bytes()}});
  for (std::string line; std::getline(std::cin, line);) say(answerTo(model, line));
  return 0;
}

int hold(std::uint64_t bytes, int gpu) {
  check(cudaSetDevice(gpu), "cudaSetDevice");
  const Naming naming;
  const double begin = now();
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  // No granule as another, of whomever: one that is on the GPU as somebody else's would not come from home.
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  constexpr std::size_t kGranule = std::size_t{2} << 20;
  std::vector<std::uint64_t> own(bytes / kGranule);
  std::iota(own.begin(), own.end(), static_cast<std::uint64_t>(getpid()) << 32);
  check(cudaMemcpy2D(memory, kGranule, own.data(), sizeof own[0], sizeof own[0], own.size(), cudaMemcpyHostToDevice), "cudaMemcpy2D");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  say({{"ms", (now() - begin) * 1e3}});
  for (std::string line; std::getline(std::cin, line);) say({{"ms", naming.run({memory}) * 1e3}});
  return 0;
}

int occupy(std::uint64_t bytes) {
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  json milliseconds = json::array();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    check(cudaSetDevice(gpu), "cudaSetDevice");
    check(cudaFree(nullptr), "cudaFree");
    const double begin = now();
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
    check(cudaMemset(memory, 0, 4), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    milliseconds.push_back((now() - begin) * 1e3);
  }
  say({{"ms", milliseconds}});
  return 0;
}

}  // namespace rouse::bench
