#include "server/roused/service_notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace rouse::daemon {

void notifyService(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || (path[0] != '/' && path[0] != '@') || std::strlen(path) >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, std::strlen(path));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  if (path[0] == '@') address.sun_path[0] = '\0';  // the abstract namespace
  const wire::OwnedFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // A service manager that does not listen is no reason to fail.
  ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), length);
}

std::optional<std::chrono::microseconds> watchdogInterval() {
  const char* interval = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (interval == nullptr || (pid != nullptr && std::atol(pid) != ::getpid())) return std::nullopt;
  const long long microseconds = std::atoll(interval);
  if (microseconds <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

Result<std::optional<wire::OwnedFd>> inheritedListener() {
  constexpr int kFirst = 3;
  const char* pid = std::getenv("LISTEN_PID");
  const char* fds = std::getenv("LISTEN_FDS");
  const bool ours = pid != nullptr && fds != nullptr && std::atol(pid) == ::getpid();
  const int count = ours ? std::atoi(fds) : 0;
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_FDNAMES");
  if (count == 0) return std::optional<wire::OwnedFd>();
  if (count != 1) {
    return Error{CudaError::invalidValue,
                 "socket activation passed " + std::to_string(count) + " sockets, the limit is 1"};
  }
  wire::OwnedFd listener(kFirst);
  ::fcntl(kFirst, F_SETFD, FD_CLOEXEC);
  int listening = 0, type = 0, domain = 0;
  socklen_t size = sizeof(int);
  ::getsockopt(kFirst, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size);
  ::getsockopt(kFirst, SOL_SOCKET, SO_TYPE, &type, &size);
  ::getsockopt(kFirst, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (!listening || type != SOCK_STREAM || domain != AF_UNIX) {
    return Error{CudaError::invalidValue,
                 "socket activation passed something that is not a listening Unix stream socket"};
  }
  return std::optional<wire::OwnedFd>(std::move(listener));
}

}  // namespace rouse::daemon
