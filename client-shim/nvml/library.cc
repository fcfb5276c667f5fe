#include "client-shim/nvml/library.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace rouse::nvml {

nvmlReturn_t statusOf(CudaError error) {
  switch (error) {
    case CudaError::success: return NVML_SUCCESS;
    case CudaError::noDevice: return NVML_ERROR_DRIVER_NOT_LOADED;
    case CudaError::insufficientDriver: return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    case CudaError::notPermitted: return NVML_ERROR_NO_PERMISSION;
    case CudaError::memoryAllocation: return NVML_ERROR_MEMORY;
    case CudaError::systemNotReady: return NVML_ERROR_NOT_READY;
    case CudaError::devicesUnavailable: return NVML_ERROR_GPU_IS_LOST;
    default: return NVML_ERROR_UNKNOWN;
  }
}

Library& Library::get() {
  static Library* const library = new Library;  // programs call from destructors of their own
  return *library;
}

void Library::beforeFork() { get().mutex_.lock(); }
void Library::afterFork() { get().mutex_.unlock(); }

nvmlReturn_t Library::start() {
  const client::ManagementHost* host = client::managementHost();
  if (host == nullptr) return NVML_ERROR_DRIVER_NOT_LOADED;
  const std::lock_guard lock(mutex_);
  if (!handlesForks_) handlesForks_ = ::pthread_atfork(&beforeFork, &afterFork, &afterFork) == 0;
  if (starts_ == 0) {
    if (const nvmlReturn_t status = look(); status != NVML_SUCCESS) return status;
  }
  ++starts_;
  return NVML_SUCCESS;
}

nvmlReturn_t Library::stop() {
  const std::lock_guard lock(mutex_);
  if (starts_ == 0) return NVML_ERROR_UNINITIALIZED;
  --starts_;
  return NVML_SUCCESS;
}

bool Library::started() {
  const std::lock_guard lock(mutex_);
  return starts_ != 0;
}

// With the lock held.
nvmlReturn_t Library::look() {
  const client::ManagementHost& host = *client::managementHost();
  const bool attached = host.attached();
  std::uint32_t count = 0;
  if (const CudaError error = host.gpus(client::Asked::facts, gpus_.data(), kMost, &count); error != CudaError::success) return statusOf(error);
  count_ = std::min(count, kMost);
  ofAttached_ = attached;
  return NVML_SUCCESS;
}

nvmlReturn_t Library::count(std::uint32_t* gpus) {
  const std::lock_guard lock(mutex_);
  if (starts_ == 0) return NVML_ERROR_UNINITIALIZED;
  *gpus = count_;
  return NVML_SUCCESS;
}

nvmlReturn_t Library::facts(std::uint32_t index, client::ManagedGpu* gpu) {
  const std::lock_guard lock(mutex_);
  if (starts_ == 0) return NVML_ERROR_UNINITIALIZED;
  if (!ofAttached_ && client::managementHost()->attached()) {
    if (const nvmlReturn_t status = look(); status != NVML_SUCCESS) return status;
  }
  if (index >= count_) return NVML_ERROR_INVALID_ARGUMENT;
  *gpu = gpus_[index];
  return NVML_SUCCESS;
}

nvmlReturn_t Library::now(std::uint32_t index, client::Asked asked, client::ManagedGpu* gpu) {
  client::ManagedGpu known;
  if (const nvmlReturn_t status = facts(index, &known); status != NVML_SUCCESS) return status;
  // Not with the lock held: the daemon is asked, and may take its time.
  std::array<client::ManagedGpu, kMost> gpus;
  std::uint32_t count = 0;
  if (const CudaError error = client::managementHost()->gpus(asked, gpus.data(), kMost, &count); error != CudaError::success) return statusOf(error);
  const auto end = gpus.begin() + std::min(count, kMost);
  const auto found = std::find_if(gpus.begin(), end, [&](const client::ManagedGpu& each) { return std::strcmp(each.uuid, known.uuid) == 0; });
  if (found == end || found->lost) return NVML_ERROR_GPU_IS_LOST;
  *gpu = *found;
  return NVML_SUCCESS;
}

std::uint32_t Library::indexOf(nvmlDevice_t handle) const {
  const auto* place = reinterpret_cast<const char*>(handle);
  const std::less<const char*> before;  // of addresses that are in no array together, too
  if (before(place, places_.data()) || !before(place, places_.data() + kMost)) return kMost;
  return static_cast<std::uint32_t>(place - places_.data());
}

}  // namespace rouse::nvml
