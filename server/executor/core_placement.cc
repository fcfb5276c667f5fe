#include "server/executor/core_placement.h"

namespace rouse::executor {

CorePlacement::CorePlacement() {
  CPU_ZERO(&allowed_);
  // Without an answer (more cores than cpu_set_t holds) nothing is allowed, and nothing is moved.
  if (::sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) CPU_ZERO(&allowed_);
}

void CorePlacement::moveTo(std::uint32_t core) const {
  if (core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed_) || ::sched_getcpu() == static_cast<int>(core)) return;
  cpu_set_t there;
  CPU_ZERO(&there);
  CPU_SET(core, &there);
  if (::sched_setaffinity(0, sizeof there, &there) == 0) ::sched_setaffinity(0, sizeof allowed_, &allowed_);
}

}  // namespace rouse::executor
