#include "server/roused/adoption.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "schemas/control/frame.h"
#include "schemas/wire/layout.h"
#include "schemas/wire/readable.h"
#include "server/roused/listening_socket.h"
#include "server/roused/printable.h"
#include "server/roused/process_handle.h"

namespace rouse::daemon {
namespace {

constexpr std::size_t kMostSessions = 65536, kMostModules = 65536;
constexpr std::size_t kSegments = 4;

Error malformed(std::string what) { return {CudaError::invalidValue, "its offer is not one: " + std::move(what)}; }

}  // namespace

std::string adoptionPath(const std::string& socket) { return socket + ".adopt"; }

void Orphan::refuse(const std::string& why) {
  spdlog::warn("executor (pid {}) of the daemon before this one is not adopted: {}", pid, why);
  if (!channel) return;
  channel->send(request, Error{CudaError::notPermitted, why});
  channel->closeAfterSending();
  // It ends by itself; should it not, it must not keep its GPU.
  onMessage = nullptr;
  onClosed = nullptr;
}

Adoption::Adoption(boost::asio::io_context& io, std::string path, std::chrono::milliseconds patience)
    : io_(io), path_(std::move(path)), patience_(patience), timer_(io) {}

Adoption::~Adoption() { stop(); }

Status Adoption::start(const std::vector<SavedState::Process>& expected, Done done) {
  done_ = std::move(done);
  auto socket = makeListeningSocket(path_, 0600, "");
  if (!socket) return socket.error();
  for (const SavedState::Process& process : expected) {
    wire::OwnedFd exit = openProcess(process.pid, process.start);
    if (!exit) continue;
    Expected& one = expected_.emplace_back(io_, process.pid);
    one.exit.assign(exit.release());
    await(one);
  }
  if (!expected_.empty()) spdlog::info("{} executors of the daemon before this one are awaited", expected_.size());
  listener_ = std::make_unique<Listener>(io_, std::move(*socket), path_, [this](wire::OwnedFd connection, channel::Peer peer) {
    onConnection(std::move(connection), peer);
  });
  listener_->start();
  timer_.expires_after(patience_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) giveUp();
  });
  boost::asio::post(io_, [this] { maybeDone(); });
  return {};
}

void Adoption::await(Expected& one) {
  one.exit.async_wait(one.exit.wait_read, [this, pid = one.pid](const boost::system::error_code& error) {
    if (error) return;
    const auto found = std::ranges::find(expected_, pid, &Expected::pid);
    if (found == expected_.end()) return;
    if (!wire::readable(found->exit.native_handle())) return await(*found);
    spdlog::warn("executor (pid {}) of the daemon before this one has ended", pid);
    forget(pid);
  });
}

void Adoption::stop() {
  timer_.cancel();
  listener_.reset();
  for (const OrphanPtr& orphan : telling_) orphan->channel->close();
  telling_.clear();
  complete_.clear();
  expected_.clear();
  done_ = nullptr;
}

void Adoption::refuse(const std::string& why) {
  for (Expected& one : expected_)
    if (!one.here) ::syscall(SYS_pidfd_send_signal, one.exit.native_handle(), SIGKILL, nullptr, 0);
  for (const OrphanPtr& orphan : std::exchange(complete_, {})) orphan->refuse(why);
  stop();
}

void Adoption::onConnection(wire::OwnedFd socket, channel::Peer peer) {
  if (peer.uid != ::geteuid()) return spdlog::warn("process {} (uid {}) is no executor of this daemon's", peer.pid, peer.uid);
  auto orphan = std::make_shared<Orphan>();
  orphan->pid = peer.pid;
  orphan->channel = channel::Channel::create(io_.get_executor(), std::move(socket), {.frames = {.bytes = control::kMaxFrameBytes, .fds = control::kMaxFrameFds}});
  orphan->onMessage = [this, weak = std::weak_ptr(orphan)](channel::Message message) {
    if (const OrphanPtr self = weak.lock()) onMessage(self, std::move(message));
  };
  orphan->onClosed = [this, weak = std::weak_ptr(orphan)](const Error& error) {
    if (const OrphanPtr self = weak.lock()) drop(self, error);
  };
  telling_.push_back(orphan);
  // The handlers may be exchanged while they run.
  orphan->channel->start(
      [orphan](channel::Message message) {
        if (const auto handler = orphan->onMessage) handler(std::move(message));
      },
      [orphan](const Error& error) {
        if (const auto handler = orphan->onClosed) handler(error);
      });
}

