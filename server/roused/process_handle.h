// Processes that are not our children: which one it is, beyond its number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

// When it was started, in the kernel's ticks since boot (/proc/PID/stat, field 22): with its number this is one process and no other until
// the next boot. nullopt: there is none, or it has ended.
std::optional<std::uint64_t> startOfProcess(pid_t pid);

// A pidfd of this very process; invalid: it has ended.
wire::OwnedFd openProcess(pid_t pid, std::uint64_t start);

// Nothing happens to a process that has ended.
void signalProcess(const wire::OwnedFd& process, int signal);

}  // namespace rouse::daemon
