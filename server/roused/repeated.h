// What is done again and again, with pauses, until it is stopped. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <utility>

namespace rouse::daemon {

class Repeated {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // `pause`: asked for before each. The loop must have ended, or forgotten its handlers, before this goes.
  Repeated(boost::asio::io_context& io, std::function<Duration()> pause, std::function<void()> body) : timer_(io), pause_(std::move(pause)), body_(std::move(body)) {}

  // The first time after a pause.
  void start() {
    running_ = true;
    again();
  }
  // It is not done any more, nor does it keep the loop going. A timer that has expired already, whose handler is only still to run, cannot be cancelled.
  void stop() {
    running_ = false;
    timer_.cancel();
  }

 private:
  void again() {
    timer_.expires_after(pause_());
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || !running_) return;
      body_();
      if (running_) again();
    });
  }

  boost::asio::steady_timer timer_;
  std::function<Duration()> pause_;
  std::function<void()> body_;
  bool running_ = false;
};

}  // namespace rouse::daemon
