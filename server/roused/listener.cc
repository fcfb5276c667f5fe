#include "server/roused/listener.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace rouse::daemon {

Listener::Listener(boost::asio::io_context& io, wire::OwnedFd socket, std::string removePath, OnConnection onConnection)
    : socket_(io, socket.release()),
      pause_(io),
      removePath_(std::move(removePath)),
      onConnection_(std::move(onConnection)) {
  socket_.non_blocking(true);
}

void Listener::awaitConnection() {
  socket_.async_wait(socket_.wait_read, [this](const boost::system::error_code& error) {
    if (!error) accept();
  });
}

void Listener::accept() {
  wire::OwnedFd connection(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      spdlog::error("cannot accept a connection: {}", std::strerror(errno));
      pause_.expires_after(std::chrono::seconds(1));
      return pause_.async_wait([this](const boost::system::error_code& error) {
        if (!error) awaitConnection();
      });
    }
  } else if (auto peer = channel::peerOf(connection.get())) {
    onConnection_(std::move(connection), *peer);
  }
  awaitConnection();
}

void Listener::stop() {
  boost::system::error_code ignored;
  pause_.cancel();
  socket_.close(ignored);
  if (!removePath_.empty()) ::unlink(removePath_.c_str());
  removePath_.clear();
}

}  // namespace rouse::daemon
