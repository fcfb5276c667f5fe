// A graph as operations of one device, each behind those it depends on; child graphs are taken apart.
#pragma once

#include "client-shim/core/graph_exec.h"
#include "client-shim/cudart/graph/model.h"

namespace rouse::cudart::graph {

// `culprit`: the node that cannot be had, or null.
cudaError_t compile(const Graph& graph, client::GraphBuilder& builder, Node** culprit);

}  // namespace rouse::cudart::graph
