// A graph on its way to a job: phases, one after the other, of pieces that are independent of each other; and the memory that lives as long.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schemas/dnn/check.h"
#include "server/library/cpu/dnn/view.h"
#include "server/library/cpu/number.h"

namespace rouse::library::cpu {

struct Phase {
  std::uint64_t pieces = 0;
  std::function<void(std::uint64_t)> run;  // any threads at the same time
};

class Plan {
 public:
  // The parts have been checked. Makes room for what passes between nodes.
  explicit Plan(dnn::Parts parts);

  const dnn::Parts& parts() const { return *parts_; }
  bool has(std::uint16_t tensor) const { return tensor != dnn::kNoTensor; }
  // Of a tensor's memory, wherever that is. Valid as long as the plan or what was moved from it.
  View view(std::uint16_t tensor) const { return views_[tensor]; }
  // Memory of the job's own, dense, with dimensions as they come.
  View scratch(dnn::Type type, std::uint32_t rank, const std::int64_t* dims);
  void phase(std::uint64_t pieces, std::function<void(std::uint64_t)> run) {
    if (pieces != 0) phases_.push_back({pieces, std::move(run)});
  }
  // What a piece of the node's will take, where its shape bounds it and nothing else: `arrays` of so many elements.
  template <class T>
  void needs(std::int64_t elements, std::int64_t arrays = 1) {
    needs(static_cast<double>(elements) * static_cast<double>(arrays) * sizeof(T));
  }

  // Plans that node; false: it needs more memory than a job may have (job.h), and the plan is of no use any more.
  bool add(const dnn::Node& node);
  const std::string& refusal() const { return refusal_; }

  // Whether the node is computed in double: small types and float in float.
  bool wide(const dnn::Node& node) const;

 private:
  friend class GraphJob;
  // Null: there is not so much for it, and the plan is refused.
  std::byte* room(std::int64_t elements, dnn::Type type);
  void needs(double bytes);
  void refuse(double bytes, std::uint64_t most, const char* what);

  const char* name_ = "what passes between operations";  // literal: what is being planned
  std::uint64_t bytes_ = 0;                               // of memory_
  std::string refusal_;
  std::unique_ptr<dnn::Parts> parts_;  // scalars are read where they lie in it
  std::vector<Buffer<std::byte>> memory_;
  std::vector<View> views_;
  std::vector<Phase> phases_;
};

// visit(T{}) with what the node is computed in.
template <class Visit>
void withComputed(const Plan& plan, const dnn::Node& node, Visit&& visit) {
  if (plan.wide(node)) visit(double{});
  else visit(float{});
}

// How a result goes to the node's first output.
template <class T>
struct Scale {
  T alpha, beta;
  explicit Scale(const dnn::Node& node) : alpha(static_cast<T>(node.alpha)), beta(static_cast<T>(node.beta)) {}
};

// N, C, and three spatial dimensions, of a tensor that has fewer.
View spatially(const View& view);

// Each adds the phases of its node.
void planAttention(Plan& plan, const dnn::Node& node);
void planConvolution(Plan& plan, const dnn::Node& node);
void planConvolutionBackwardData(Plan& plan, const dnn::Node& node);
void planConvolutionBackwardFilter(Plan& plan, const dnn::Node& node);
void planCopy(Plan& plan, const dnn::Node& node);
void planNormBackward(Plan& plan, const dnn::Node& node);
void planNormForward(Plan& plan, const dnn::Node& node);
void planPointwise(Plan& plan, const dnn::Node& node);
void planPoolBackward(Plan& plan, const dnn::Node& node);
void planPoolForward(Plan& plan, const dnn::Node& node);
void planProduct(Plan& plan, const dnn::Node& node);
void planRandom(Plan& plan, const dnn::Node& node);
void planReduction(Plan& plan, const dnn::Node& node);
void planResponseNorm(Plan& plan, const dnn::Node& node);
void planSoftmax(Plan& plan, const dnn::Node& node);

}  // namespace rouse::library::cpu
