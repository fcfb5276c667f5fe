#include "server/device/cpu/engine_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace rouse::cpu {
namespace {

// sched_setattr(2), first version; the C library has no name for it before 2.41.
struct Attributes {
  std::uint32_t size = sizeof(Attributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

// A shorter slice is an earlier deadline: who wakes up with one comes before who computes (Linux 6.12; the least there is. Earlier
// kernels ignore it).
constexpr std::uint64_t kSliceNs = 100'000;
// What a piece of a transfer takes is to come off the kernels' time and not to be shared with them.
constexpr int kNice = -10;

bool schedule(int nice) {
  Attributes attributes;
  attributes.nice = nice;
  attributes.runtime = kSliceNs;
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace

void beEngine() {
  const int inherited = ::getpriority(PRIO_PROCESS, 0);
  if (!schedule(kNice < inherited ? kNice : inherited)) schedule(inherited);
}

}  // namespace rouse::cpu
