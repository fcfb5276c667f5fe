#include "bench/kernels/client.h"

#include <algorithm>
#include <iostream>

#include "bench/kernels/cases.h"
#include "bench/remoting/client.h"
#include "bench/report.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;
constexpr double kSmall = 1e-3;

template <class Body>
double seconds(Body body) {
  const double begin = now();
  body();
  return now() - begin;
}

}  // namespace

int runKernels(double scale, int repetitions, unsigned threads) {
  Kernels kernels;
  Team team(threads);
  json report{{"wrong", json::array()}};
  for (const CaseKind& kind : kernelCases()) {
    const auto made = kind.make(kernels, scale);
    const auto device = [&] {
      made->onDevice();
      check(cudaDeviceSynchronize(), kind.name);
    };
    const auto here = [&] { made->here(team); };
    device(), here();  // compiled, and every page is there
    std::vector<double> ours, theirs;
    for (int i = 0; i < repetitions; ++i) {
      ours.push_back(seconds(device));
      theirs.push_back(seconds(here));
    }
    const double difference = made->difference();
    const std::string name = kind.name;
    report["ms_" + name] = median(ours) * 1e3;
    report["reference_ms_" + name] = median(theirs) * 1e3;
    report["ratio_" + name] = median(ours) / median(theirs);
    report["difference_" + name] = difference;
    if (!(difference <= kTolerance)) report["wrong"].push_back(name);
  }
  std::cout << report.dump() << std::endl;
  return 0;
}

int runFirstLaunches() {
  Kernels kernels;
  kernels.timeEach();
  Team team(1);
  for (const CaseKind& kind : kernelCases()) {
    const auto made = kind.make(kernels, kSmall);
    for (int i = 0; i < 5; ++i) made->onDevice();
  }
  json report;
  for (const auto& [name, times] : kernels.times()) {
    report["first_ms"][name] = times.front() * 1e3;
    report["second_ms"][name] = *std::min_element(times.begin() + 1, times.end()) * 1e3;
  }
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace rouse::bench
