#include "server/router/backend_pool.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>

#include "schemas/wire/owned_fd.h"

namespace rouse::router {
namespace {

using namespace std::chrono_literals;

constexpr auto kMostIdle = 60s;
constexpr auto kBetweenTries = 2ms;

// Nothing to be read on it: neither an end nor bytes that nobody asked for.
bool isQuiet(int socket) {
  char byte;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

Error failed(const std::string& what) { return {CudaError::systemNotReady, what}; }

// A function owns the folder of its socket and could have put somebody else's socket, or a link to it, in its place.
Status checkOwner(int socket, const Target& target) {
  if (!target.owner) return {};
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return failed(std::string("SO_PEERCRED: ") + std::strerror(errno));
  if (peer.uid == *target.owner) return {};
  return failed("user " + std::to_string(peer.uid) + " listens on the function's socket, and the function is user " +
                std::to_string(*target.owner));
}

}  // namespace

std::unique_ptr<Backend> BackendPool::takeKept(const Target& target) {
  const auto found = kept_.find(target.name);
  if (found == kept_.end()) return nullptr;
  while (!found->second.empty()) {
    // The latest: its function has answered on it just now.
    auto backend = std::move(found->second.back());
    found->second.pop_back();
    const bool fresh = std::chrono::steady_clock::now() - backend->idleSince < kMostIdle;
    if (fresh && isQuiet(backend->socket.native_handle())) return backend;
  }
  return nullptr;
}

asio::awaitable<Result<std::unique_ptr<Backend>>> BackendPool::connect(std::shared_ptr<const Target> target,
                                                                       std::chrono::steady_clock::time_point until) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (target->socket.size() >= sizeof address.sun_path)
    co_return failed("the path of the function's socket is too long");
  std::memcpy(address.sun_path, target->socket.data(), target->socket.size());
  wire::OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) co_return failed(std::string("socket: ") + std::strerror(errno));
  asio::steady_timer timer(io_);
  // Asio takes EAGAIN, which is what a Unix socket says when its backlog is full, for a connection that is being made.
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN)
      co_return failed("nobody answers on the function's socket: " + std::string(std::strerror(error)));
    if (std::chrono::steady_clock::now() >= until) co_return failed("the function takes no more connections");
    timer.expires_after(kBetweenTries);
    ErrorCode ignored;
    co_await timer.async_wait(into(ignored));
  }
  if (Status status = checkOwner(socket.get(), *target); !status) co_return status.error();
  auto backend = std::make_unique<Backend>(io_);
  backend->socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), socket.release());
  co_return backend;
}

void BackendPool::keep(const Target& target, std::unique_ptr<Backend> backend) {
  // Bytes behind the end of an answer are nobody's.
  if (backend->buffer.size() != 0) return;
  auto& kept = kept_[target.name];
  if (kept.size() >= target.connections) return;
  backend->used = true;
  backend->idleSince = std::chrono::steady_clock::now();
  kept.push_back(std::move(backend));
}

void BackendPool::forget(std::string_view function) {
  if (const auto found = kept_.find(function); found != kept_.end()) kept_.erase(found);
}

}  // namespace rouse::router
