#include "server/roused/executor_link.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "schemas/wire/readable.h"
#include "server/roused/child_process.h"

namespace rouse::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto kStartUpLimit = 60s;
constexpr auto kDyingLimit = 1s;
// For what a process that has ended said last: it lies in the socket already.
constexpr auto kLastWordsLimit = 200ms;
// A process that has served this long starts the back-off afresh.
constexpr auto kStableAfter = 30s;
constexpr std::uint32_t kMaxBackOffFactor = 100;
constexpr int kNotExecuted = 127;  // child_process.cc
// In a row, as far as they count for one that served before it ended: it can, and is back within a second.
constexpr std::uint32_t kMostFailuresServed = 3;

}  // namespace

ExecutorLink::ExecutorLink(boost::asio::io_context& io, ExecutorOptions options, Events events)
    : io_(io), options_(std::move(options)), events_(std::move(events)), exit_(io), errors_(io), timer_(io), livenessTimer_(io) {}

ExecutorLink::~ExecutorLink() {
  if (channel_) channel_->close();
  if (pid_ > 0) {
    killNow();
    if (!adopted_) ::waitpid(pid_, nullptr, 0);
  }
}

// What the daemon sees of a process. Of one that was still starting it is no code of a device's.
Error ExecutorLink::failure(std::string text) const {
  return {state_ == State::starting ? CudaError::systemNotReady : CudaError::devicesUnavailable, std::move(text)};
}

// Ends a process that is no use any more; where it has ended by itself, goes on from there.
void ExecutorLink::discard() {
  if (pid_ < 0) return afterExit();
  killNow();
}

void ExecutorLink::killNow() {
  if (pid_ <= 0) return;
  if (adopted_) {
    // It may have been waited for by somebody else, and its number be another's.
    ::syscall(SYS_pidfd_send_signal, exit_.native_handle(), SIGKILL, nullptr, 0);
    return;
  }
  ::kill(-pid_, SIGKILL);  // its group: set by the child itself, so perhaps not there yet
  ::kill(pid_, SIGKILL);
}

void ExecutorLink::start() {
  if (stopRequested_) return;
  if (Status status = spawn(); !status) {
    state_ = State::starting;
    goDown(status.error());
    scheduleRestart();
  }
}

Status ExecutorLink::spawn() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{CudaError::systemNotReady, std::string("socketpair: ") + std::strerror(errno)};
  }
  wire::OwnedFd ours(pair[0]), theirs(pair[1]);
  absentAtStart_ = options_.identity.isolated() ? 0 : options_.absent();
  std::vector<std::string> argv = {options_.program,
                                   "--device",
                                   options_.kind,
                                   "--backend-dir",
                                   options_.backends,
                                   "--ordinal",
                                   std::to_string(ordinal()),
                                   "--memory",
                                   std::to_string(absentAtStart_ != 0 ? properties_.memoryBytes : options_.memory),
                                   "--workers",
                                   std::to_string(options_.workers),
                                   "--control-fd",
                                   std::to_string(kInheritedFd)};
  if (options_.swapPlan != "grouped")
    argv.insert(argv.end(), {"--swap-plan", options_.swapPlan == "whole" ? "0" : "1"});
  if (!options_.codeCache.empty())
    argv.insert(argv.end(), {"--code-cache", options_.codeCache, "--code-cache-bytes", std::to_string(options_.codeCacheBytes)});
  if (options_.identity.isolated()) argv.emplace_back("--isolated");
  if (absentAtStart_ != 0) argv.insert(argv.end(), {"--absent", std::to_string(absentAtStart_)});
  if (options_.discardLaunches) argv.emplace_back("--discard-launches");
  if (options_.orphanTimeout != 0)
    argv.insert(argv.end(), {"--adoption-socket", options_.adoptionSocket, "--orphan-ms", std::to_string(options_.orphanTimeout), "--description",
                             options_.describe()});
  std::vector<int> inherited = {theirs.get()};
  if (options_.homesBytes != 0) {
    inherited.push_back(options_.homesFd);
    argv.insert(argv.end(), {"--homes-fd", std::to_string(kInheritedFd + 1), "--homes-offset",
                             std::to_string(options_.homesOffset), "--homes-bytes", std::to_string(options_.homesBytes)});
  }
  if (options_.linksFd >= 0) {
    inherited.push_back(options_.linksFd);
    argv.insert(argv.end(), {"--links-fd", std::to_string(kInheritedFd + static_cast<int>(inherited.size()) - 1)});
  }
  auto standardError = errors_.open();
  if (!standardError) return std::move(standardError).error();
  auto child = startChild(argv, inherited, options_.orphanTimeout == 0 ? SIGKILL : 0, {}, standardError->get());
  if (!child) return std::move(child).error();
  pid_ = child->pid;
  exit_.assign(child->exit.release());
  state_ = State::starting;
  ending_ = adopted_ = false;
  ++incarnation_;
  watch();
  channel_ = channel::Channel::create(io_.get_executor(), std::move(ours),
                                      {.frames = {.bytes = control::kMaxFrameBytes, .fds = control::kMaxFrameFds}});
  channel_->start([this](channel::Message message) { onMessage(std::move(message)); }, [this](const Error& error) { onClosed(error); });
  timer_.expires_after(kStartUpLimit);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || state_ != State::starting) return;
    goDown(failure("the executor was not ready within 60 s"));
    discard();
  });
  return {};
}

