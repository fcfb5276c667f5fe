#include "schemas/wire/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace rouse::wire {

// errno belongs to the program that this library lives in.
void futexWait(const std::uint32_t* word, std::uint32_t expected, std::chrono::nanoseconds atMost) {
  const int saved = errno;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(atMost);
  timespec timeout{};
  timeout.tv_sec = seconds.count();
  timeout.tv_nsec = (atMost - seconds).count();
  ::syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
  errno = saved;
}

void futexWakeAll(const std::uint32_t* word) {
  const int saved = errno;
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  errno = saved;
}

}  // namespace rouse::wire
