// A function's process, from fork to exec: as its own user, in its own session and control group, without devices, with
// limits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"
#include "server/functions/users.h"

namespace rouse::functions {

struct ProcessPlan {
  std::vector<std::string> argv;         // the first is an absolute path
  std::vector<std::string> environment;  // all of it, "NAME=value"
  std::string directory;                 // entered as the function's user
  std::optional<User> user;              // nullopt: the daemon's own
  bool ownUser = false;                  // nobody else is this user
  int joinGroup = -1;                    // descriptor of cgroup.procs
  // A /dev of its own, with null, zero, full, random, urandom, tty and shm, made on this empty folder; empty: the
  // daemon's.
  std::string deviceFolder;
  std::uint64_t sharedMemory = 0;  // bytes of its /dev/shm; 0: as the kernel has it
  std::uint64_t dataLimit = 0;     // bytes, RLIMIT_DATA; 0: none
  std::uint32_t processLimit = 0;  // RLIMIT_NPROC; counts by user, and so only for its own
  int output = -1;                 // its descriptors 1 and 2
  bool survives = false;           // the daemon's end is not its own
};

struct FunctionProcess {
  pid_t pid = -1;
  wire::OwnedFd exit;  // pidfd: readable once it has ended; then it is to be waited for
  std::vector<std::string> notApplied;
};

// Returns once the program runs, or could not be started: the error says at which step and why. Unless it survives it is killed when the
// calling thread ends.
Result<FunctionProcess> startProcess(const ProcessPlan&);

// Its session's processes, as far as they have not left it.
void signalProcesses(pid_t leader, int signal);
// Every process of a user whom nobody else is. Needs root.
void killAllOf(const User&);

}  // namespace rouse::functions
