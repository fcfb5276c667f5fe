// Starting a process that must not outlive us.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

struct ChildProcess {
  pid_t pid = -1;
  wire::OwnedFd exit;  // pidfd: readable once it has ended
};

// Starts argv in its own process group with `inherited` as descriptors 3, 4, … and nothing else but 0 to 2. It gets
// `deathSignal` (0: none) when the calling thread ends. `environment` ("NAME=value") is added to ours; "LISTEN_PID=" gets the
// child's pid appended. `standardError`: its descriptor 2, if not ours.
Result<ChildProcess> startChild(const std::vector<std::string>& argv, const std::vector<int>& inherited, int deathSignal,
                                const std::vector<std::string>& environment = {}, int standardError = -1);

inline constexpr int kInheritedFd = 3;  // the first

// "exited with status 1", "was killed by signal 9 (Killed)", from waitpid's status.
std::string describeExit(int status);

}  // namespace rouse::daemon
