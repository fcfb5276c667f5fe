// Standard input, output and error of a process that was started without some of them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace rouse::wire {

// Before anything else is opened: what is opened first would be taken for them, and what is printed would go to a socket, say.
inline void openStandardDescriptors() {
  int fd;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) ::close(fd);
}

}  // namespace rouse::wire
