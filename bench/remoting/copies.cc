#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "bench/remoting/client.h"
#include "bench/report.h"

namespace rouse::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr int kRuns = 15;

struct FreeMemory {
  void operator()(void* pointer) const { std::free(pointer); }
};
using Buffer = std::unique_ptr<char, FreeMemory>;

// Touched, so that no page fault is measured.
Buffer buffer(char fill) {
  Buffer memory(static_cast<char*>(std::aligned_alloc(4096, kBytes)));
  if (!memory) throw std::runtime_error("out of host memory");
  std::memset(memory.get(), fill, kBytes);
  return memory;
}

template <class Body>
double seconds(Body&& body) {
  const double begin = now();
  body();
  return now() - begin;
}

}  // namespace

// Each copy is timed beside a plain memcpy of the same size in the same moment, after which the executor has to be woken; the ratios are medians of those.
// Rates of pinned copies are of copies that follow one another, as the probe of gpu-check measures the driver's own; those behind a pause stand beside them.
nlohmann::json measureCopies() {
  const Buffer source = buffer(1), destination = buffer(2);
  void* device = nullptr;
  void* pinned = nullptr;
  check(cudaMalloc(&device, kBytes), "cudaMalloc");
  check(cudaMallocHost(&pinned, kBytes), "cudaMallocHost");
  std::memset(pinned, 3, kBytes);
  check(cudaMemset(device, 4, kBytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  std::vector<double> plain;
  std::vector<double> ratios[4], rates[4];
  const auto measure = [&](int which, void* to, const void* from, cudaMemcpyKind kind) {
    const double reference = seconds([&] { std::memcpy(destination.get(), source.get(), kBytes); });
    const double copied = seconds([&] { check(cudaMemcpy(to, from, kBytes, kind), "cudaMemcpy"); });
    plain.push_back(kBytes / reference * 1e-9);
    ratios[which].push_back(reference / copied);
    rates[which].push_back(kBytes / copied * 1e-9);
  };
  Buffer pageable = buffer(5);
  for (int run = -2; run < kRuns; ++run) {
    if (run == 0) {
      plain.clear();
      for (auto& ratio : ratios) ratio.clear();
      for (auto& rate : rates) rate.clear();
    }
    for (std::size_t i = 0; i < kBytes; i += 4096) pageable.get()[i] = static_cast<char>(run + 7);
    measure(0, device, pageable.get(), cudaMemcpyHostToDevice);
    measure(1, destination.get(), device, cudaMemcpyDeviceToHost);
    if (std::memcmp(destination.get(), pageable.get(), kBytes) != 0) throw std::runtime_error("pageable copy: bytes differ");
    for (std::size_t i = 0; i < kBytes; i += 4096) static_cast<char*>(pinned)[i] = static_cast<char>(run + 9);
    std::memcpy(pageable.get(), pinned, kBytes);
    measure(2, device, pinned, cudaMemcpyHostToDevice);
    std::memset(pinned, 0, kBytes);
    measure(3, pinned, device, cudaMemcpyDeviceToHost);
    if (std::memcmp(pinned, pageable.get(), kBytes) != 0) throw std::runtime_error("pinned copy: bytes differ");
  }
  const auto inARow = [&](void* to, const void* from, cudaMemcpyKind kind) {
    std::vector<double> found;
    for (int run = -2; run < kRuns; ++run) {
      const double rate = kBytes / seconds([&] { check(cudaMemcpy(to, from, kBytes, kind), "cudaMemcpy"); }) * 1e-9;
      if (run >= 0) found.push_back(rate);
    }
    return median(found);
  };
  const double toDevice = inARow(device, pinned, cudaMemcpyHostToDevice), toHost = inARow(pinned, device, cudaMemcpyDeviceToHost);
  check(cudaFreeHost(pinned), "cudaFreeHost");
  check(cudaFree(device), "cudaFree");
  return {{"memcpy_gb_per_s", median(plain)},      {"h2d_pageable_ratio", median(ratios[0])},
          {"d2h_pageable_ratio", median(ratios[1])}, {"h2d_pinned_ratio", median(ratios[2])},
          {"d2h_pinned_ratio", median(ratios[3])},  {"h2d_pinned_gb_per_s", toDevice},
          {"d2h_pinned_gb_per_s", toHost},         {"h2d_pinned_after_pause_gb_per_s", median(rates[2])},
          {"d2h_pinned_after_pause_gb_per_s", median(rates[3])}};
}

}  // namespace rouse::bench
