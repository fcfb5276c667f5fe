#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// Earliest deadline first (Liu and Layland, JACM 1973): best of all where everything can be in time, and a landslide where it cannot.
class Edf final : public Queueing {
 public:
  Key key(const State&, const Function& f, Time) const override {
    return {f.spec.strict ? 0 : 1, seconds(f.headDeadline.time_since_epoch()), f.headNumber};
  }
};

}  // namespace

std::unique_ptr<Queueing> edfQueueing() { return std::make_unique<Edf>(); }

}  // namespace rouse::sched
