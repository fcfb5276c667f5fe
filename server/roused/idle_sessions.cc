#include "server/roused/idle_sessions.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

namespace rouse::daemon {

std::chrono::milliseconds IdleSessions::pause() const { return std::chrono::milliseconds(std::clamp<std::uint64_t>(idle_ / 4, 20, 1000)); }

void IdleSessions::look() {
  std::erase_if(seen_, [this](const auto& entry) { return !sessions_.sessions().contains(entry.first); });
  std::vector<const Session*> served;
  for (const auto& [id, session] : sessions_.sessions())
    if (session->state == Session::State::open && session->devices.size() == 1 && session->devices.front().own && session->devices.front().served())
      served.push_back(session.get());
  for (const Session* session : served) {
    session->devices.front().executor->request(
        channel::ExecutorStatusRequest{}, {}, [this, id = session->id](const Result<channel::Message>& answer) {
          const auto* status = answer ? std::get_if<channel::ExecutorStatus>(&answer->body) : nullptr;
          if (status == nullptr) return;
          for (const channel::SessionUsage& usage : status->sessions)
            if (usage.sessionId == id) saw(id, usage);
        });
  }
}

void IdleSessions::saw(std::uint64_t id, const channel::SessionUsage& usage) {
  const auto now = Clock::now();
  auto [found, fresh] = seen_.try_emplace(id, Seen{usage.commands, usage.consumption.busyNs, now});
  Seen& seen = found->second;
  if (seen.commands != usage.commands || seen.busyNs != usage.consumption.busyNs) seen = {usage.commands, usage.consumption.busyNs, now};
  if (now - seen.since < std::chrono::milliseconds(idle_)) return;
  seen.since = now;  // if it cannot now, not before as much time again
  sessions_.sleep(id, 0, usage, [id](const Status& status) {
    if (!status) spdlog::debug("session {}: goes on with its executor: {}", id, status.error().message);
  });
}

}  // namespace rouse::daemon
