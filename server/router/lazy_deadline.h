// A deadline that is moved all the time and hardly ever comes: moving it is a store, the timer behind it is armed anew
// only when it fires too early or has to fire sooner. On the event loop's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace rouse::router {

class LazyDeadline {
 public:
  using Clock = std::chrono::steady_clock;

  // `expire` is called when the deadline has come, and not again before the next one is set.
  LazyDeadline(boost::asio::any_io_executor executor, std::function<void()> expire)
      : state_(std::make_shared<State>(std::move(executor), std::move(expire))) {}
  ~LazyDeadline() {
    state_->expire = nullptr;
    state_->timer.cancel();
  }
  LazyDeadline(const LazyDeadline&) = delete;
  LazyDeadline& operator=(const LazyDeadline&) = delete;

  void after(Clock::duration time) { at(Clock::now() + time); }
  void at(Clock::time_point time) {
    state_->deadline = time;
    if (time < state_->armedFor) arm(state_);
  }
  void none() { state_->deadline = Clock::time_point::max(); }

 private:
  struct State {
    State(boost::asio::any_io_executor executor, std::function<void()> expire)
        : timer(std::move(executor)), expire(std::move(expire)) {}
    boost::asio::steady_timer timer;
    std::function<void()> expire;
    Clock::time_point deadline = Clock::time_point::max(), armedFor = Clock::time_point::max();
  };
  static void arm(const std::shared_ptr<State>& state) {
    state->armedFor = state->deadline;
    state->timer.expires_at(state->deadline);
    state->timer.async_wait([state](const boost::system::error_code& error) {
      if (error || !state->expire) return;
      state->armedFor = Clock::time_point::max();
      if (state->deadline == Clock::time_point::max()) return;
      if (Clock::now() < state->deadline) return arm(state);
      state->deadline = Clock::time_point::max();
      state->expire();
    });
  }

  std::shared_ptr<State> state_;
};

}  // namespace rouse::router