void ExecutorLink::watch() {
  exit_.async_wait(exit_.wait_read, [this](const boost::system::error_code& error) {
    if (error || !exit_.is_open()) return;
    if (!wire::readable(exit_.native_handle())) return watch();
    onExit();
  });
}

void ExecutorLink::onClosed(const Error& error) {
  if (state_ == State::stopping) return;  // it ends as it was asked to
  if (error.code == CudaError::success) return awaitDeath();
  goDown(failure(error.message));
  discard();
}

Status ExecutorLink::adopt(Orphan& orphan) {
  auto standardError = errors_.open();
  if (!standardError) return std::move(standardError).error();
  pid_ = orphan.pid;
  exit_.assign(orphan.process.release());
  state_ = State::serving;
  hasServed_ = adopted_ = true;
  ending_ = false;
  ++incarnation_;
  properties_ = std::move(orphan.offer.ready.device);
  problem_.clear();
  readyAt_ = std::chrono::steady_clock::now();
  watch();
  channel_ = orphan.channel;
  orphan.onMessage = [this](channel::Message message) { onMessage(std::move(message)); };
  orphan.onClosed = [this](const Error& error) { onClosed(error); };
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(*standardError));
  channel_->send(orphan.request, channel::Adopted{}, std::move(fds));
  watchLiveness();
  return {};
}

// A driver's call that never returns ends no process: nobody else would notice.
void ExecutorLink::watchLiveness() {
  if (options_.liveness.count() == 0) return;
  liveness_ = std::make_shared<Liveness>(options_.liveness);
  livenessTurn_ = std::chrono::steady_clock::now();
  awaitLivenessTurn();
}

void ExecutorLink::awaitLivenessTurn() {
  livenessTimer_.expires_after(liveness_->interval());
  livenessTimer_.async_wait([this, current = std::weak_ptr(liveness_)](const boost::system::error_code& error) {
    // It may have expired already when its executor went.
    if (!error && !current.expired() && serving()) onLivenessTurn();
  });
}

void ExecutorLink::onLivenessTurn() {
  const auto now = std::chrono::steady_clock::now();
  switch (liveness_->turn(now - std::exchange(livenessTurn_, now))) {
    case Liveness::Step::nothing:
      break;
    case Liveness::Step::ask:
      // Its answer comes from the thread that serves; what it says is nobody's concern here.
      request(channel::ExecutorStatusRequest{}, {}, [](const Result<channel::Message>&) {});
      break;
    case Liveness::Step::end:
      goDown(failure("the executor has not answered for " + std::to_string(options_.liveness.count()) + " ms (executor.liveness), and is killed"));
      return discard();
  }
  awaitLivenessTurn();
}

std::string ExecutorOptions::describe() const {
  return kind + " GPU " + std::to_string(identity.gpu) + ", memory " + std::to_string(memory) + ", workers " + std::to_string(workers) + ", plan " + swapPlan +
         (discardLaunches ? ", launches discarded" : "") + ", store " + std::to_string(homesOffset) + "+" + std::to_string(homesBytes) + ", " + node;
}

// Its end of the connection is closed: it is dying, and how, its exit status will tell.
void ExecutorLink::awaitDeath() {
  ending_ = true;
  if (pid_ < 0) return afterExit();
  timer_.expires_after(kDyingLimit);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && pid_ > 0) killNow();
  });
}

void ExecutorLink::onMessage(channel::Message message) {
  if (liveness_) liveness_->heard();
  if (auto* ready = std::get_if<channel::ExecutorReady>(&message.body); ready && state_ == State::starting) {
    if (ready->wireHash != options_.wireHash) {
      goDown({CudaError::initializationError, "speaks another wire than this daemon: install both from one build"});
      return discard();
    }
    properties_ = std::move(ready->device);
    problem_.clear();
    state_ = State::serving;
    hasServed_ = true;
    readyAt_ = std::chrono::steady_clock::now();
    timer_.cancel();
    watchLiveness();
    return events_.onReady(*this);
  }
  // Why it does not come up, or why it ends: nobody asked. It is about to exit.
  if (auto* reason = std::get_if<Error>(&message.body);
      reason && message.id == 0 && (state_ == State::starting || state_ == State::serving)) {
    goDown(state_ == State::starting ? *reason : failure(reason->message));
    return awaitDeath();
  }
  if (auto* fault = std::get_if<channel::SessionFault>(&message.body); fault && message.id == 0) {
    return events_.onSessionFault(fault->sessionId, fault->error);
  }
  if (auto* waits = std::get_if<channel::SessionWaits>(&message.body); waits && message.id == 0)
    return events_.onSessionWaits(*waits);
  if (auto* wanted = std::get_if<channel::MemoryWanted>(&message.body); wanted && message.id == 0)
    return events_.onMemoryWanted(wanted->sessionId);
  const bool ofGuests = std::holds_alternative<channel::GuestGrant>(message.body) || std::holds_alternative<channel::GuestCall>(message.body) ||
                        std::holds_alternative<channel::PromiseWanted>(message.body) ||
                        std::holds_alternative<channel::GuestActive>(message.body);
  if (ofGuests && message.id == 0) return events_.onGuest(*this, message.body);
  const auto waiting = pending_.find(message.id);
  if (waiting == pending_.end()) {
    goDown({CudaError::unknown, "sent an unexpected " + std::string(channel::name(message.body))});
    return discard();
  }
  const Answer answer = std::move(waiting->second);
  pending_.erase(waiting);
  if (auto* error = std::get_if<Error>(&message.body)) return answer(std::move(*error));
  answer(std::move(message));
}

