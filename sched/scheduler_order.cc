// The order in which waiting functions are looked at (State::order), and the same by GPU (Gpu::ready).
#include <cmath>
#include <optional>

#include "sched/scheduler.h"

namespace rouse::sched {

void Scheduler::index(Function& f, bool in) {
  const Entry entry{*f.key, f.id};
  in ? (void)state_.order.insert(entry) : (void)state_.order.erase(entry);
  for (const Copy& copy : f.copies) {
    Gpu& g = state_.gpus[sched::index(copy.gpu)];
    in ? (void)g.ready.insert(entry) : (void)g.ready.erase(entry);
  }
}

void Scheduler::reorder(Function& f) {
  const bool could = !f.waiting.empty() && f.running < f.spec.concurrency;
  std::optional<Key> key;
  if (could) {
    const Request& head = state_.requests.at(f.waiting.front());
    f.headDeadline = head.deadline, f.headNumber = head.number, f.headFailedOn = head.failedOn;
  }
  if (could) key = policies_.queueing->key(state_, f, now_);
  if (key == f.key) return;
  if (f.key && key) {
    move(f, *key);
  } else if (f.key) {
    index(f, false);
    f.key.reset();
  } else {
    f.key = key;
    index(f, true);
  }
}

// Without giving the places' memory back and asking for as much again.
void Scheduler::move(Function& f, const Key& to) {
  const Entry from{*f.key, f.id};
  const auto put = [&](std::set<Entry>& all) {
    auto place = all.extract(from);
    place.value().key = to;
    all.insert(std::move(place));
  };
  put(state_.order);
  for (const Copy& copy : f.copies) put(state_.gpus[sched::index(copy.gpu)].ready);
  f.key = to;
}

void Scheduler::freshen() {
  for (int group = 0; group < policies_.queueing->groups(); ++group) {
    for (;;) {
      const auto first = state_.order.lower_bound(Entry{{group, -INFINITY, 0}, {}});
      if (first == state_.order.end() || first->key.group != group) break;
      Function& f = *function(first->function);
      if (!policies_.queueing->stale(state_, f, first->key, now_)) break;
      const Key before = first->key;
      reorder(f);
      if (f.key == before) break;
    }
  }
}

}  // namespace rouse::sched
