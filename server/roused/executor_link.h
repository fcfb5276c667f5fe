// One executor: its process, started again when it dies unless it is an isolated one, and the requests on their way to it.
// Everything happens on the event loop's thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/device.h"
#include "schemas/base/result.h"
#include "server/control/channel.h"
#include "server/control/message.h"
#include "server/roused/adoption.h"
#include "server/roused/error_output.h"
#include "server/roused/executor_identity.h"
#include "server/roused/liveness.h"

namespace rouse::daemon {

struct ExecutorOptions {
  std::string program;
  std::string kind;  // "cpu", "cuda"
  std::string backends;
  ExecutorIdentity identity;
  std::uint64_t memory = 0;
  std::uint32_t workers = 0;
  std::string swapPlan = "grouped";
  bool discardLaunches = false;
  std::string codeCache;  // directory for compiled kernels; empty: none
  std::uint64_t codeCacheBytes = 0;
  // Its part of the host store; 0 bytes: it gets none. The descriptor is the pool's.
  int homesFd = -1;
  std::uint64_t homesOffset = 0, homesBytes = 0;
  int linksFd = -1;            // the node's modelled links, the pool's; -1: none
  std::uint64_t wireHash = 0;  // an executor that speaks another wire is refused
  // Where it is to look for another daemon, should this one be killed, for so many milliseconds; 0: it ends with this one.
  std::string adoptionSocket{};
  std::uint64_t orphanTimeout = 0;
  // One that serves and says nothing for so long, though it is asked, is ended as if it had died; 0: it is never asked.
  std::chrono::milliseconds liveness{0};
  // What else one that serves in the place of another must have in common with it (describe()): of its node.
  std::string node{};

  // All that an executor that was started by another daemon must have been started with, to be taken for one that this one has started.
  std::string describe() const;
  // Before the first restart; doubles with each failure in a row, up to a hundredfold.
  std::chrono::milliseconds backOff{100};
  // Of a shared one: what other executors have of the GPU when it is started.
  std::function<std::uint64_t()> absent = [] { return std::uint64_t{0}; };
};

class ExecutorLink {
 public:
  struct Events {
    std::function<void(ExecutorLink&)> onReady;
    // It had been serving (`served`) or had never come up; then the code is its device's, if that said why
    // (memory/start_failure.h). Requests under way have been answered with an error already.
    std::function<void(ExecutorLink&, bool served, const Error& reason)> onDown;
    std::function<void(std::uint64_t sessionId, const Error&)> onSessionFault;
    std::function<void(const channel::SessionWaits&)> onSessionWaits;
    std::function<void(std::uint64_t sessionId)> onMemoryWanted;
    // What it says of guests' memory: guestGrant, guestCall, promiseWanted, guestActive (control.capnp).
    std::function<void(ExecutorLink&, const channel::Body&)> onGuest = [](ExecutorLink&, const channel::Body&) {};
    // An isolated one's process has ended, by itself. It may be destroyed there.
    std::function<void(ExecutorLink&)> onGone = [](ExecutorLink&) {};
  };
  using Answer = std::function<void(Result<channel::Message>)>;

  ExecutorLink(boost::asio::io_context&, ExecutorOptions, Events);
  ~ExecutorLink();  // kills what is left
  ExecutorLink(const ExecutorLink&) = delete;
  ExecutorLink& operator=(const ExecutorLink&) = delete;

  void start();
  // Instead: the process that another daemon has started. It serves at once; onReady is not called.
  Status adopt(Orphan&);
  // Asks it to end; after `grace` it is killed. `stopped` is called when the process is gone.
  void stop(std::chrono::milliseconds grace, std::function<void()> stopped);

  bool serving() const { return state_ == State::serving && !ending_; }
  // It has served before and is to serve again.
  bool returning() const { return hasServed_ && !serving() && !stopRequested_; }
  // Grows with each start: tells sessions of a dead process from those of its successor.
  std::uint64_t incarnation() const { return incarnation_; }
  pid_t pid() const { return pid_; }
  std::uint32_t ordinal() const { return options_.identity.gpu; }
  const ExecutorIdentity& identity() const { return options_.identity; }
  void setGranted(std::uint64_t bytes) { options_.identity.granted = bytes; }
  // What others had when this process was started.
  std::uint64_t absentAtStart() const { return absentAtStart_; }
  const ExecutorOptions& options() const { return options_; }
  std::uint32_t restarts() const { return restarts_; }
  // Of the latest process that became ready.
  const memory::DeviceProperties& properties() const { return properties_; }
  // "GPU 0: …", why it does not serve; empty while it does, and before the first process has said anything.
  const std::string& problem() const { return problem_; }

  // The answer is called exactly once; with devicesUnavailable when the executor dies or is not serving, and with the
  // executor's own error when that is what it answers.
  void request(const channel::Body&, std::vector<wire::OwnedFd> fds, Answer);

 private:
  enum class State : std::uint8_t { down, starting, serving, stopping };

  Status spawn();
  void watch();
  void onClosed(const Error&);
  void onMessage(channel::Message);
  void goDown(const Error& reason);
  void awaitDeath();
  void onExit();
  void afterExit();
  void discard();
  void scheduleRestart();
  void killNow();
  void watchLiveness();
  void awaitLivenessTurn();
  void onLivenessTurn();
  Error failure(std::string text) const;

  boost::asio::io_context& io_;
  ExecutorOptions options_;
  Events events_;
  State state_ = State::down;
  bool ending_ = false;  // it has closed its end of the connection
  bool hasServed_ = false;
  bool adopted_ = false;  // no child of ours: nobody tells us how it ends
  std::uint64_t incarnation_ = 0;
  std::uint32_t restarts_ = 0;
  std::uint32_t failuresInARow_ = 0;
  pid_t pid_ = -1;
  std::string how_;                             // it ended, while what it said last may still be unread; else empty
  boost::asio::posix::stream_descriptor exit_;  // pidfd
  ErrorOutput errors_;
  boost::asio::steady_timer timer_;  // start-up deadline, restart, grace
  std::shared_ptr<Liveness> liveness_;  // of one that serves, as long as it does
  boost::asio::steady_timer livenessTimer_;
  std::chrono::steady_clock::time_point livenessTurn_;  // the last
  std::shared_ptr<channel::Channel> channel_;
  std::chrono::steady_clock::time_point readyAt_;
  memory::DeviceProperties properties_;
  std::string problem_;
  std::uint64_t nextRequest_ = 1;
  std::uint64_t absentAtStart_ = 0;
  std::unordered_map<std::uint64_t, Answer> pending_;
  bool stopRequested_ = false;
  std::function<void()> stopped_;
};

}  // namespace rouse::daemon