void Adoption::drop(const OrphanPtr& orphan, const Error& why) {
  if (why.code != CudaError::success) spdlog::warn("executor (pid {}) of the daemon before this one: {}", orphan->pid, why.message);
  orphan->channel->close();
  std::erase(telling_, orphan);
  if (std::erase(complete_, orphan) != 0)
    for (Expected& one : expected_)
      if (one.pid == orphan->pid) one.here = false;  // it may come again
}

void Adoption::onMessage(const OrphanPtr& orphan, channel::Message message) {
  if (Status status = take(*orphan, message); !status) {
    orphan->request = message.id;
    orphan->refuse(status.error().message);
    return drop(orphan, {CudaError::success, ""});
  }
  if (!std::holds_alternative<channel::Offered>(message.body)) return;
  orphan->request = message.id;
  std::erase(telling_, orphan);
  const auto known = std::ranges::find(expected_, orphan->pid, &Expected::pid);
  if (!done_ || known == expected_.end()) return orphan->refuse(done_ ? "it is none that is known to this daemon" : "its GPU is another's by now");
  orphan->process.reset(static_cast<int>(::syscall(SYS_pidfd_open, orphan->pid, 0)));  // known: its exit would have been seen
  if (!orphan->process) return orphan->refuse("it has ended");
  known->here = true;
  complete_.push_back(orphan);
  maybeDone();
}

Status Adoption::take(Orphan& orphan, channel::Message& message) {
  if (auto* offer = std::get_if<channel::AdoptionOffer>(&message.body)) {
    if (message.fds.size() != std::size_t{offer->hasStore} + offer->hasLinks) return malformed(std::to_string(message.fds.size()) + " files");
    orphan.offer = std::move(*offer);
    if (orphan.offer.hasStore) orphan.store = std::move(message.fds.front());
    if (orphan.offer.hasLinks) orphan.links = std::move(message.fds.back());
    return {};
  }
  if (auto* module = std::get_if<channel::HeldModule>(&message.body)) {
    if (message.fds.size() != 1 || orphan.modules.size() >= kMostModules) return malformed("a module too many, or without its file");
    orphan.modules.push_back({std::move(*module), std::move(message.fds.front())});
    return {};
  }
  if (auto* session = std::get_if<channel::HeldSession>(&message.body)) {
    const channel::OpenSession& open = session->open;
    if (message.fds.size() != kSegments + open.hasProcess || orphan.sessions.size() >= kMostSessions)
      return malformed("a session too many, or with " + std::to_string(message.fds.size()) + " descriptors");
    if (open.sessionId == 0 || open.identity.gpus == 0 || open.identity.gpus > wire::kMaxDevices || open.deviceIndex >= open.identity.gpus)
      return malformed("session " + std::to_string(open.sessionId) + ", device " + std::to_string(open.deviceIndex) + " of " + std::to_string(open.identity.gpus));
    wire::OwnedFd process;
    if (open.hasProcess) {
      process = std::move(message.fds.back());
      message.fds.pop_back();
    }
    orphan.sessions.push_back({std::move(*session), std::move(message.fds), std::move(process)});
    return {};
  }
  if (const auto* told = std::get_if<channel::Offered>(&message.body)) {
    if (message.id == 0 || told->modules != orphan.modules.size() || told->sessions != orphan.sessions.size())
      return malformed("of " + std::to_string(told->sessions) + " sessions " + std::to_string(orphan.sessions.size()) + " have come");
    return {};
  }
  return malformed("an unexpected " + std::string(channel::name(message.body)));
}

void Adoption::forget(pid_t pid) {
  std::erase_if(expected_, [pid](const Expected& one) { return one.pid == pid; });
  std::erase_if(complete_, [pid](const OrphanPtr& orphan) { return orphan->pid == pid; });
  maybeDone();
}

void Adoption::giveUp() {
  for (Expected& one : expected_) {
    if (one.here) continue;
    spdlog::error("executor (pid {}) of the daemon before this one has not come within {} ms, and is killed", one.pid, patience_.count());
    ::syscall(SYS_pidfd_send_signal, one.exit.native_handle(), SIGKILL, nullptr, 0);  // then it is forgotten
  }
}

void Adoption::maybeDone() {
  if (!done_ || !std::ranges::all_of(expected_, &Expected::here)) return;
  timer_.cancel();
  expected_.clear();
  std::exchange(done_, nullptr)(std::exchange(complete_, {}));
}

}  // namespace rouse::daemon
