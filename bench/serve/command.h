// `rouse-bench serve`: functions behind the router under open-loop load, every response checked.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addServe(CLI::App& app, int& status);

}  // namespace rouse::bench
