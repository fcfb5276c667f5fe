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

std::unique_ptr<Job> makeGraph(dnn::Parts parts) {
  Plan plan(std::move(parts));
  for (const dnn::Node& node : plan.parts().nodes) {
    switch (node.operation) {
      case dnn::Operation::convolutionForward: planConvolution(plan, node); break;
      case dnn::Operation::convolutionBackwardData: planConvolutionBackwardData(plan, node); break;
      case dnn::Operation::convolutionBackwardFilter: planConvolutionBackwardFilter(plan, node); break;
      case dnn::Operation::pointwise: planPointwise(plan, node); break;
      case dnn::Operation::reduction: planReduction(plan, node); break;
      case dnn::Operation::matrixProduct: planProduct(plan, node); break;
      case dnn::Operation::normForward: planNormForward(plan, node); break;
      case dnn::Operation::normBackward: planNormBackward(plan, node); break;
      case dnn::Operation::poolForward: planPoolForward(plan, node); break;
      case dnn::Operation::poolBackward: planPoolBackward(plan, node); break;
      case dnn::Operation::softmaxForward:
      case dnn::Operation::softmaxBackward: planSoftmax(plan, node); break;
      case dnn::Operation::responseNormForward:
      case dnn::Operation::responseNormBackward: planResponseNorm(plan, node); break;
      case dnn::Operation::copy: planCopy(plan, node); break;
    }
  }
  return std::make_unique<GraphJob>(std::move(plan));
}

}  // namespace rouse::library::cpu
