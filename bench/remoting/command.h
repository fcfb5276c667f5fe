// `rouse-bench remoting`: what the path between a program and an executor costs.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addRemoting(CLI::App& app, int& status);

}  // namespace rouse::bench
