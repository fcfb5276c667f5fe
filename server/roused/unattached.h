// Sessions whose process was attached to a daemon before this one, until it has attached to this one: it does so when it next needs the daemon or
// waits for long, which may be never. Each ends with its process. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

#include "server/control/message.h"
#include "server/control/peer.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {

class Unattached {
 public:
  // How long one may stay away whose process cannot be watched; it is closed then.
  static constexpr std::chrono::seconds kPatience{60};

  Unattached(boost::asio::io_context& io, SessionTable& sessions) : io_(io), sessions_(sessions) {}

  void add(const SessionTable::Returned&);
  // The session, for the process to which it belongs: the same process of the same user, which knows the key. Nobody else learns more than that there
  // is no session for it.
  Result<const Session*> take(const channel::Reattach&, const channel::Peer&);
  // This process attaches anew: whatever it had it knows nothing of; its daemon was killed in the middle of that.
  void forget(const channel::Peer&);
  // Its session is over for another reason.
  void close(std::uint64_t id);
  void stop() { waiting_.clear(); }
  bool empty() const { return waiting_.empty(); }

 private:
  struct Waiting {
    explicit Waiting(boost::asio::io_context& io) : process(io), patience(io) {}
    Waiting(const Waiting&) = delete;
    ~Waiting();
    boost::asio::posix::stream_descriptor process;
    boost::asio::steady_timer patience;
  };

  void awaitEnd(std::uint64_t id, Waiting&);
  void ended(std::uint64_t id);

  boost::asio::io_context& io_;
  SessionTable& sessions_;
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;
};

}  // namespace rouse::daemon
