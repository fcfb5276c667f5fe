#include "client-shim/cudart/driver_host.h"

#include <new>

#include "client-shim/core/allocation.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "client-shim/core/tensor_map.h"
#include "client-shim/core/virtual_memory.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/texture/array.h"

namespace rouse::cudart {
namespace {

cudaError_t fillRows(client::Stream& stream, const client::FillBox& box, client::Completion completion) {
  if (graph::anyCapture()) {
    bool done = false;
    const cudaMemsetParams parameters{box.destination, box.pitch, box.value, box.elementBytes, box.width, box.height};
    const cudaError_t error = graph::captureFill(stream, parameters, 0, 1, completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  if (box.elementBytes == 1 && box.height != 1) {
    return toCuda(client::fill3D(stream, box.destination, box.pitch, 0, static_cast<std::uint8_t>(box.value), box.width, box.height, 1, completion));
  }
  if (box.pitch == box.width * box.elementBytes) {
    return toCuda(client::fill(stream, box.destination, box.value, box.elementBytes, box.width * box.height, completion));
  }
  for (std::size_t row = 0; row < box.height; ++row) {
    const cudaError_t error =
        toCuda(client::fill(stream, static_cast<std::byte*>(box.destination) + row * box.pitch, box.value, box.elementBytes, box.width, completion));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t checkBox(const client::FillBox& box) {
  std::uint64_t row = 0, all = 0;
  if (__builtin_mul_overflow(std::uint64_t{box.width}, std::uint64_t{box.elementBytes}, &row)) return cudaErrorInvalidValue;
  if (reinterpret_cast<std::uint64_t>(box.destination) % box.elementBytes != 0) return cudaErrorInvalidValue;
  if (box.height <= 1) return cudaSuccess;
  if (box.pitch < row || box.pitch % box.elementBytes != 0) return cudaErrorInvalidValue;
  if (__builtin_mul_overflow(std::uint64_t{box.pitch}, std::uint64_t{box.height}, &all)) return cudaErrorInvalidValue;
  return cudaSuccess;
}

class DriverSide final : public client::DriverHost {
 public:
  bool attached() const override { return client::Process::get().attached(); }

  client::CurrentContext current() const override {
    if (threadState.device == nullptr) return {.chosen = threadState.chosenDevice};
    return {static_cast<int>(threadState.device->index()), threadState.context, threadState.chosenDevice};
  }

  void setCurrent(const client::CurrentContext& context) const override {
    client::Device* device = nullptr;
    if (context.device < 0 || findDevice(context.device, &device) != cudaSuccess) {
      threadState.device = nullptr;
      threadState.context = nullptr;
      threadState.chosenDevice = context.chosen;
      return;
    }
    threadState.chosenDevice = context.device + 1;
    threadState.device = device;
    threadState.context = context.context;
  }

  bool begun(int device) const override { return deviceBegun(static_cast<std::uint32_t>(device)); }
  void begin(int device) const override { setDeviceBegun(static_cast<std::uint32_t>(device), true); }

  CudaError fill(const client::FillBox& box, void* handle, bool finished) const override {
    return guarded([&] {
      client::Stream* stream = nullptr;
      if (const cudaError_t error = checkBox(box); error != cudaSuccess) return error;
      if (const cudaError_t error = findStream(static_cast<cudaStream_t>(handle), &stream); error != cudaSuccess) return error;
      return fillRows(*stream, box, finished ? client::Completion::finished : client::Completion::queued);
    });
  }

  bool memory(std::uint64_t address, client::MemoryFacts* facts) const override {
    client::Allocation found;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
    if (!attached() || !client::Process::get().findAllocation(reinterpret_cast<const void*>(address), &found)) return false;
    *facts = {found.range.base, found.range.bytes, found.deviceBase, found.bufferId, found.pool, found.kind == client::MemoryKind::device, found.imported, found.mapped};
    return true;
  }

  const void* libraryOf(const void* kernel) const override {
    const Function* function = ModuleRegistry::get().findFunction(kernel);
    return function != nullptr ? function->module : nullptr;
  }

  bool loaded(const void* kernel, int device) const override {
    const Function* function = ModuleRegistry::get().findFunction(kernel);
    return function != nullptr && function->kernels[static_cast<std::size_t>(device)].load(std::memory_order_acquire) != nullptr;
  }

  std::uint64_t arrayMemory(const void* handle) const override {
    const texture::Array* array = texture::findArray(static_cast<cudaArray_const_t>(handle));
    return array != nullptr ? array->address : 0;
  }

  CudaError reserveAddresses(int device, std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint, std::uint64_t* address) const override {
    return guarded([&] {
      client::VirtualMemory* memory = hint == 0 ? nullptr : memoryAt(hint);  // a wish, also for the device
      client::Device* found = nullptr;
      if (const cudaError_t error = findDevice(device, &found); memory == nullptr && error != cudaSuccess) return error;
      return toCuda((memory != nullptr ? *memory : found->virtualMemory()).reserve(bytes, alignment, hint, address));
    });
  }

  CudaError releaseAddresses(std::uint64_t address, std::uint64_t bytes) const override {
    return at(address, [&](client::VirtualMemory& memory) { return memory.release({address, bytes}); });
  }

  CudaError createMemory(int device, std::uint64_t bytes, std::uint64_t note, std::uint64_t* handle) const override {
    return guarded([&] {
      client::Device* found = nullptr;
      if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
      return toCuda(found->virtualMemory().create(bytes, note, handle));
    });
  }

  CudaError dropMemory(std::uint64_t handle) const override {
    return guarded([&] {
      client::Device* device = deviceOf(handle);
      return toCuda(device != nullptr ? device->virtualMemory().drop(handle) : CudaError::invalidValue);
    });
  }

  CudaError retainMemory(std::uint64_t address, std::uint64_t* handle) const override {
    return at(address, [&](client::VirtualMemory& memory) { return memory.retain(address, handle); });
  }

  CudaError memoryNote(std::uint64_t handle, int* device, std::uint64_t* note) const override {
    client::Device* const found = deviceOf(handle);
    if (found == nullptr || !found->virtualMemory().noteOf(handle, note)) return CudaError::invalidValue;
    *device = static_cast<int>(found->index());
    return CudaError::success;
  }

  CudaError mapMemory(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) const override {
    client::Device* const owner = deviceOf(handle);
    if (owner == nullptr) return CudaError::invalidValue;
    return at(address, [&](client::VirtualMemory& memory) { return &memory == &owner->virtualMemory() ? memory.map({address, bytes}, handle) : CudaError::notSupported; });
  }

  CudaError unmapMemory(std::uint64_t address, std::uint64_t bytes) const override {
    return at(address, [&](client::VirtualMemory& memory) { return memory.unmap({address, bytes}); });
  }

  CudaError setAccess(std::uint64_t address, std::uint64_t bytes, const std::uint32_t* access) const override {
    return at(address, [&](client::VirtualMemory& memory) { return memory.setAccess({address, bytes}, access); });
  }

  bool mapping(std::uint64_t address, client::MappingFacts* facts) const override {
    client::Device* const device = deviceAt(address);
    client::VirtualMemory::Mapping found;
    if (device == nullptr || !device->virtualMemory().mappingAt(address, &found)) return false;
    *facts = {found.range.base, found.range.bytes, found.reservation.base, found.reservation.bytes, found.bufferId, found.handle,
              static_cast<int>(device->index()), found.access};
    return true;
  }

  std::uint64_t granularity() const override { return kGranuleBytes; }

  CudaError encodeTensorMap(int device, const wire::TensorMapRequest& request, wire::TensorMap* map) const override {
    client::Device* found = nullptr;
    if (findDevice(device, &found) != cudaSuccess) return CudaError::invalidDevice;
    return client::encodeTensorMap(*found, request, map);
  }

 private:
  static client::Device* deviceAt(std::uint64_t address) {
    client::Process& process = client::Process::get();
    return process.attached() ? process.session().deviceAt(address) : nullptr;
  }

  static client::VirtualMemory* memoryAt(std::uint64_t address) {
    client::Device* const device = deviceAt(address);
    return device != nullptr ? &device->virtualMemory() : nullptr;
  }

  static client::Device* deviceOf(std::uint64_t handle) {
    client::Process& process = client::Process::get();
    for (std::uint32_t index = 0; process.attached() && index < process.deviceCount(); ++index)
      if (process.device(index).virtualMemory().holds(handle)) return &process.device(index);
    return nullptr;
  }

  // Addresses that lie in no device's window are no reservation's.
  template <class Body>
  static CudaError at(std::uint64_t address, Body&& body) {
    return guarded([&] {
      client::VirtualMemory* const memory = memoryAt(address);
      return toCuda(memory != nullptr ? body(*memory) : CudaError::invalidValue);
    });
  }

  template <class Body>
  static CudaError guarded(Body&& body) noexcept {
    try {
      return static_cast<CudaError>(body());
    } catch (const std::bad_alloc&) {
      return CudaError::memoryAllocation;
    } catch (...) {
      return CudaError::unknown;
    }
  }
};

}  // namespace

const client::DriverHost& driverHost() {
  static const DriverSide host;
  return host;
}

}  // namespace rouse::cudart
