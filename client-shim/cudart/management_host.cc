#include "client-shim/cudart/management_host.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "client-shim/core/control_connection.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/device_properties.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart {
namespace {

void fillFacts(const client::DeviceInfo& info, client::ManagedGpu* gpu) {
  const auto get = [&](cudaDeviceAttr attribute) { return deviceAttribute(info, attribute); };
  *gpu = {};
  std::snprintf(gpu->name, sizeof gpu->name, "%s", info.name.c_str());
  std::snprintf(gpu->uuid, sizeof gpu->uuid, "%s", info.uuid.c_str());
  std::snprintf(gpu->pciAddress, sizeof gpu->pciAddress, "%s", info.pciAddress.c_str());
  const cudaUUID_t uuid = parseUuid(info.uuid);
  std::memcpy(gpu->uuidBytes, uuid.bytes, sizeof gpu->uuidBytes);
  gpu->computeMajor = info.computeMajor;
  gpu->computeMinor = info.computeMinor;
  gpu->processors = get(cudaDevAttrMultiProcessorCount);
  gpu->clockKHz = get(cudaDevAttrClockRate);
  gpu->memoryClockKHz = get(cudaDevAttrMemoryClockRate);
  gpu->memoryBusBits = get(cudaDevAttrGlobalMemoryBusWidth);
  gpu->pciDevice = static_cast<std::uint32_t>(get(cudaDevAttrGpuPciDeviceId));
  gpu->pciSubsystem = static_cast<std::uint32_t>(get(cudaDevAttrGpuPciSubsystemId));
  gpu->ecc = get(cudaDevAttrEccEnabled) != 0;
}

class ManagementSide final : public client::ManagementHost {
 public:
  bool attached() const override { return client::Process::get().attached(); }

  CudaError gpus(client::Asked asked, client::ManagedGpu* gpus, std::uint32_t capacity, std::uint32_t* count) const override try {
    client::Process& process = client::Process::get();
    const bool attached = process.attached(), forked = process.forked();
    std::vector<client::DescribedDevice> described;
    if (!attached || asked == client::Asked::all) {
      auto answer = client::Session::describe(client::AttachOptions::fromEnvironment(), attached || forked ? process.session().number() : 0);
      if (!answer) return refused(answer.error());
      described = std::move(*answer);
    }
    const bool own = attached || forked;  // what the devices are, the process knows
    *count = own ? process.deviceCount() : static_cast<std::uint32_t>(described.size());
    for (std::uint32_t i = 0; i < std::min(*count, capacity); ++i) {
      fillFacts(own ? process.device(i).info() : described[i].info, &gpus[i]);
      if (i < described.size()) {
        gpus[i].totalBytes = described[i].info.memoryLimit;
        gpus[i].freeBytes = described[i].freeBytes;
        gpus[i].busyNs = described[i].busyNs;
        gpus[i].pcieGeneration = described[i].pcieGeneration;
        gpus[i].pcieGenerationAtMost = described[i].pcieGenerationAtMost;
        gpus[i].pcieWidth = described[i].pcieWidth;
        gpus[i].pcieWidthAtMost = described[i].pcieWidthAtMost;
      }
      if (!attached) continue;
      const client::Device::MemoryNow memory = process.device(i).memoryNow();
      gpus[i].totalBytes = memory.totalBytes;
      gpus[i].freeBytes = memory.freeBytes;
      gpus[i].occupiedBytes = memory.occupiedBytes;
      gpus[i].begun = deviceBegun(i);
      gpus[i].lost = !process.session().alive(i);
    }
    return CudaError::success;
  } catch (const std::bad_alloc&) {
    return CudaError::memoryAllocation;
  } catch (...) {
    return CudaError::unknown;
  }

 private:
  // As of a process that is not attached: that there is no daemon is said once.
  static CudaError refused(const Error& error) {
    static std::atomic<bool> saidNoDaemon{false};
    if (error.code != CudaError::noDevice || !saidNoDaemon.exchange(true))
      client::log(client::LogLevel::error, "no GPUs to tell of: %s", error.message.c_str());
    return error.code;
  }
};

}  // namespace

const client::ManagementHost& managementHost() {
  static const ManagementSide host;
  return host;
}

}  // namespace rouse::cudart
