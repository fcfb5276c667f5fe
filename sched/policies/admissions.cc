#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

std::optional<Refuse> full(const State& state, const Function& f, RequestId id) {
  if (f.waiting.size() < f.spec.queueLimit) return std::nullopt;
  // Until one of them has left.
  return Refuse{id, Reason::queueFull, state.run(f)};
}

// Per-function queue limits, nothing else.
class Limits final : public Admission {
 public:
  std::optional<Refuse> refuse(const State& state, const Function& f, RequestId id, Time) const override { return full(state, f, id); }
};

// Queue limits; and a request that would wait for longer than its deadline, even if all GPUs worked for those before it alone, is told so
// at once (as Clockwork does, OSDI '20), with the time after which the queue will be gone. It counts kPatience deadlines:
// the estimate is rough, and an answer that is a little late may still be wanted.
class Rouse final : public Admission {
 public:
  std::optional<Refuse> refuse(const State& state, const Function& f, RequestId id, Time now) const override {
    if (auto refused = full(state, f, id)) return refused;
    if (!f.spec.strict) return std::nullopt;
    if (state.slots == 0) return std::nullopt;  // a GPU may come back
    const Duration ofAll = fromSeconds(state.queuedSeconds / static_cast<double>(state.slots));
    const Duration ofThis = state.run(f) * static_cast<Duration::rep>(f.waiting.size()) / f.spec.concurrency;
    const Duration wait = std::max(ofAll, ofThis);
    if (wait + state.run(f) <= f.spec.deadline * kPatience) return std::nullopt;
    return Refuse{id, Reason::hopeless, std::max(wait - f.spec.deadline, state.run(f))};
  }

 private:
  static constexpr int kPatience = 2;
};

}  // namespace

std::unique_ptr<Admission> limitsAdmission() { return std::make_unique<Limits>(); }
std::unique_ptr<Admission> rouseAdmission() { return std::make_unique<Rouse>(); }

}  // namespace rouse::sched
