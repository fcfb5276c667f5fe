// Accepts connections on the daemon's socket.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "schemas/wire/owned_fd.h"
#include "server/control/peer.h"

namespace rouse::daemon {

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
