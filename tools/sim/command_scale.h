// `rouse-sim scale`: many functions on many GPUs, and how fast the scheduler itself is.
#pragma once

namespace CLI {
class App;
}

namespace rouse::sim {

void addScale(CLI::App& app, int& status);

}  // namespace rouse::sim
