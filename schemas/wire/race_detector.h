// What ThreadSanitizer must be told, which sees the threads of one process: that between them the peer may have passed
// something on. A worker signals a slot, the peer sees it and publishes a command, another thread takes that: the worker's
// writes happen before it, by way of a process that is not watched. Nothing in other builds.
#pragma once

#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define ROUSE_WIRE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROUSE_WIRE_TSAN 1
#endif
#endif

#ifdef ROUSE_WIRE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace rouse::wire {

// Before a store that the peer may see, and after a load of what the peer has published. Any address will do that is the same
// in all of the process's libraries.
inline void peerMaySee() {
#ifdef ROUSE_WIRE_TSAN
  __tsan_release(&::environ);
#endif
}
inline void sawPeer() {
#ifdef ROUSE_WIRE_TSAN
  __tsan_acquire(&::environ);
#endif
}

}  // namespace rouse::wire
