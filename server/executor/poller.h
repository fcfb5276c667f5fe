// What the reactor sleeps on: its control socket, its own eventfd and those of the rings. Reactor thread only.
//
// Eventfds are watched edge by edge and never read: a client shares its ring's and could make a read block.
#pragma once

#include <chrono>
#include <optional>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::executor {

class Poller {
 public:
  static Result<Poller> create();

  Status watchControl(int fd);
  void wantWrite(int fd, bool want);
  Status watchEvents(int fd);
  // Before the descriptor is closed: others may have it open still.
  void forget(int fd);

  // Until something happens, at most `atMost` when given. True if it was the control socket.
  bool wait(std::optional<std::chrono::nanoseconds> atMost);

 private:
  explicit Poller(wire::OwnedFd fd) : fd_(std::move(fd)) {}
  wire::OwnedFd fd_;
};

}  // namespace rouse::executor
