// `rouse-sim torpor`: the figures of the Torpor paper, beside this simulator's own.
#pragma once

namespace CLI {
class App;
}

namespace rouse::sim {

void addTorpor(CLI::App& app, int& status);

}  // namespace rouse::sim
