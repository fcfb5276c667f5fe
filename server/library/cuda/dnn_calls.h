// A graph as calls of NVIDIA's cuDNN. What a call of the classic API does is that call: the program has most likely made it, and the library of the node
// answers as it would have answered there; its backend API makes no plan of most single operations on elements (cuDNN Developer Guide, "Supported Graph
// Patterns"). Other operations, alone or together, are an execution plan; what there is no plan of together is done operation by operation. What none of
// these has is refused by name.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/dnn/check.h"
#include "server/library/cuda/dnn_api.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::library::cuda {

// Of backend descriptors, destroyed together.
class BackendDescriptors {
 public:
  explicit BackendDescriptors(const DnnApi& api) : api_(&api) {}
  ~BackendDescriptors();
  BackendDescriptors(BackendDescriptors&& other) noexcept : api_(other.api_), all_(std::move(other.all_)) { other.all_.clear(); }
  BackendDescriptors& operator=(BackendDescriptors&&) = delete;

  cudnnStatus_t make(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t& made);
  void abandon() { all_.clear(); }

 private:
  const DnnApi* api_;
  std::vector<cudnnBackendDescriptor_t> all_;
};

// The handle's memory, where a plan needs more than `own`.
struct MoreWorkspace {
  std::uint64_t most;                                   // bytes that there may be
  std::function<Workspace(std::uint64_t bytes)> take;  // so many, or as many as there are
};

// Finished plans of one handle, by graph without addresses. Making one takes milliseconds and more, so they are kept; at most so many, and
// of more the one that has not been used for longest goes.
class DnnPlans {
 public:
  static constexpr std::size_t kMost = 512;
  // own: the handle's, for plans that the program's is too small for. notSupported: there is no plan, and nothing has been queued.
  Status run(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts, Workspace own, const MoreWorkspace& more);
  // The context is gone, or going: nothing is destroyed any more.
  void abandon() {
    for (auto& [key, plan] : plans_) plan.descriptors.abandon();
  }

 private:
  struct Plan {
    BackendDescriptors descriptors;
    cudnnBackendDescriptor_t plan = nullptr;  // none: the library makes none of it
    std::string why;                          // it makes none
    std::uint64_t workspace = 0;  // bytes that it needs
    std::uint64_t used = 0;       // which call it was
  };
  std::map<std::vector<std::byte>, Plan> plans_;
  std::uint64_t calls_ = 0;
};

// Whether a call of the classic API does what this graph says.
bool isClassic(const dnn::Parts& parts);
// Whether it may need memory to work in.
bool worksInMemory(const dnn::Parts& parts);
// own: the handle's, where the program's is too small. notSupported where the library answers so, and nothing has been queued.
Status runClassic(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts, Workspace own);

// Each operation as a graph of its own, in their order; what passes between them is at the beginning of `own`, and what is left of that is for each of them.
struct Steps {
  std::vector<dnn::Parts> graphs;
  Workspace left;
};
// Bytes from a tensor's first element to the end of its last.
std::uint64_t reachOf(const dnn::Tensor& tensor);
Result<Steps> stepsOf(const dnn::Parts& parts, Workspace own);

}  // namespace rouse::library::cuda
