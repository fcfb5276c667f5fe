// Granules on their way to the device, shared by workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "server/device/cpu/stream_queue.h"

namespace rouse::cpu {

// An error that ends the context: what did not come must not be used.
inline constexpr const char* kNotMapped = "memory that comes to the device cannot be mapped (vm.max_map_count)";

class RestoreWork final : public Work {
 public:
  RestoreWork(std::vector<std::uint64_t> addresses, std::shared_ptr<StreamQueue> stream)
      : addresses_(std::move(addresses)), stream_(std::move(stream)), unfinished_(addresses_.size()) {}

  // Beside the worker that starts it.
  std::uint32_t helpers() const {
    return static_cast<std::uint32_t>(std::min<std::size_t>(addresses_.size(), stream_->context().pool.size()) - 1);
  }
  bool shared() const override { return true; }
  int priority() const override { return stream_->priority(); }

  Turn run(Worker& worker) override {
    for (;;) {
      const std::size_t next = next_.fetch_add(1, std::memory_order_relaxed);
      if (next >= addresses_.size()) return Turn::taken;
      ContextState& context = stream_->context();
      if (context.visits.bring(addresses_[next]) == Visits::Brought::failed)
        context.fault(CudaError::unknown, kNotMapped);
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        stream_->completed(worker);
        return Turn::taken;
      }
    }
  }

 private:
  const std::vector<std::uint64_t> addresses_;
  const std::shared_ptr<StreamQueue> stream_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> unfinished_;
};

}  // namespace rouse::cpu
