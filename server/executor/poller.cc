#include "server/executor/poller.h"

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace rouse::executor {
namespace {

Error failed(const char* what) { return {CudaError::unknown, std::string(what) + ": " + std::strerror(errno)}; }

constexpr std::uint32_t kControl = 1, kEvents = 2;

Status add(int poller, int fd, std::uint32_t events, std::uint32_t kind) {
  epoll_event event{};
  event.events = events;
  event.data.u32 = kind;
  if (::epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) return failed("epoll_ctl");
  return {};
}

}  // namespace

Result<Poller> Poller::create() {
  wire::OwnedFd fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!fd) return failed("epoll_create1");
  return Poller(std::move(fd));
}

Status Poller::watchControl(int fd) { return add(fd_.get(), fd, EPOLLIN, kControl); }
Status Poller::watchEvents(int fd) { return add(fd_.get(), fd, EPOLLIN | EPOLLET, kEvents); }
void Poller::forget(int fd) { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Poller::wantWrite(int fd, bool want) {
  epoll_event event{};
  event.events = want ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u32 = kControl;
  ::epoll_ctl(fd_.get(), EPOLL_CTL_MOD, fd, &event);
}

bool Poller::wait(std::optional<std::chrono::nanoseconds> atMost) {
  constexpr int kEventCount = 64;
  epoll_event events[kEventCount];
  int count;
  if (!atMost || atMost->count() == 0) {
    count = ::epoll_wait(fd_.get(), events, kEventCount, atMost ? 0 : -1);
  } else {
    const timespec time{static_cast<time_t>(atMost->count() / 1'000'000'000),
                        static_cast<long>(atMost->count() % 1'000'000'000)};
    count = ::epoll_pwait2(fd_.get(), events, kEventCount, &time, nullptr);
    if (count < 0 && errno == ENOSYS) {  // Linux before 5.11
      pollfd readable{fd_.get(), POLLIN, 0};
      ::ppoll(&readable, 1, &time, nullptr);
      count = ::epoll_wait(fd_.get(), events, kEventCount, 0);
    }
  }
  bool control = false;
  for (int i = 0; i < count; ++i) control = control || events[i].data.u32 == kControl;
  return control;
}

}  // namespace rouse::executor
