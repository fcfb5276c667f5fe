// The executor's end of the control connection to the daemon, driven by the reactor. Never blocks. Reactor thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/control/frame_io.h"
#include "server/control/message.h"

namespace rouse::executor {

class ControlLink {
 public:
  explicit ControlLink(wire::OwnedFd socket) : socket_(std::move(socket)), reader_(channel::FrameLimits{}) {}

  struct Received {
    std::optional<channel::Message> message;
    bool ended = false;  // the daemon closed the connection
  };
  // The next message, if there is one now. Errors are final.
  Result<Received> receive();

  // Queues and sends what the socket takes. Errors are final.
  Status send(std::uint64_t id, const channel::Body& body, std::vector<wire::OwnedFd> fds = {});
  Status flush();
  bool unsent() const { return !writer_.empty(); }

  int fd() const { return socket_.get(); }  // -1: none

 private:
  wire::OwnedFd socket_;
  channel::FrameReader reader_;
  channel::FrameWriter writer_;
};

}  // namespace rouse::executor
