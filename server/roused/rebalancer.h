// Takes functions that wait for room on their GPU to another that has some (rebalance_policy.h): asks the others how they are when
// an executor says that somebody waits, and moves one function at a time. On the event loop's thread.
#pragma once

#include <map>
#include <memory>

#include "server/roused/device_pool.h"
#include "server/roused/rebalance_policy.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {

class Rebalancer {
 public:
  // Both outlive it, and what they still have to answer.
  Rebalancer(DevicePool& pool, SessionTable& sessions) : pool_(pool), sessions_(sessions) {}

  void onSessionWaits(const channel::SessionWaits&);

 private:
  struct Round;
  void decide(Round&);

  DevicePool& pool_;
  SessionTable& sessions_;
  RebalancePolicy policy_;
  bool busy_ = false;
};

}  // namespace rouse::daemon