void ExecutorLink::request(const channel::Body& body, std::vector<wire::OwnedFd> fds, Answer answer) {
  if (!serving()) {
    return answer(Error{CudaError::devicesUnavailable, identity().name() + " is not being served"});
  }
  const std::uint64_t id = nextRequest_++;
  pending_.emplace(id, std::move(answer));
  channel_->send(id, body, std::move(fds));
}

void ExecutorLink::goDown(const Error& reason) {
  if (state_ == State::down) return;
  const State before = std::exchange(state_, State::down);
  const std::string name = identity().name();
  problem_ = reason.message.starts_with(name + " ") ? reason.message : name + ": " + reason.message;
  if (channel_) channel_->close();
  timer_.cancel();
  liveness_.reset();
  livenessTimer_.cancel();
  // Answers may start new requests: those find it down.
  auto pending = std::exchange(pending_, {});
  for (auto& [id, answer] : pending) {
    answer(Error{CudaError::devicesUnavailable, identity().name() + " was lost: " + reason.message});
  }
  if (before == State::stopping) return;
  if (before == State::serving) failuresInARow_ = std::min(failuresInARow_, kMostFailuresServed);
  if (before == State::serving && std::chrono::steady_clock::now() - readyAt_ > kStableAfter) failuresInARow_ = 0;
  events_.onDown(*this, before == State::serving, reason);
}

void ExecutorLink::onExit() {
  int status = 0;
  if (!adopted_) ::waitpid(pid_, &status, 0);  // the pidfd is readable: does not block
  boost::system::error_code ignored;
  exit_.close(ignored);
  errors_.close();
  std::string how = adopted_ ? "ended" : describeExit(status);
  if (const std::string said = errors_.lastLine(); !said.empty() && (status != 0 || adopted_)) how += ": " + said;
  else if (!adopted_ && WIFEXITED(status) && WEXITSTATUS(status) == kNotExecuted) how += ": " + options_.program;
  spdlog::debug("executor of {} (pid {}) {}", identity().name(), pid_, how);  // the pool says why, once
  pid_ = -1;
  how_ = how;
  if (ending_ || state_ == State::down || state_ == State::stopping) return afterExit();
  timer_.expires_after(kLastWordsLimit);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) afterExit();
  });
}

void ExecutorLink::afterExit() {
  if (how_.empty()) return;
  goDown(failure("the executor " + std::exchange(how_, {})));
  if (stopped_) {
    timer_.cancel();
    return std::exchange(stopped_, {})();
  }
  scheduleRestart();
}

void ExecutorLink::scheduleRestart() {
  if (stopRequested_) return;
  if (options_.identity.isolated()) return events_.onGone(*this);
  const auto factor = std::min(kMaxBackOffFactor, 1u << std::min(failuresInARow_, 10u));
  ++failuresInARow_;
  ++restarts_;
  timer_.expires_after(options_.backOff * factor);
  timer_.async_wait([this](const boost::system::error_code& error) {
    // It may have expired already when stop() cancelled it.
    if (!error && !stopRequested_) start();
  });
}

void ExecutorLink::stop(std::chrono::milliseconds grace, std::function<void()> stopped) {
  stopRequested_ = true;
  timer_.cancel();
  if (pid_ < 0) {
    how_.clear();
    if (state_ != State::down) state_ = State::stopping;  // nobody needs to hear why it ended
    goDown(failure("the daemon is shutting down"));
    return stopped();
  }
  stopped_ = std::move(stopped);
  if (state_ == State::serving) {
    channel_->send(0, channel::Shutdown{});
    state_ = State::stopping;
  } else {
    if (state_ != State::down) state_ = State::stopping;  // nobody needs to hear why it ended
    killNow();
  }
  timer_.expires_after(grace);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || pid_ < 0) return;
    spdlog::warn("executor of {} (pid {}) does not end: killed", identity().name(), pid_);
    killNow();
  });
}

}  // namespace rouse::daemon
