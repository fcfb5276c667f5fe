// `rouse-bench networks`: real networks behind the router, on a GPU that holds half of them, every answer compared byte by byte.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addNetworks(CLI::App& app, int& status);

}  // namespace rouse::bench
