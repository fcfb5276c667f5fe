// Executors whose daemon has been killed, and which this one takes over: at a socket beside the daemon's own (named like it with ".adopt" behind, for
// its user alone) each tells what it has, and is this daemon's from then on or is told why not, and ends. Which there are the state file says; they
// are awaited before any other is started, since they have the GPUs. On the event loop's thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/control/channel.h"
#include "server/control/message.h"
#include "server/roused/listener.h"
#include "server/roused/state_file.h"

namespace rouse::daemon {

std::string adoptionPath(const std::string& socket);

// One that has told all it has, and waits for its answer. What it says has been checked for form only.
struct Orphan {
  pid_t pid = 0;
  wire::OwnedFd process;  // pidfd
  std::shared_ptr<channel::Channel> channel;
  // Whose it is from now on says what becomes of what it sends.
  std::function<void(channel::Message)> onMessage;
  std::function<void(const Error&)> onClosed;

  channel::AdoptionOffer offer;
  wire::OwnedFd store, links;
  struct Module {
    channel::HeldModule held;
    wire::OwnedFd file;
  };
  std::vector<Module> modules;
  struct HeldSession {
    channel::HeldSession held;
    std::vector<wire::OwnedFd> segments;  // as openSession has them
    wire::OwnedFd process;
  };
  std::vector<HeldSession> sessions;
  std::uint64_t request = 0;  // to be answered

  // Why it is not adopted; it ends then.
  void refuse(const std::string& why);
};
using OrphanPtr = std::shared_ptr<Orphan>;

class Adoption {
 public:
  using Done = std::function<void(std::vector<OrphanPtr>)>;
  // How long those that live may take to come; they look for a daemon every ten milliseconds. Then they are killed.
  static constexpr std::chrono::milliseconds kPatience{5000};

  Adoption(boost::asio::io_context&, std::string path, std::chrono::milliseconds patience = kPatience);
  ~Adoption();

  // `done` is called once, from the event loop, when all of these have come or have ended. Whoever comes later, or is none of these, is told to end.
  Status start(const std::vector<SavedState::Process>& expected, Done done);
  void stop();
  // Nobody is adopted any more: executors that are here are told why and end, those that are awaited are killed.
  void refuse(const std::string& why);

 private:
  struct Expected {
    Expected(boost::asio::io_context& io, pid_t pid) : pid(pid), exit(io) {}
    pid_t pid;
    boost::asio::posix::stream_descriptor exit;
    bool here = false;
  };
  void await(Expected&);
  void onConnection(wire::OwnedFd, channel::Peer);
  void onMessage(const OrphanPtr&, channel::Message);
  Status take(Orphan&, channel::Message&);
  void drop(const OrphanPtr&, const Error& why);
  void forget(pid_t pid);
  void maybeDone();
  void giveUp();

  boost::asio::io_context& io_;
  const std::string path_;
  const std::chrono::milliseconds patience_;
  std::unique_ptr<Listener> listener_;
  std::list<Expected> expected_;
  std::vector<OrphanPtr> telling_, complete_;
  boost::asio::steady_timer timer_;
  Done done_;
};

}  // namespace rouse::daemon
