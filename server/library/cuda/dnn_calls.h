// A graph as calls of NVIDIA's cuDNN: those operations that its backend API has, alone or together, as an execution plan; the others, one at
// a time, as the call of the classic API. What neither has is refused by name.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/dnn/check.h"
#include "server/library/cuda/dnn_api.h"

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

// Memory of the device to work in.
struct Workspace {
  std::uint64_t address = 0, bytes = 0;
};

// Finished plans of one handle, by graph without addresses. Making one takes milliseconds and more, so they are kept; at most so many, and
// of more the one that has not been used for longest goes.
class DnnPlans {
 public:
  static constexpr std::size_t kMost = 512;
  // own: the handle's, for plans that the program's is too small for; always the same.
  Status run(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts, Workspace own);
  // The context is gone, or going: nothing is destroyed any more.
  void abandon() {
    for (auto& [key, plan] : plans_) plan.descriptors.abandon();
  }

 private:
  struct Plan {
    BackendDescriptors descriptors;
    cudnnBackendDescriptor_t plan = nullptr;
    std::uint64_t workspace = 0;  // bytes that it needs
    std::uint64_t used = 0;       // which call it was
  };
  std::map<std::vector<std::byte>, Plan> plans_;
  std::uint64_t calls_ = 0;
};

// Whether the classic API is for this graph: one operation that the backend API does not have, or has not for all that comes.
bool isClassic(const dnn::Parts& parts);
Status runClassic(const DnnApi& api, cudnnHandle_t handle, const dnn::Parts& parts);

}  // namespace rouse::library::cuda
