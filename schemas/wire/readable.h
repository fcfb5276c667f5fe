// Whether a descriptor is readable now. What waits for one with Asio asks again when its wait ends: where a descriptor is closed by a handler, and another
// opened, while the event of the first is still to be handled in the same round, the reactor takes that for the new one's (Boost.Asio pools what it
// keeps of descriptors). A read that does not block notices by itself; who waits for a process to end would take a live one for dead.
#pragma once

#include <poll.h>

namespace rouse::wire {

inline bool readable(int fd) {
  pollfd state{fd, POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

}  // namespace rouse::wire
