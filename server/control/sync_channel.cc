#include "server/control/sync_channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "server/control/codec.h"

namespace rouse::channel {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<wire::OwnedFd> SyncChannel::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{CudaError::invalidValue, "socket path of " + std::to_string(path.size()) + " bytes, the limit is " +
                                              std::to_string(sizeof address.sun_path - 1) + ": " + path};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  wire::OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error{CudaError::systemNotReady, std::string("socket: ") + std::strerror(errno)};
  int failed;
  do {
    failed = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) {
    if (errno == EACCES || errno == EPERM)
      return Error{CudaError::notPermitted, "the daemon's socket " + path + " is not open to this user: " + std::strerror(errno) +
                                                " (daemon.socket_group and daemon.socket_mode say to whom it is)"};
    return Error{CudaError::systemNotReady, "no daemon at " + path + ": " + std::strerror(errno)};
  }
  return socket;
}

Status SyncChannel::send(std::uint64_t id, const Body& body, std::vector<wire::OwnedFd> fds) {
  FrameWriter writer;
  if (Status status = writer.push(encode(id, body), std::move(fds)); !status) return status;
  const std::lock_guard lock(sendMutex_);
  while (true) {
    auto sent = writer.write(socket_.get());
    if (!sent) return sent.error();
    if (*sent) return {};
    pollfd writable{socket_.get(), POLLOUT, 0};
    ::poll(&writable, 1, -1);
  }
}

Result<std::optional<Message>> SyncChannel::receive(std::optional<std::chrono::milliseconds> timeout) {
  const auto deadline = Clock::now() + timeout.value_or(std::chrono::milliseconds(0));
  while (true) {
    // Waiting is poll's alone, so that a peer that stops in the middle of a message cannot outlast the timeout.
    pollfd readable{socket_.get(), POLLIN, 0};
    int wait = -1;
    if (timeout) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      wait = static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
    }
    const int ready = ::poll(&readable, 1, wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return Error{CudaError::unknown, std::string("control socket: poll: ") + std::strerror(errno)};
    if (ready == 0) {
      return Error{CudaError::notReady, "no answer within " + std::to_string(timeout->count()) + " ms"};
    }
    auto progress = reader_.read(socket_.get());
    if (!progress) return std::move(progress).error();
    if (*progress == FrameReader::Progress::ended) return std::optional<Message>();
    if (*progress == FrameReader::Progress::again) continue;
    Frame frame = reader_.take();
    auto message = decode(frame.words);
    if (!message) return std::move(message).error();
    message->fds = std::move(frame.fds);
    return std::optional<Message>(std::move(*message));
  }
}

void SyncChannel::shutdown() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace rouse::channel
