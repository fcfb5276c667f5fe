#include "tools/sim/bound.h"

#include <algorithm>
#include <set>

namespace rouse::sim {
namespace {

// Late work as a part of what may be late, or, where nothing is late, the busiest minute as a part of what fits into it; at
// least the whole as a part of what fits into all.
double need(const std::vector<double>& byMinute, double aMinute, double spill, double mayBeLate) {
  double sum = 0, late = 0, busiest = 0;
  for (const double work : byMinute) {
    sum += work;
    late += std::max(0.0, work - aMinute - spill);
    busiest = std::max(busiest, work / (aMinute + spill));
  }
  if (late == 0) return busiest;
  return std::max(late / (mayBeLate * sum), sum * (1 - mayBeLate) / (aMinute * static_cast<double>(byMinute.size()) + spill));
}

}  // namespace

Need necessary(const Node& node, const Models& models, const std::vector<std::uint32_t>& modelOf, const Counts& counts) {
  const std::size_t minutes = counts.at(0).size(), gpus = node.topology.gpus();
  const double mayBeLate = 1 - models.percentile;
  sched::Duration deadline{};
  for (const Model& model : models.models) deadline = std::max(deadline, model.deadline);

  std::vector<double> run(minutes), bytes(minutes);
  struct Item {
    double value, size;
    std::size_t function;
  };
  std::vector<Item> items;
  for (std::size_t f = 0; f < counts.size(); ++f) {
    const Model& model = models.models[modelOf[f]];
    double all = 0;
    for (std::size_t minute = 0; minute < minutes; ++minute) {
      run[minute] += counts[f][minute] * sched::seconds(model.run);
      all += counts[f][minute];
    }
    items.push_back({all * static_cast<double>(model.parameterBytes), static_cast<double>(model.memoryBytes), f});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.value * b.size > b.value * a.size; });
  double room = static_cast<double>(node.functionMemory) * static_cast<double>(gpus);
  for (const Item& item : items) {
    const double away = 1 - std::clamp(room / item.size, 0.0, 1.0);
    room -= item.size * (1 - away);
    for (std::size_t minute = 0; minute < minutes; ++minute)
      bytes[minute] += away * counts[item.function][minute] * static_cast<double>(models.models[modelOf[item.function]].parameterBytes);
  }
  std::set<memory::LinkId> ways;  // from the host: the first link of each path
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) ways.insert(node.topology.fromHost(gpu).front());
  double uplinks = 0;
  for (const memory::LinkId way : ways) uplinks += node.topology.links()[way].bytesPerSecond;

  const double spill = sched::seconds(deadline), count = static_cast<double>(gpus);
  return {need(run, 60 * count, spill * count, mayBeLate), need(bytes, 60 * uplinks, spill * uplinks, mayBeLate)};
}

}  // namespace rouse::sim
