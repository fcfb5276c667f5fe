#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// First come, first served: Torpor-FIFO (section 7.3).
class Fifo final : public Queueing {
 public:
  Key key(const State&, const Function& f, Time) const override { return {0, 0, f.headNumber}; }
};

}  // namespace

std::unique_ptr<Queueing> fifoQueueing() { return std::make_unique<Fifo>(); }

}  // namespace rouse::sched
