// NVML as the process has it: how often it has been initialised, and what GPUs there are. They stay those that nvmlInit found, until the process attaches: then
// they are those that it has, which are the same (server/roused/prospects.h).
//
// Any thread. A child of a fork finds it as it was, and goes on with it.
#pragma once

#include <nvml.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "client-shim/library/management_host.h"
#include "schemas/wire/layout.h"

namespace rouse::nvml {

class Library {
 public:
  static constexpr std::uint32_t kMost = wire::kMaxDevices;
  static Library& get();  // made at the first call, never destroyed

  nvmlReturn_t start();
  nvmlReturn_t stop();  // UNINITIALIZED unless it was started once more than it was stopped
  bool started();

  nvmlReturn_t count(std::uint32_t* gpus);
  // Of the GPU with this number; INVALID_ARGUMENT: there is none.
  nvmlReturn_t facts(std::uint32_t index, client::ManagedGpu* gpu);
  // With what changes as it is now, which the daemon is asked for where the process is not attached, or where all is asked for. GPU_IS_LOST: it has this
  // GPU no more.
  nvmlReturn_t now(std::uint32_t index, client::Asked asked, client::ManagedGpu* gpu);

  // Handles are addresses of places here, the same ones at all times.
  nvmlDevice_t handle(std::uint32_t index) { return reinterpret_cast<nvmlDevice_t>(&places_[index]); }
  // kMost: it is none.
  std::uint32_t indexOf(nvmlDevice_t handle) const;

 private:
  Library() = default;
  nvmlReturn_t look();
  static void beforeFork();
  static void afterFork();

  std::mutex mutex_;
  std::uint32_t starts_ = 0;
  bool handlesForks_ = false, ofAttached_ = false;
  std::uint32_t count_ = 0;
  std::array<client::ManagedGpu, kMost> gpus_;
  std::array<char, kMost> places_{};
};

// What the runtime's error means here.
nvmlReturn_t statusOf(CudaError error);

}  // namespace rouse::nvml
