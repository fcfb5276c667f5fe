#include "server/control/channel.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "server/control/close_apart.h"
#include "server/control/codec.h"

namespace rouse::channel {
namespace {

// A peer that sends without pause must not keep the loop from the others.
constexpr int kMessagesPerTurn = 16;
constexpr std::chrono::seconds kLastWords{1};
constexpr std::size_t kMostDrainedBytes = std::size_t{4} << 20;

}  // namespace

Channel::Channel(boost::asio::any_io_executor executor, wire::OwnedFd socket, Limits limits)
    : socket_(std::move(executor), socket.release()), limits_(limits), reader_(limits.frames) {
  socket_.non_blocking(true);
}

std::shared_ptr<Channel> Channel::create(boost::asio::any_io_executor executor, wire::OwnedFd socket, Limits limits) {
  return std::shared_ptr<Channel>(new Channel(std::move(executor), std::move(socket), limits));
}

void Channel::start(OnMessage onMessage, OnClosed onClosed) {
  onMessage_ = std::move(onMessage);
  onClosed_ = std::move(onClosed);
  awaitReadable();
}

bool Channel::reads() const {
  return paused_ == 0 && !closing_ && !failed_ && open() && writer_.queuedBytes() <= limits_.unansweredBytes;
}

void Channel::awaitReadable() {
  if (reading_ || !reads()) return;
  reading_ = true;
  socket_.async_wait(socket_.wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    self->reading_ = false;
    if (!error) self->read();
  });
}

void Channel::read() {
  for (int taken = 0; taken < kMessagesPerTurn; ++taken) {
    if (!reads()) return;
    auto progress = reader_.read(socket());
    if (!progress) return fail(progress.error());
    if (*progress == FrameReader::Progress::ended) return fail({CudaError::success, "the peer closed the connection"});
    if (*progress == FrameReader::Progress::again) break;
    Frame frame = reader_.take();
    auto message = decode(frame.words);
    if (!message) {
      closeApart(std::move(frame.fds));
      return fail(message.error());
    }
    message->fds = std::move(frame.fds);
    onMessage_(std::move(*message));
  }
  awaitReadable();
}

void Channel::resume() {
  --paused_;
  awaitReadable();
}

void Channel::send(std::uint64_t id, const Body& body, std::vector<wire::OwnedFd> fds) {
  if (!open() || closing_ || unwritable_) return;
  if (Status status = writer_.push(encode(id, body), std::move(fds)); !status) return failWriting(status.error());
  if (writer_.queuedBytes() > limits_.queuedBytes) {
    return failWriting({CudaError::invalidValue, "the peer does not read: " + std::to_string(writer_.queuedBytes()) +
                                              " bytes are unsent, the limit is " +
                                              std::to_string(limits_.queuedBytes)});
  }
  if (!writing_) write();
}

void Channel::write() {
  const bool heldBack = !reads();
  auto sent = writer_.write(socket());
  if (!sent) {
    const bool gone = sent.error().code == CudaError::systemNotReady;
    return failWriting({gone ? CudaError::success : sent.error().code, sent.error().message});
  }
  if (!*sent) awaitWritable();
  if (closing_ && *sent) return drain();
  if (heldBack) awaitReadable();
}

void Channel::awaitWritable() {
  writing_ = true;
  socket_.async_wait(socket_.wait_write, [self = shared_from_this()](const boost::system::error_code& error) {
    self->writing_ = false;
    if (!error && self->open()) self->write();
  });
}

void Channel::close() {
  boost::system::error_code ignored;  // the descriptor is gone in any case
  socket_.close(ignored);
  closeApart(reader_.take().fds);  // of a message that has not come to its end
  // The handlers may be running and may own this object.
  boost::asio::post(socket_.get_executor(),
                    [self = shared_from_this()] { self->onMessage_ = {}, self->onClosed_ = {}; });
}

void Channel::closeAfterSending() {
  if (!open() || closing_) return;
  if (unwritable_) return close();
  closing_ = true;
  auto timer = std::make_shared<boost::asio::steady_timer>(socket_.get_executor(), kLastWords);
  timer->async_wait([self = shared_from_this(), timer](const boost::system::error_code&) {
    if (self->open()) self->close();
  });
  if (writer_.empty()) drain();
}

// A Unix socket that is closed with bytes unread resets the connection, and a peer that finds it reset while it still
// writes never reads why it was cut off. So what the peer still sends is taken, up to a limit, until it closes too.
void Channel::drain() {
  if (std::exchange(draining_, true)) return;
  ::shutdown(socket(), SHUT_WR);
  discard();
}

void Channel::discard() {
  std::array<std::byte, 16384> dropped;  // descriptors that come along are closed by recv
  while (open() && drainedBytes_ < kMostDrainedBytes) {
    const ssize_t got = ::recv(socket(), dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (got > 0) {
      drainedBytes_ += static_cast<std::size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) break;
    socket_.async_wait(socket_.wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->discard();
    });
    return;
  }
  if (open()) close();
}

void Channel::fail(const Error& error) {
  if (!open() || failed_) return;
  if (closing_) return close();
  failed_ = true;
  if (OnClosed onClosed = std::move(onClosed_)) onClosed(error);
  if (!closing_ && open()) close();
}

void Channel::failWriting(const Error& error) {
  unwritable_ = true;
  fail(error);
}

}  // namespace rouse::channel
