// A client's connection as a request sees it: bytes both ways, one deadline for whatever is being waited for, and a
// look-out for a client that goes away while nothing is read from it. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "server/router/http.h"
#include "server/router/lazy_deadline.h"

namespace rouse::router {

class ClientStream {
 public:
  // `bufferLimit`: bytes that may lie unread.
  ClientStream(asio::io_context&, Socket, std::string address, std::size_t bufferLimit);
  ~ClientStream();
  ClientStream(const ClientStream&) = delete;

  Socket& socket() { return socket_; }
  boost::beast::flat_buffer& buffer() { return buffer_; }
  const std::string& address() const { return address_; }

  // The deadline. When it comes, what is pending on the socket is cancelled, and `interrupt` called; expired() tells.
  LazyDeadline& deadline() { return deadline_; }
  bool expired() const { return expired_; }
  void clearExpired() { expired_ = false; }
  // What else is waited for on behalf of this client. Called at most once for each expiry, departure and close().
  void setInterrupt(std::function<void()> interrupt) { interrupt_ = std::move(interrupt); }

  // From watch() to unwatch() nothing is read; gone() becomes true, and `interrupt` is called, when the client has
  // closed its side.
  void watch();
  void unwatch() { watching_ = false; }
  bool gone() const { return gone_; }

  // From any state; the socket is closed when what is pending has ended.
  void close();
  bool closed() const { return closed_; }
  // So that what was sent of an answer cannot be taken for all of it: the connection ends with a reset.
  void abort();

 private:
  struct Watch;
  void look();
  void interrupt();

  Socket socket_;
  boost::beast::flat_buffer buffer_;
  std::string address_;
  std::function<void()> interrupt_;
  std::shared_ptr<Watch> watch_;
  bool watching_ = false, gone_ = false, expired_ = false, closed_ = false;
  LazyDeadline deadline_;
};

}  // namespace rouse::router
