// `rouse run`: one program as a function of the pool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/rouse/check_run.h"

namespace rouse::cli {

struct RunOptions {
  std::string socket;  // empty: see chooseSocket
  std::string name;    // empty: the program's
  std::string device;  // not empty: a private daemon with this kind
  bool privateDaemon = false;
  std::uint32_t gpus = 0;  // 0: the daemon's default
  std::uint64_t gpuMemory = 0;
  bool isolated = false;
  CheckOptions check;
  std::vector<std::string> command;
};

// Returns what the process should end with; with a running daemon it becomes the program and returns only on failure, unless it is to
// tell at the end what has been found wrong.
int run(const RunOptions&);

}  // namespace rouse::cli
