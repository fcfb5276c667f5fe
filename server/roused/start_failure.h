// What roused ends with when it cannot serve, and where it leaves the reason for those who look for it and find nobody:
// `rouse status`, `rouse run`, `rouse doctor`. Documented in roused(8).
#pragma once

#include <string>

#include "schemas/base/result.h"

namespace rouse::daemon {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // the socket, or anything not listed
inline constexpr int kExitUsage = 2;   // usage or configuration
inline constexpr int kExitHandedOver = 75;  // another daemon is to take its place (SIGUSR1)
// No GPU can be served; the first one's reason.
inline constexpr int kExitNoDriver = 10;
inline constexpr int kExitDriverTooOld = 11;
inline constexpr int kExitNoGpu = 12;
inline constexpr int kExitGpuTaken = 13;
inline constexpr int kExitGpuFull = 14;
inline constexpr int kExitNotPinned = 15;
inline constexpr int kExitNotServed = 16;  // any other reason

// By the code of the error with which the device did not open (memory/start_failure.h).
int exitCodeOf(CudaError);

// The reason lies in a file beside the socket, named like it with ".failed" behind, from the failure to the next start
// that succeeds. Best effort: a folder that cannot be written to has none.
void leaveStartFailure(const std::string& socket, const std::string& reason);
void forgetStartFailure(const std::string& socket);
// One line, printable; empty when there is none.
std::string readStartFailure(const std::string& socket);

}  // namespace rouse::daemon
