#include "bench/swap/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

namespace rouse::bench {

SwapChart chartOf(const Network& network, const nlohmann::json& answer) {
  const auto times = answer.at("times").get<std::vector<std::uint64_t>>();
  const double began = answer.at("began"), queued = answer.at("queued"), ended = answer.at("ended");
  if (times.size() != 2 * network.layers.size()) throw std::invalid_argument("a trace with times of other layers");

  char title[160];
  std::snprintf(title, sizeof title, "%s, %.1f MB, from host memory: %.1f ms", network.name.c_str(),
                static_cast<double>(network.bytes()) * 1e-6, (ended - began) * 1e3);
  SwapChart chart{.title = title, .note = {}, .lanes = {}};

  // The CPU device's clock is CLOCK_MONOTONIC, as the client's is. A GPU's is another one.
  const double lastEnd = static_cast<double>(*std::max_element(times.begin(), times.end())) * 1e-9;
  double shift = 0;
  if (std::abs(lastEnd - ended) > 3600 || lastEnd > ended) {
    shift = ended - lastEnd;
    chart.note = "The device has a clock of its own: the last kernel's end is drawn where the output came. ";
  }
  Lane kernels{"kernels run", {}};
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const double begin = (static_cast<double>(times[2 * i]) * 1e-9 + shift - began) * 1e3;
    const double end = (static_cast<double>(times[2 * i + 1]) * 1e-9 + shift - began) * 1e3;
    kernels.spans.push_back({network.layers[i].name, begin, std::max(begin, end)});
  }
  const double first = kernels.spans.empty() ? (ended - began) * 1e3 : std::max(0.0, kernels.spans.front().begin);
  chart.note += "Groups that arrive are not reported by the executor: \"no kernel yet\" is the time until the first one ran.";
  const double queuedMs = (queued - began) * 1e3;
  chart.lanes.push_back({"program", {{"commands queued", 0, queuedMs}, {"waits for the output", queuedMs, (ended - began) * 1e3}}});
  chart.lanes.push_back({"no kernel yet", {{"until the first kernel", 0, first}}});
  chart.lanes.push_back(std::move(kernels));
  return chart;
}

}  // namespace rouse::bench
