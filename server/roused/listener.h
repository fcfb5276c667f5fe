// The daemon's socket: makes it (or takes the one systemd made), accepts connections, removes it.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"
#include "server/control/peer.h"

namespace rouse::daemon {

// Binds and listens. Makes the folder if it is missing, takes over a socket nobody listens on any more, and refuses one
// that somebody does.
Result<wire::OwnedFd> makeListeningSocket(const std::string& path, mode_t mode, const std::string& group);

class Listener {
 public:
  using OnConnection = std::function<void(wire::OwnedFd, channel::Peer)>;

  // `removePath` (if not empty) is unlinked at the end.
  Listener(boost::asio::io_context&, wire::OwnedFd socket, std::string removePath, OnConnection);
  ~Listener() { stop(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start() { awaitConnection(); }
  void stop();

 private:
  void awaitConnection();
  void accept();

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  std::string removePath_;
  OnConnection onConnection_;
};

}  // namespace rouse::daemon
