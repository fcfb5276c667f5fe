// The scheduler: what happened goes in, what to do comes out. A state machine without thread, clock, socket or device; the
// daemon and the simulator run this same code.
//
// step() is told one event and appends what is to be done because of it. An event that does not fit (a number that is not
// known, one that is known already, a limit passed) is an error that names it, and changes nothing. Times that go back count as
// the last one.
//
// Always: a request that arrived is run, refused or cancelled, each at most once (run twice only after its executor failed,
// where its function allows that). What is on a GPU, arriving included, never takes more than its memory. Nothing is evicted
// that runs, arrives, is copied from, or is pinned. A GPU runs no more requests at one time than it has slots, a function no
// more than its concurrency.
//
// Not thread-safe.
#pragma once

#include <vector>

#include "schemas/base/result.h"
#include "sched/policy.h"

namespace rouse::sched {

struct Settings {
  Duration window = std::chrono::minutes(10);  // that decides whether a function complies
};

class Scheduler {
 public:
  explicit Scheduler(Policies policies, Settings settings = {});

  Status step(const Event& event, Time now, std::vector<Action>& actions);

  const State& state() const { return state_; }
  // Functions that met their percentile in the window, of those that had requests in it.
  struct Compliance {
    std::size_t complying = 0, asked = 0;
  };
  Compliance compliance(Time now);

 private:
  using Actions = std::vector<Action>;

  Status handle(const FunctionAdded&, Actions&);
  Status handle(const FunctionChanged&, Actions&);
  Status handle(const FunctionRemoved&, Actions&);
  Status handle(const GpuAdded&, Actions&);
  Status handle(const PeerAdded&, Actions&);
  Status handle(const GpuLost&, Actions&);
  Status handle(const GpuReturned&, Actions&);
  Status handle(const RequestArrived&, Actions&);
  Status handle(const RequestCancelled&, Actions&);
  Status handle(const ModelArrived&, Actions&);
  Status handle(const ModelLeft&, Actions&);
  Status handle(const RequestFinished&, Actions&);
  Status handle(const ExecutorFailed&, Actions&);
  Status handle(const TimerFired&, Actions&);

  Function* function(FunctionId id);
  Gpu* gpu(GpuId id);
  Status check(const FunctionSpec& spec, FunctionId id) const;

  void dispatch(Actions&);
  void freshen();
  void apply(const Decision&, Actions&);
  Copy& bring(Function&, Gpu&, const Decision&, Actions&);
  void makeRoom(Gpu&, std::uint64_t bytes, Actions&);
  void arrived(Function&, Copy&);
  void finish(Request&, Duration run, bool ok);
  void clear(Gpu&, Actions&);
  void drop(Function&, GpuId);
  void forget(Function&);
  void refuse(const Request&, Reason, Duration after, Actions&);

  void push(Function&, const Request&, bool first);
  void reorder(Function&);      // its place in the order, after its head, its concurrency or its key changed
  void index(Function&, bool);  // into or out of the ready sets, as it is in the order
  void move(Function&, const Key& to);  // from one place in the order to another
  void rank(Function&);         // its copies: held or not, and who leaves first
  void rank(Function&, Copy&);
  void unrank(Function&, Copy&);
  static void setFirst(Gpu&);  // whose first leaver may be another one
  void setIdle(Gpu&);
  void charge(Gpu&, Duration);  // to its load
  void setTimer(Actions&);

  Policies policies_;
  Settings settings_;
  State state_;
  Time now_{};
  std::uint64_t arrivals_ = 0;
  std::uint64_t steps_ = 0;
  std::size_t turn_ = 0;  // whose copies are ranked again next, so that all are from time to time
  std::optional<Time> timer_;
};

}  // namespace rouse::sched
