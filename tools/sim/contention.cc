#include "tools/sim/contention.h"

#include <algorithm>
#include <limits>

#include "swap/link_model.h"

namespace rouse::sim {

double swapBeside(const Node& node, const Models& models, const Model& model, const Model* beside) {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kMs = 1e6;
  constexpr int kSwaps = 200;
  swap::LinkModel links(node.topology.links());
  struct Lane {
    const Model* model = nullptr;
    std::size_t gpu = 0;
    swap::TransferId transfer = 0;
    double began = 0, ends = kNever;  // ends: known once the last byte is there
  };
  Lane lanes[2] = {{&model, 0, 0, 0, kNever}, {beside, 1, 0, 0, kNever}};
  double sum = 0;
  int swaps = 0;
  const auto begin = [&](Lane& lane, double now) {
    lane.began = now, lane.ends = kNever;
    lane.transfer = links.start(static_cast<swap::Nanoseconds>(now), node.topology.fromHost(lane.gpu), lane.model->parameterBytes);
  };
  begin(lanes[0], 0);
  if (beside != nullptr) begin(lanes[1], 0);
  while (swaps < kSwaps) {
    double next = kNever;
    for (const Lane& lane : lanes) next = std::min(next, lane.ends);
    if (const auto arrives = links.nextCompletion()) next = std::min(next, static_cast<double>(*arrives));
    for (const auto& done : links.advance(static_cast<swap::Nanoseconds>(next)))
      for (Lane& lane : lanes) {
        if (lane.model == nullptr || lane.transfer != done.id) continue;
        const double alone = node.topology.bytesPerSecond(node.topology.fromHost(lane.gpu));
        const SwapShape shape = hostShape(*lane.model, models, alone, lane.model->parameterBytes);
        lane.ends = std::max(lane.began + static_cast<double>((lane.model->run + shape.overRun).count()),
                             next + static_cast<double>(shape.afterTransfer.count()));
      }
    for (Lane& lane : lanes) {
      if (lane.model == nullptr || lane.ends > next) continue;
      if (lane.gpu == 0) sum += (lane.ends - lane.began) / kMs, ++swaps;
      begin(lane, lane.ends);
    }
  }
  return sum / swaps;
}

}  // namespace rouse::sim
