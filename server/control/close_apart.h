// Closing what a stranger has sent. The last word on that has the file system, and one may be a process of the stranger's (FUSE), which never answers.
#pragma once

#include <vector>

#include "schemas/wire/owned_fd.h"

namespace rouse::channel {

// Never keeps the caller: what is not known to be memory is closed by a thread that nobody waits for.
void closeApart(std::vector<wire::OwnedFd> fds);
void closeApart(wire::OwnedFd fd);

}  // namespace rouse::channel
