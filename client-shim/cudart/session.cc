#include "client-shim/cudart/session.h"

#include <array>
#include <atomic>

#include "schemas/api/library_names.h"
#include "schemas/wire/layout.h"

namespace rouse::cudart {
namespace {

static_assert(api::kAllNameCount <= wire::kMaxApiNames);

std::atomic<int> theDefaultDevice{0};
std::array<std::atomic<bool>, wire::kMaxDevices> begunDevices;

// Before any call can attach: constructors of a library run before those of the programs that need it.
[[gnu::constructor]] void describeFace() {
  client::Process::get().describeFace({"libcudart.so.13", static_cast<std::uint32_t>(api::kAllNameCount)});
}

}  // namespace

int defaultDevice() { return theDefaultDevice.load(std::memory_order_relaxed); }
void setDefaultDevice(int device) { theDefaultDevice.store(device, std::memory_order_relaxed); }

bool deviceBegun(std::uint32_t device) { return begunDevices[device].load(std::memory_order_relaxed); }
void setDeviceBegun(std::uint32_t device, bool begun) { begunDevices[device].store(begun, std::memory_order_relaxed); }

void enterDevice(client::Device& device) {
  threadState.chosenDevice = static_cast<int>(device.index()) + 1;
  threadState.device = &device;
  threadState.context = nullptr;
  setDeviceBegun(device.index(), true);
}

client::Device& selectDevice() {
  client::Device& device = client::Process::get().device(static_cast<std::uint32_t>(currentDeviceIndex()));
  enterDevice(device);
  return device;
}

cudaError_t findDevice(int index, client::Device** device) {
  client::Process& process = client::Process::get();
  if (index < 0 || static_cast<std::uint32_t>(index) >= process.deviceCount()) return cudaErrorInvalidDevice;
  *device = &process.device(static_cast<std::uint32_t>(index));
  return cudaSuccess;
}

cudaError_t findStreamSlowly(cudaStream_t handle, client::Stream** stream) {
  if (handle == cudaStreamPerThread) return toCuda(currentDevice().perThreadStream(stream));
  *stream = client::Process::get().findStream(reinterpret_cast<std::uintptr_t>(handle));
  return *stream != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t findEvent(cudaEvent_t handle, client::Event** event) {
  *event = client::Process::get().findEvent(reinterpret_cast<std::uintptr_t>(handle));
  return *event != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t findPool(cudaMemPool_t handle, client::MemoryPool** pool) {
  *pool = client::Process::get().findPool(reinterpret_cast<std::uintptr_t>(handle));
  return *pool != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace rouse::cudart
