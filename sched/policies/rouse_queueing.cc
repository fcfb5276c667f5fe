#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// Whose last chance comes first: by deadline less the time that it takes, with its swap where it is nowhere, in four groups that
// follow each other:
//
//   0  in time if begun by then
//   1  the same, of functions that cannot comply any more within a window, even if all goes well
//   2  too late whatever is done: those who can still be helped do not pay for them (EDF's landslide)
//   3  best effort
//
// Least laxity (Mok, MIT 1983) as far as a non-preemptive GPU allows it; what is lost is put off as in Clockwork (OSDI '20),
// and functions that are lost as by Torpor's required request count (section 5.2), but with a fixed threshold: a window's requests.
class Rouse final : public Queueing {
 public:
  Key key(const State& state, const Function& f, Time now) const override {
    if (!f.spec.strict) return {3, seconds(f.headDeadline.time_since_epoch()), f.headNumber};
    const Time last = f.headDeadline - state.serve(f);
    if (last < now) return {2, 0, f.headNumber};
    const bool lost = f.window.required(f.spec.percentile) > f.window.requests() && f.window.requests() >= kEnough;
    return {lost ? 1 : 0, seconds(last.time_since_epoch()), f.headNumber};
  }
  bool stale(const State& state, const Function& f, const Key&, Time now) const override {
    return f.headDeadline - state.serve(f) < now;
  }
  int groups() const override { return 2; }

 private:
  static constexpr std::uint32_t kEnough = 20;  // requests, to judge a function by
};

}  // namespace

std::unique_ptr<Queueing> rouseQueueing() { return std::make_unique<Rouse>(); }

}  // namespace rouse::sched
