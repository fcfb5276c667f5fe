#include "tools/sim/options.h"

#include <CLI/CLI.hpp>

namespace rouse::sim {

void addWorkloadOptions(CLI::App& command, WorkloadOptions& options) {
  command.add_option("--trace", options.trace,
                     "A CSV file: minute counts (Azure Functions 2019) or timestamp,function lines (default: generated counts)");
  command.add_option("--arrivals", options.arrivals, "Of minute counts: torpor (as its published sender, default), poisson, or gamma:CV");
  command.add_option("--minutes", options.minutes, "Of minute counts, at most (default 30)")->check(CLI::Range(2, 10'000));
  command.add_option("--seed", options.seed, "Of all that is random (default 1)");
}

}  // namespace rouse::sim
