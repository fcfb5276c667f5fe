// cudaGraphDebugDotPrint: a graph in Graphviz's language.
#pragma once

#include "client-shim/cudart/graph/model.h"

namespace rouse::cudart::graph {

// flags: cudaGraphDebugDotFlags. False: the file could not be written.
bool writeDot(const Graph& graph, const char* path, unsigned flags);

}  // namespace rouse::cudart::graph
