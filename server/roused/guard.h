// What happens when the daemon is killed and no other comes: executors end by themselves, functions' processes would not. A process of its own
// (`roused --guard`, for nobody to start by hand) waits for the daemon's end; if it was not an orderly one, which takes the state file along, it waits for
// another daemon to have taken its place, and when time is up ends what the file names.
#pragma once

#include <chrono>
#include <string>

#include "schemas/base/result.h"
#include "server/roused/child_process.h"

namespace rouse::daemon {

// Of this program, for this process.
Result<ChildProcess> startGuard(const std::string& statePath, std::chrono::milliseconds orphanTimeout);
void stopGuard(ChildProcess&);

// Its main(): `daemon` is its parent. Returns its exit code.
int guard(const std::string& statePath, std::chrono::milliseconds orphanTimeout, pid_t daemon);

}  // namespace rouse::daemon
