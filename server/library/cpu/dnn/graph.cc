#include "server/library/cpu/dnn/graph.h"

#include "server/library/cpu/dnn/plan.h"

namespace rouse::library::cpu {

// Node by node, phase by phase.
class GraphJob final : public Job {
 public:
  explicit GraphJob(Plan plan) : plan_(std::move(plan)) {}
  std::uint64_t pieces() const override { return plan_.phases_[phase_].pieces; }
  void run(std::uint64_t piece) override { plan_.phases_[phase_].run(piece); }
  bool advance() override { return ++phase_ < plan_.phases_.size(); }

 private:
  Plan plan_;
  std::size_t phase_ = 0;
};

Result<std::unique_ptr<Job>> makeGraph(dnn::Parts parts) {
  Plan plan(std::move(parts));
  bool planned = plan.refusal().empty();
  for (const dnn::Node& node : plan.parts().nodes) planned = planned && plan.add(node);
  if (!planned) return Error{CudaError::notSupported, plan.refusal()};
  return std::unique_ptr<Job>(std::make_unique<GraphJob>(std::move(plan)));
}

}  // namespace rouse::library::cpu
