// What AddressSanitizer and ThreadSanitizer must be told of stacks that the runtime switches itself. Nothing in other
// builds.
#pragma once

#include <cstddef>

#include "schemas/base/sanitized.h"

#ifdef ROUSE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ROUSE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

// For what runs in a signal handler, where the thread may be in the middle of a sanitizer's runtime: calls nothing of it.
#if defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define ROUSE_UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef ROUSE_UNINSTRUMENTED
#define ROUSE_UNINSTRUMENTED
#endif

namespace rouse::cpu {

// Of one stack: what the sanitizers keep for it. The worker's own stack has one too.
struct StackAnnotation {
#ifdef ROUSE_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fakeStack = nullptr;
#endif
#ifdef ROUSE_TSAN
  void* fiber = nullptr;
#endif

  // Before the first switch to a fresh stack, and again when a stack was left for good in the middle of something.
  void begin(void* stackBottom, std::size_t stackBytes) {
#ifdef ROUSE_ASAN
    bottom = stackBottom;
    bytes = stackBytes;
    fakeStack = nullptr;
    __asan_unpoison_memory_region(stackBottom, stackBytes);
#endif
#ifdef ROUSE_TSAN
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
    fiber = __tsan_create_fiber(0);
#endif
  }
  void end() {
#ifdef ROUSE_TSAN
    if (fiber != nullptr) __tsan_destroy_fiber(fiber);
    fiber = nullptr;
#endif
  }
  // For the stack that the calling thread was born with.
  void adoptThread() {
#ifdef ROUSE_TSAN
    fiber = __tsan_get_current_fiber();
#endif
  }
};

// Around a switch: leave() just before, arrived() as the first thing on the stack that was switched to.
inline void leaveStack([[maybe_unused]] StackAnnotation& from, [[maybe_unused]] StackAnnotation& to) {
#ifdef ROUSE_ASAN
  __sanitizer_start_switch_fiber(&from.fakeStack, to.bottom, to.bytes);
#endif
#ifdef ROUSE_TSAN
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
}

// `here`: the stack arrived at; `from`: the one that was left, to learn the bounds of a thread's own stack.
inline void arrivedOnStack([[maybe_unused]] StackAnnotation& here, [[maybe_unused]] StackAnnotation* from) {
#ifdef ROUSE_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(here.fakeStack, &bottom, &bytes);
  if (from != nullptr && from->bottom == nullptr) {
    from->bottom = bottom;
    from->bytes = bytes;
  }
#endif
}

}  // namespace rouse::cpu
