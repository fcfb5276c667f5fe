// `rouse-bench demo`: twenty functions on two small GPUs under load, a live table, and a report at the end. What tools/demo runs.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addDemo(CLI::App& app, int& status);

}  // namespace rouse::bench
