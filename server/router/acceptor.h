// Accepts connections on one listening socket, TCP or Unix.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

#include "schemas/wire/owned_fd.h"
#include "server/router/http.h"

namespace rouse::router {

class Acceptor {
 public:
  // `address`: of the client, "unknown" where there is none.
  using OnClient = std::function<void(Socket, std::string address)>;

  // `removePath` (if not empty) is unlinked at the end.
  Acceptor(asio::io_context&, wire::OwnedFd listening, std::string removePath, OnClient);
  ~Acceptor() { stop(); }
  Acceptor(const Acceptor&) = delete;

  void start() { await(); }
  void stop();
  int socket() { return socket_.native_handle(); }

 private:
  void await();
  void accept();

  asio::io_context& io_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer pause_;
  std::string removePath_;
  OnClient onClient_;
};

}  // namespace rouse::router
