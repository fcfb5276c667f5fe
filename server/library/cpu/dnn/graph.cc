#include "server/library/cpu/dnn/graph.h"

#include <optional>
#include <stdexcept>

#include "server/library/cpu/dnn/plan.h"
#include "server/library/cpu/dnn/slices.h"

namespace rouse::library::cpu {

// Slice by slice, node by node, phase by phase.
class GraphJob final : public Job {
 public:
  explicit GraphJob(dnn::Parts parts) : slices_(slicesOf(parts)), parts_(std::move(parts)) {}

  // Plans that slice; false: it is refused.
  bool plan(std::int64_t slice) {
    plan_.reset();
    plan_.emplace(slices_.count() == 1 ? std::move(parts_) : sliceOf(parts_, slices_, slice));
    slice_ = slice;
    phase_ = 0;
    bool planned = plan_->refusal().empty();
    for (const dnn::Node& node : plan_->parts().nodes) planned = planned && plan_->add(node);
    return planned;
  }
  const std::string& refusal() const { return plan_->refusal(); }

  std::uint64_t pieces() const override { return phase_ < plan_->phases_.size() ? plan_->phases_[phase_].pieces : 0; }
  void run(std::uint64_t piece) override { plan_->phases_[phase_].run(piece); }
  bool advance() override {
    if (++phase_ < plan_->phases_.size()) return true;
    if (slice_ + 1 == slices_.count()) return false;
    // They are all alike.
    if (!plan(slice_ + 1)) throw std::runtime_error(plan_->refusal());
    return true;
  }

 private:
  const Slices slices_;
  dnn::Parts parts_;  // of several slices
  std::optional<Plan> plan_;
  std::int64_t slice_ = 0;
  std::size_t phase_ = 0;
};

Result<std::unique_ptr<Job>> makeGraph(dnn::Parts parts) {
  auto job = std::make_unique<GraphJob>(std::move(parts));
  if (!job->plan(0)) return Error{CudaError::notSupported, job->refusal()};
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace rouse::library::cpu
