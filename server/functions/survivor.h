// A function's process that a daemon before this one had started, which was killed: what has been kept of it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "schemas/wire/owned_fd.h"
#include "server/functions/spec.h"

namespace rouse::functions {

struct Survivor {
  pid_t pid = 0;
  wire::OwnedFd process;  // pidfd: of this very process
  std::string token;
  uid_t uid = 0;      // it runs as
  std::string terms;  // processTerms() of the file as it was then
  std::uint64_t starts = 0, losses = 0;
};

// Equal for two versions of a file between which its process need not be started again (needsRestart()).
std::string processTerms(FunctionSpec);

}  // namespace rouse::functions
