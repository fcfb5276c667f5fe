#include "server/roused/service_notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace rouse::daemon {

namespace {

void notify(std::string_view state, int fd) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, std::strlen(path));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
  const wire::OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  iovec text{const_cast<char*>(state.data()), state.size()};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = length;
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  // A service manager that does not listen is no reason to fail.
  ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

void notifyService(std::string_view state) { notify(state, -1); }

void keepFile(std::string_view name, int fd) {
  notify("FDSTOREREMOVE=1\nFDNAME=" + std::string(name), -1);
  if (fd >= 0) notify("FDSTORE=1\nFDNAME=" + std::string(name), fd);
}

std::optional<std::chrono::microseconds> watchdogInterval() {
  const char* interval = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (interval == nullptr || (pid != nullptr && std::atol(pid) != ::getpid())) return std::nullopt;
  const long long microseconds = std::atoll(interval);
  if (microseconds <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

Result<Inherited> inheritedDescriptors() {
  constexpr int kFirst = 3;
  const char* pid = std::getenv("LISTEN_PID");
  const char* fds = std::getenv("LISTEN_FDS");
  const char* listed = std::getenv("LISTEN_FDNAMES");
  const bool ours = pid != nullptr && fds != nullptr && std::atol(pid) == ::getpid();
  const int count = ours ? std::atoi(fds) : 0;
  std::string names = ours && listed != nullptr ? listed : "";
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_FDNAMES");
  Inherited inherited;
  int sockets = 0;
  for (int fd = kFirst; fd < kFirst + count; ++fd) {
    wire::OwnedFd owned(fd);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    const std::string name = names.substr(0, names.find(':'));
    names.erase(0, std::min(names.size(), name.size() + 1));
    if (name == kKeptStore) {
      inherited.store = std::move(owned);
    } else {
      ++sockets;
      inherited.listener = std::move(owned);
    }
  }
  if (sockets == 0) return inherited;
  if (sockets != 1) {
    return Error{CudaError::invalidValue,
                 "socket activation passed " + std::to_string(sockets) + " sockets, the limit is 1"};
  }
  const int listener = inherited.listener->get();
  int listening = 0, type = 0, domain = 0;
  socklen_t size = sizeof(int);
  ::getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size);
  ::getsockopt(listener, SOL_SOCKET, SO_TYPE, &type, &size);
  ::getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (!listening || type != SOCK_STREAM || domain != AF_UNIX) {
    return Error{CudaError::invalidValue,
                 "socket activation passed something that is not a listening Unix stream socket"};
  }
  return inherited;
}

}  // namespace rouse::daemon
