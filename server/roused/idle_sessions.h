// Isolated sessions that have done nothing for a while give their executors back (SessionTable::sleep()): a context costs a GPU memory, whether
// it is used or not. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <map>

#include "server/roused/repeated.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {

class IdleSessions {
 public:
  // `idle`: milliseconds, as of now.
  IdleSessions(boost::asio::io_context& io, SessionTable& sessions, const std::uint64_t& idle) : sessions_(sessions), idle_(idle), looks_(io, [this] { return pause(); }, [this] { look(); }) {}

  void start() { looks_.start(); }
  void stop() { looks_.stop(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::uint64_t commands = 0, busyNs = 0;
    Clock::time_point since;
  };

  std::chrono::milliseconds pause() const;
  void look();
  void saw(std::uint64_t session, const channel::SessionUsage&);

  SessionTable& sessions_;
  const std::uint64_t& idle_;
  Repeated looks_;
  std::map<std::uint64_t, Seen> seen_;  // by session
};

}  // namespace rouse::daemon
