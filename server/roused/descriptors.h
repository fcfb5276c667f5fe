#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::daemon {

// systemNotReady when there are too many.
inline Result<wire::OwnedFd> duplicate(int fd) {
  wire::OwnedFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return Error{CudaError::systemNotReady, std::string("duplicating a descriptor: ") + std::strerror(errno)};
  return copy;
}
inline Result<wire::OwnedFd> duplicate(const wire::OwnedFd& fd) { return duplicate(fd.get()); }

}  // namespace rouse::daemon
