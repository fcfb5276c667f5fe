// Plans as text (CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION): programs keep it, and make plans of it later, as XLA does of each that it compiles.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client-shim/cudnn/backend.h"

namespace rouse::cudnn {

inline constexpr std::int64_t kMostPlanText = 1 << 17;

// A graph, and which of its engines runs it.
struct PlannedGraph {
  std::shared_ptr<const Lowered> graph;
  std::int64_t engine = 0;
};

// JSON around the graph as it travels. The same plan gives the same text.
std::string textOf(const PlannedGraph& plan);
// Without a graph: no such text, or one of another version. From the program, so nothing of it is believed.
PlannedGraph planOf(std::string_view text);

}  // namespace rouse::cudnn
