#include "client-shim/cudart/driver_host.h"

#include <new>

#include "client-shim/core/allocation.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/stream.h"
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
    *facts = {found.range.base, found.range.bytes, found.deviceBase, found.bufferId, found.pool, found.kind == client::MemoryKind::device, found.imported};
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

 private:
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
