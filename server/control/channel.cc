#include "server/control/channel.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <string>

#include "server/control/codec.h"

namespace rouse::channel {
namespace {

// A peer that sends without pause must not keep the loop from the others.
constexpr int kMessagesPerTurn = 16;
constexpr std::chrono::seconds kLastWords{1};

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

void Channel::awaitReadable() {
  if (reading_ || paused_ > 0 || closing_ || !open()) return;
  reading_ = true;
  socket_.async_wait(socket_.wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    self->reading_ = false;
    if (!error) self->read();
  });
}

void Channel::read() {
  for (int taken = 0; taken < kMessagesPerTurn; ++taken) {
    if (paused_ > 0 || closing_ || !open()) return;
    auto progress = reader_.read(socket());
    if (!progress) return fail(progress.error());
    if (*progress == FrameReader::Progress::ended) return fail({CudaError::success, "the peer closed the connection"});
    if (*progress == FrameReader::Progress::again) break;
    Frame frame = reader_.take();
    auto message = decode(frame.words);
    if (!message) return fail(message.error());
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
  if (!open() || closing_) return;
  if (Status status = writer_.push(encode(id, body), std::move(fds)); !status) return fail(status.error());
  if (writer_.queuedBytes() > limits_.queuedBytes) {
    return fail({CudaError::invalidValue, "the peer does not read: " + std::to_string(writer_.queuedBytes()) +
                                              " bytes are unsent, the limit is " +
                                              std::to_string(limits_.queuedBytes)});
  }
  if (!writing_) write();
}

void Channel::write() {
  auto sent = writer_.write(socket());
  if (!sent) {
    const bool gone = sent.error().code == CudaError::systemNotReady;
    return fail({gone ? CudaError::success : sent.error().code, sent.error().message});
  }
  if (!*sent) return awaitWritable();
  if (closing_) close();
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
  // The handlers may be running and may own this object.
  boost::asio::post(socket_.get_executor(),
                    [self = shared_from_this()] { self->onMessage_ = {}, self->onClosed_ = {}; });
}

void Channel::closeAfterSending() {
  if (!open() || closing_) return;
  closing_ = true;
  if (writer_.empty()) return close();
  auto timer = std::make_shared<boost::asio::steady_timer>(socket_.get_executor(), kLastWords);
  timer->async_wait([self = shared_from_this(), timer](const boost::system::error_code&) {
    if (self->open()) self->close();
  });
}

void Channel::fail(const Error& error) {
  if (!open()) return;
  OnClosed onClosed = std::move(onClosed_);
  const bool wanted = !closing_;
  close();
  if (wanted && onClosed) onClosed(error);
}

}  // namespace rouse::channel
