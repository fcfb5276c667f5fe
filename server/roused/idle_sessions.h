// Isolated sessions that have done nothing for a while give their executors back (SessionTable::sleep()): a context costs a GPU memory, whether
// it is used or not. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>

#include "server/roused/session_table.h"

namespace rouse::daemon {

class IdleSessions {
 public:
  // `idle`: milliseconds, as of now.
  IdleSessions(boost::asio::io_context& io, SessionTable& sessions, const std::uint64_t& idle) : sessions_(sessions), idle_(idle), timer_(io) {}

  void start() { again(); }
  void stop() { timer_.cancel(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::uint64_t commands = 0, busyNs = 0;
    Clock::time_point since;
  };

  void again();
  void look();
  void saw(std::uint64_t session, const channel::SessionUsage&);

  SessionTable& sessions_;
  const std::uint64_t& idle_;
  boost::asio::steady_timer timer_;
  std::map<std::uint64_t, Seen> seen_;  // by session
};

}  // namespace rouse::daemon
