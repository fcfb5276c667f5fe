// A control connection on an Asio event loop. One thread runs the loop and calls everything here.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "server/control/frame_io.h"
#include "server/control/message.h"

namespace rouse::channel {

// Lives while it has an owner or a pending wait on its socket. After close() no handler is called again.
class Channel : public std::enable_shared_from_this<Channel> {
 public:
  struct Limits {
    FrameLimits frames;                    // what the peer may send
    std::size_t queuedBytes = 128u << 20;  // unsent; beyond it the peer is not reading and is cut off
    // Unsent; beyond it nothing more is read, as while paused. For peers that only answer what they have been asked: two that did so to each other might wait for ever.
    std::size_t unansweredBytes = ~std::size_t{0};
  };
  using OnMessage = std::function<void(Message)>;
  // Called once, when the connection is over for any reason but close(): the peer closed it (code success), broke the
  // frame or message format, does not read, or the socket failed. Nothing more is read; the handler may still send why
  // and closeAfterSending(), else the channel closes when it returns.
  using OnClosed = std::function<void(const Error&)>;

  static std::shared_ptr<Channel> create(boost::asio::any_io_executor, wire::OwnedFd socket, Limits);

  void start(OnMessage, OnClosed);
  void send(std::uint64_t id, const Body&, std::vector<wire::OwnedFd> fds = {});

  // Back-pressure: while paused nothing is read. Nests.
  void pause() { ++paused_; }
  void resume();

  // At once; what is queued is dropped.
  void close();
  // Hands no more messages over; closes when what is queued is sent and the peer has closed too, at the latest after a
  // second. What the peer still sends is dropped.
  void closeAfterSending();

  bool open() const { return socket_.is_open(); }
  int socket() { return socket_.native_handle(); }

 private:
  Channel(boost::asio::any_io_executor, wire::OwnedFd socket, Limits);
  bool reads() const;
  void awaitReadable();
  void awaitWritable();
  void read();
  void write();
  void drain();
  void discard();
  void fail(const Error&);
  void failWriting(const Error&);

  boost::asio::posix::stream_descriptor socket_;
  Limits limits_;
  FrameReader reader_;
  FrameWriter writer_;
  OnMessage onMessage_;
  OnClosed onClosed_;
  int paused_ = 0;
  bool reading_ = false;  // a wait is pending
  bool writing_ = false;
  bool closing_ = false;  // closes when the queue is empty and the peer has closed
  bool draining_ = false;
  bool failed_ = false;      // the owner has been told
  bool unwritable_ = false;  // nothing can be sent any more
  std::size_t drainedBytes_ = 0;
};

}  // namespace rouse::channel
