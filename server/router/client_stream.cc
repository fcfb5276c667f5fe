#include "server/router/client_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace rouse::router {
namespace {

using namespace std::chrono_literals;

// Between looks at a client whose next request has arrived already: its bytes hide its end.
constexpr auto kBetweenLooks = 100ms;

}  // namespace

// Outlives the stream while the socket's wait is pending: it is left there between requests, and used by the next.
struct ClientStream::Watch {
  explicit Watch(asio::io_context& io) : timer(io) {}
  ClientStream* stream = nullptr;
  asio::steady_timer timer;
  bool pending = false;
};

ClientStream::ClientStream(asio::io_context& io, Socket socket, std::string address, std::size_t bufferLimit)
    : socket_(std::move(socket)),
      buffer_(bufferLimit),
      address_(std::move(address)),
      watch_(std::make_shared<Watch>(io)),
      deadline_(io.get_executor(), [this] {
        expired_ = true;
        ErrorCode ignored;
        socket_.cancel(ignored);
        interrupt();
      }) {
  watch_->stream = this;
}

ClientStream::~ClientStream() {
  watch_->stream = nullptr;
  watch_->timer.cancel();
}

void ClientStream::interrupt() {
  if (interrupt_) interrupt_();
}

void ClientStream::watch() {
  watching_ = true;
  look();
}

void ClientStream::look() {
  if (!watching_ || watch_->pending || closed_) return;
  pollfd state{socket_.native_handle(), POLLRDHUP, 0};
  if (::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    watching_ = false;
    gone_ = true;
    return interrupt();
  }
  watch_->pending = true;
  char byte;
  if (buffer_.size() == 0 && ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) {
    socket_.async_wait(socket_.wait_read, [watch = watch_](const ErrorCode&) {
      watch->pending = false;
      if (watch->stream != nullptr) watch->stream->look();
    });
  } else {
    watch_->timer.expires_after(kBetweenLooks);
    watch_->timer.async_wait([watch = watch_](const ErrorCode&) {
      watch->pending = false;
      if (watch->stream != nullptr) watch->stream->look();
    });
  }
}

void ClientStream::close() {
  if (std::exchange(closed_, true)) return;
  gone_ = true;
  deadline_.none();
  ErrorCode ignored;
  socket_.close(ignored);
  interrupt();
}

void ClientStream::abort() {
  ErrorCode ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

}  // namespace rouse::router
