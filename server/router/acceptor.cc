#include "server/router/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rouse::router {
namespace {

// Of those that wait, before the loop does something else.
constexpr int kAtOnce = 64;

std::string addressOf(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text, sizeof text);
  } else if (from.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(from).sin6_addr, text, sizeof text);
  }
  return text[0] == '\0' ? "unknown" : text;
}

}  // namespace

Acceptor::Acceptor(asio::io_context& io, wire::OwnedFd listening, std::string removePath, OnClient onClient)
    : io_(io),
      socket_(io, listening.release()),
      pause_(io),
      removePath_(std::move(removePath)),
      onClient_(std::move(onClient)) {
  socket_.non_blocking(true);
}

void Acceptor::await() {
  socket_.async_wait(socket_.wait_read, [this](const ErrorCode& error) {
    if (!error) accept();
  });
}

void Acceptor::accept() {
  for (int i = 0; i < kAtOnce; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    wire::OwnedFd accepted(
        ::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!accepted) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        spdlog::error("router: cannot accept a connection: {}", std::strerror(errno));
        pause_.expires_after(std::chrono::seconds(1));
        return pause_.async_wait([this](const ErrorCode& error) {
          if (!error) await();
        });
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      continue;  // it went before it was accepted
    }
    if (from.ss_family != AF_UNIX) {
      const int on = 1;
      ::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    Socket socket(io_);
    ErrorCode error;
    socket.assign(asio::generic::stream_protocol(from.ss_family, from.ss_family == AF_UNIX ? 0 : IPPROTO_TCP),
                  accepted.get(), error);
    if (error) continue;
    accepted.release();
    onClient_(std::move(socket), addressOf(from));
  }
  await();
}

void Acceptor::stop() {
  ErrorCode ignored;
  pause_.cancel();
  socket_.close(ignored);
  if (!removePath_.empty()) ::unlink(removePath_.c_str());
  removePath_.clear();
}

}  // namespace rouse::router
