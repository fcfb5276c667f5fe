#include "bench/remoting/bare_wake.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <stdexcept>

#include "bench/report.h"
#include "schemas/wire/futex.h"

namespace rouse::bench {

BareWake::BareWake() {
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (page == MAP_FAILED || wake_ < 0) throw std::runtime_error("no shared page or eventfd");
  answered_ = new (page) std::atomic<std::uint64_t>(0);
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error("fork");
  if (child_ == 0) answer();
}

BareWake::~BareWake() {
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  ::close(wake_);
  ::munmap(answered_, 4096);
}

void BareWake::answer() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    pollfd readable{wake_, POLLIN, 0};
    ::poll(&readable, 1, -1);
    std::uint64_t count = 0;
    if (::read(wake_, &count, sizeof count) != sizeof count) continue;
    answered_->fetch_add(1, std::memory_order_release);
    wire::futexWakeAll(wire::lowWord(*answered_));
  }
}

double BareWake::roundTrip() {
  const std::uint64_t before = answered_->load(std::memory_order_relaxed);
  const double begin = now();
  const std::uint64_t one = 1;
  if (::write(wake_, &one, sizeof one) != sizeof one) throw std::runtime_error("eventfd");
  while (answered_->load(std::memory_order_acquire) == before) {
    wire::futexWait(wire::lowWord(*answered_), static_cast<std::uint32_t>(before), wire::kLivenessInterval);
  }
  return (now() - begin) * 1e9;
}

}  // namespace rouse::bench
