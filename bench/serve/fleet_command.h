// `rouse-bench serve balance`, `native` and `predict`: figures of a whole node.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addServeFleet(CLI::App& serve, int& status);

}  // namespace rouse::bench
