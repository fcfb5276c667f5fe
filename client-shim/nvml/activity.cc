// NVML, "Device Queries": how busy a GPU is, and with whose work. A function sees its own: time while work of its processes was under way, and this process.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"

namespace rouse::nvml::impl {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kPeriod = kSecond / 6;    // NVML's shortest; who asks again within it gets the same answer
constexpr std::uint64_t kLongest = 10 * kSecond;  // what is older says nothing of now
constexpr std::uint64_t kFirst = kSecond / 10;    // to look for, where there is nothing to compare with

std::uint64_t nowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

struct Sample {
  std::uint64_t atNs = 0, busyNs = 0;  // at 0: there is none
};

// Of each GPU the last sample, and what came of it.
struct Rates {
  std::mutex mutex;
  std::array<Sample, Library::kMost> samples;
  std::array<unsigned, Library::kMost> percent{};
};

Rates& rates() {
  static Rates* const all = new Rates;
  return *all;
}

nvmlReturn_t take(std::uint32_t index, Sample* sample) {
  client::ManagedGpu gpu;
  const nvmlReturn_t status = Library::get().now(index, client::Asked::all, &gpu);
  if (status == NVML_SUCCESS) *sample = {nowNs(), gpu.busyNs};
  return status;
}

// Two samples a moment apart take that moment.
nvmlReturn_t measure(std::uint32_t index, unsigned* percent) {
  Sample before, after;
  {
    const std::lock_guard lock(rates().mutex);
    before = rates().samples[index];
    *percent = rates().percent[index];
  }
  const std::uint64_t age = nowNs() - before.atNs;
  if (before.atNs != 0 && age < kPeriod) return NVML_SUCCESS;
  if (before.atNs == 0 || age > kLongest) {
    if (const nvmlReturn_t status = take(index, &before); status != NVML_SUCCESS) return status;
    const timespec pause{0, static_cast<long>(kFirst)};
    ::nanosleep(&pause, nullptr);
  }
  if (const nvmlReturn_t status = take(index, &after); status != NVML_SUCCESS) return status;
  // Less than before: a process of the function has ended.
  const std::uint64_t busy = after.busyNs - std::min(after.busyNs, before.busyNs), passed = std::max<std::uint64_t>(after.atNs - before.atNs, 1);
  *percent = static_cast<unsigned>(std::min<std::uint64_t>(busy * 100 / passed, 100));
  const std::lock_guard lock(rates().mutex);
  rates().samples[index] = after;
  rates().percent[index] = *percent;
  return NVML_SUCCESS;
}

// `fill`: writes this process's entry.
template <class Info, class Fill>
nvmlReturn_t listProcesses(nvmlDevice_t device, bool compute, unsigned* count, Info* infos, Fill&& fill) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t index) {
    client::ManagedGpu now;
    if (compute && client::managementHost()->attached()) {
      if (const nvmlReturn_t status = Library::get().now(index, client::Asked::facts, &now); status != NVML_SUCCESS) return status;
    }
    const unsigned room = *count;
    *count = now.begun ? 1 : 0;
    if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (*count == 0) return NVML_SUCCESS;
    if (infos == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    fill(now, &infos[0]);
    return NVML_SUCCESS;
  }, count);
}

nvmlReturn_t list(nvmlDevice_t device, bool compute, unsigned* count, nvmlProcessInfo_v1_t* infos) {
  return listProcesses(device, compute, count, infos,
                       [](const client::ManagedGpu& gpu, nvmlProcessInfo_v1_t* info) { *info = {static_cast<unsigned>(::getpid()), gpu.occupiedBytes}; });
}

nvmlReturn_t list(nvmlDevice_t device, bool compute, unsigned* count, nvmlProcessInfo_v2_t* infos) {
  constexpr unsigned kNoInstance = 0xffffffff;
  return listProcesses(device, compute, count, infos, [](const client::ManagedGpu& gpu, nvmlProcessInfo_v2_t* info) {
    *info = {static_cast<unsigned>(::getpid()), gpu.occupiedBytes, kNoInstance, kNoInstance};
  });
}

}  // namespace

// How much of it memory was read or written in nobody measures.
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t index) {
    unsigned percent = 0;
    const nvmlReturn_t status = measure(index, &percent);
    if (status == NVML_SUCCESS) *utilization = {.gpu = percent, .memory = 0};
    return status;
  }, utilization);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* infos) { return list(device, true, count, infos); }
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t* infos) { return list(device, true, count, infos); }
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) { return list(device, true, count, infos); }
// Nobody draws, and nobody's work comes through MPS.
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* infos) { return list(device, false, count, infos); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t* infos) { return list(device, false, count, infos); }
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) { return list(device, false, count, infos); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* infos) { return list(device, false, count, infos); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t* infos) { return list(device, false, count, infos); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* infos) { return list(device, false, count, infos); }

}  // namespace rouse::nvml::impl
