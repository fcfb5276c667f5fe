// `rouse-bench swap`: what it costs that a model is not on the GPU.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addSwap(CLI::App& app, int& status);

}  // namespace rouse::bench
