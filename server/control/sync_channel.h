// A control connection for a thread that may block: the executor's control thread, tools, tests. Sending is safe from
// any thread; one thread receives.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "server/control/frame_io.h"
#include "server/control/message.h"

namespace rouse::channel {

class SyncChannel {
 public:
  // Takes a connected stream socket, blocking or not.
  explicit SyncChannel(wire::OwnedFd socket, FrameLimits limits = {}) : socket_(std::move(socket)), reader_(limits) {}
  // Connects to a socket by its path. Fails with systemNotReady and the path when nothing listens there.
  static Result<wire::OwnedFd> connect(const std::string& path);

  // Blocks until all is written.
  Status send(std::uint64_t id, const Body&, std::vector<wire::OwnedFd> fds = {});

  // Blocks for the next message, at most `timeout` when given. nullopt: the peer closed the connection. A timeout is
  // the error notReady; every other error is final.
  Result<std::optional<Message>> receive(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  // Wakes a blocked receive(), which then sees the end of the connection. Any thread.
  void shutdown();
  int socket() const { return socket_.get(); }

 private:
  wire::OwnedFd socket_;
  FrameReader reader_;
  std::mutex sendMutex_;
};

}  // namespace rouse::channel
