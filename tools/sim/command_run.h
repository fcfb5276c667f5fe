// `rouse-sim run`: one workload under one policy.
#pragma once

namespace CLI {
class App;
}

namespace rouse::sim {

void addRun(CLI::App& app, int& status);

}  // namespace rouse::sim
