#include "server/roused/rebalancer.h"

#include <chrono>
#include <vector>

#include "server/roused/migration.h"

namespace rouse::daemon {
namespace {

std::uint64_t nowNs() {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

struct Rebalancer::Round {
  RebalancePolicy::Waiting waiting;
  std::vector<RebalancePolicy::Gpu> others;
  std::size_t awaited = 1;  // one more than is asked: some answer at once
};

// Who is told while another is on its way is told again: its executor says so again when it has waited for as long once more, or for a second.
void Rebalancer::onSessionWaits(const channel::SessionWaits& waits) {
  const auto found = sessions_.sessions().find(waits.sessionId);
  if (busy_ || pool_.serving() < 2 || found == sessions_.sessions().end() || !policy_.considers(waits.sessionId, nowNs())) return;
  const Session& session = *found->second;
  if (session.state != Session::State::open || session.devices.size() != 1) return;
  busy_ = true;
  policy_.forgetOld(nowNs());
  auto round = std::make_shared<Round>();
  round->waiting = {waits.sessionId, waits.wantedBytes, waits.reservedBytes};
  const auto arrived = [this, round] {
    if (--round->awaited == 0) decide(*round);
  };
  for (const auto& link : pool_.links()) {
    if (!link->serving() || !Migration::possible(session, 0, *link)) continue;
    ++round->awaited;
    link->request(channel::ExecutorStatusRequest{}, {}, [round, arrived, number = link->ordinal()](Result<channel::Message> answer) {
      if (const auto* status = answer ? std::get_if<channel::ExecutorStatus>(&answer->body) : nullptr)
        round->others.push_back({number, status->roomBytes, status->idleBytes, status->hostStorePromisableBytes, status->waiting});
      arrived();
    });
  }
  arrived();
}

void Rebalancer::decide(Round& round) {
  const auto gpu = RebalancePolicy::choose(round.waiting, round.others);
  if (!gpu) {
    busy_ = false;
    return;
  }
  sessions_.migrate(round.waiting.session, 0, *pool_.links()[*gpu], [this, session = round.waiting.session](const Status& status) {
    policy_.ended(session, status.ok(), nowNs());
    busy_ = false;
  });
}

}  // namespace rouse::daemon
