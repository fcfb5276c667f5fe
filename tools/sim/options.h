// What several subcommands take.
#pragma once

#include <stdexcept>

#include "tools/sim/workload.h"

namespace CLI {
class App;
}

namespace rouse::sim {

// An error in what was asked for: exit code 2.
struct UsageError : std::runtime_error {
  using runtime_error::runtime_error;
};

template <class T>
T orThrow(rouse::Result<T> result) {
  if (!result) throw UsageError(result.error().message);
  return std::move(*result);
}

void addWorkloadOptions(CLI::App& command, WorkloadOptions& options);

}  // namespace rouse::sim
