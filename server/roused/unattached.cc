#include "server/roused/unattached.h"

#include <spdlog/spdlog.h>

#include <string_view>
#include <vector>

#include "schemas/wire/readable.h"
#include "server/roused/descriptors.h"

namespace rouse::daemon {
namespace {

// In a time that says nothing of where they differ.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

}  // namespace

void Unattached::add(const SessionTable::Returned& session) {
  auto waiting = std::make_unique<Waiting>(io_);
  wire::OwnedFd process;
  if (session.process)
    if (auto copy = duplicate(*session.process)) process = std::move(*copy);
  if (process) {
    waiting->process.assign(process.release());
    awaitEnd(session.id, *waiting);
  } else {
    waiting->patience.expires_after(kPatience);
    waiting->patience.async_wait([this, id = session.id](const boost::system::error_code& error) {
      if (!error) ended(id);
    });
  }
  waiting_[session.id] = std::move(waiting);
}

void Unattached::awaitEnd(std::uint64_t id, Waiting& waiting) {
  waiting.process.async_wait(waiting.process.wait_read, [this, id](const boost::system::error_code& error) {
    if (error) return;  // and this may be gone
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    if (!wire::readable(found->second->process.native_handle())) return awaitEnd(id, *found->second);
    ended(id);
  });
}

void Unattached::ended(std::uint64_t id) {
  spdlog::info("session {}: its process has ended, or has not come back", id);
  close(id);
}

// What it watches others have as well (the session's pidfd): closing it would leave it with the reactor.
Unattached::Waiting::~Waiting() {
  if (process.is_open()) const wire::OwnedFd closed(process.release());
}

void Unattached::close(std::uint64_t id) {
  if (waiting_.erase(id) != 0) sessions_.close(id);
}

void Unattached::forget(const channel::Peer& peer) {
  std::vector<std::uint64_t> theirs;
  for (const auto& [id, waiting] : waiting_)
    if (const auto found = sessions_.sessions().find(id); found != sessions_.sessions().end() && found->second->who.pid == peer.pid && peer.pid != 0)
      theirs.push_back(id);
  for (const std::uint64_t id : theirs) close(id);
}

Result<const Session*> Unattached::take(const channel::Reattach& asked, const channel::Peer& peer) {
  const Error none{CudaError::devicesUnavailable, "there is no session " + std::to_string(asked.sessionId) + " for this process"};
  const auto waiting = waiting_.find(asked.sessionId);
  const auto found = sessions_.sessions().find(asked.sessionId);
  if (waiting == waiting_.end() || found == sessions_.sessions().end()) return none;
  const Session& session = *found->second;
  if (session.state != Session::State::open || session.who.uid != peer.uid || session.who.pid != peer.pid || !equal(session.key, asked.key)) return none;
  waiting_.erase(waiting);
  return &session;
}

}  // namespace rouse::daemon
