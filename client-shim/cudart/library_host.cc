#include "client-shim/cudart/library_host.h"

#include <new>
#include <utility>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/handle_table.h"
#include "client-shim/core/host_memory.h"
#include "client-shim/core/log.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart {
namespace {

struct LibraryObject {
  client::HandleKind kind{};
  void* object = nullptr;
};

class Host final : public client::LibraryHost {
 public:
  CudaError attach(std::uint32_t* device) const override {
    if (const CudaError error = client::Process::get().attach(); error != CudaError::success) return error;
    return guarded([&] {
      *device = currentDevice().index();
      return CudaError::success;
    });
  }

  CudaError submit(std::uint32_t device, std::uint64_t streamHandle, std::uint32_t library, std::uint32_t function,
                   std::span<const std::byte> parameters) const override {
    return guarded([&] {
      client::Stream* stream = nullptr;
      if (const CudaError error = find(device, streamHandle, &stream); error != CudaError::success) return error;
      graph::Capturing capturing;
      if (const cudaError_t error = graph::intercept(*stream, &capturing); error != cudaSuccess) return static_cast<CudaError>(error);
      if (!capturing) return queue(*stream, library, function, parameters);
      (void)capturing.add(graph::LibraryParams{library, function, {parameters.begin(), parameters.end()}});
      return CudaError::success;
    });
  }

  CudaError submitAndWait(std::uint32_t device, std::uint64_t streamHandle, std::uint32_t library, std::uint32_t function,
                          std::span<const std::byte> parameters) const override {
    return guarded([&] {
      client::Stream* stream = nullptr;
      if (const CudaError error = find(device, streamHandle, &stream); error != CudaError::success) return error;
      if (const cudaError_t error = graph::refuseCaptured(*stream); error != cudaSuccess) return static_cast<CudaError>(error);
      if (const CudaError error = queue(*stream, library, function, parameters); error != CudaError::success) return error;
      return stream->synchronize();
    });
  }

  CudaError putInGraph(std::uint32_t device, const void* handle, bool update, std::uint32_t library, std::uint32_t function,
                       std::span<const std::byte> parameters) const override {
    return guarded([&] {
      client::Process& process = client::Process::get();
      if (const CudaError error = process.attach(); error != CudaError::success) return error;
      const auto lock = graph::lockGraphs();
      graph::Graph* graph = graph::findGraph(static_cast<cudaGraph_t>(const_cast<void*>(handle)));
      if (graph == nullptr || graph->capturing || graph->nodes.size() != (update ? 1 : 0)) return CudaError::invalidValue;
      graph::LibraryParams params{library, function, {parameters.begin(), parameters.end()}};
      if (!update) {
        (void)graph->add(std::move(params), {}, &process.device(device));
        return CudaError::success;
      }
      graph::Node& node = *graph->nodes.front();
      auto* before = std::get_if<graph::LibraryParams>(&node.params);
      if (before == nullptr || before->library != library || before->function != function || node.device != &process.device(device))
        return CudaError::invalidValue;
      *before = std::move(params);
      return CudaError::success;
    });
  }

  void* allocateShared(std::size_t bytes) const override {
    // The program has not asked for it: no capture of its is to fail for it.
    const auto mode = std::exchange(threadState.captureMode, cudaStreamCaptureModeRelaxed);
    void* memory = nullptr;
    const cudaError_t error = cudaMallocHost(&memory, bytes);
    threadState.captureMode = mode;
    return error == cudaSuccess ? memory : nullptr;
  }

  std::uint64_t makeHandle(client::HandleKind kind, void* object) const override {
    const auto made = handles().make();
    if (made.object == nullptr) return 0;
    *made.object = {kind, object};
    handles().publish(made.handle);
    return made.handle;
  }

  void* findHandle(std::uint64_t handle, std::uint32_t kinds) const override {
    const LibraryObject* found = handles().find(handle);
    return found != nullptr && (kinds & client::kindBit(found->kind)) != 0 ? found->object : nullptr;
  }

  void* dropHandle(std::uint64_t handle, client::HandleKind kind) const override {
    const LibraryObject* found = handles().find(handle);
    if (found == nullptr || found->kind != kind) return nullptr;
    void* object = found->object;
    if (!handles().withdraw(handle)) return nullptr;
    handles().recycle(handle);
    return object;
  }

  void countUnsupported(std::uint32_t name) const override { client::Process::get().countUnsupported(name); }
  void warn(const char* text) const override { client::log(client::LogLevel::warn, "%s", text); }

  std::uint32_t computeCapability(std::uint32_t device) const override {
    const client::DeviceInfo& info = client::Process::get().device(device).info();
    return static_cast<std::uint32_t>(10 * deviceAttribute(info, cudaDevAttrComputeCapabilityMajor) +
                                      deviceAttribute(info, cudaDevAttrComputeCapabilityMinor));
  }

  std::uint32_t dnnVersion(std::uint32_t device) const override { return client::Process::get().device(device).info().dnnVersion; }

 private:
  static constexpr std::uint8_t kKind = 0x4c;
  using Handles = client::HandleTable<LibraryObject, kKind>;
  static Handles& handles() {
    static Handles* const all = new Handles;  // programs call from destructors of their own
    return *all;
  }

  template <class Body>
  static CudaError guarded(Body&& body) noexcept {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return CudaError::memoryAllocation;
    } catch (...) {
      return CudaError::unknown;
    }
  }

  static CudaError queue(client::Stream& stream, std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters) {
    client::Device& device = stream.device();
    if (const CudaError error = device.peekError(); error != CudaError::success) return error;
    const bool queued = device.queue().put(stream, wire::LibraryCall{.library = library, .function = function}, parameters);
    return queued ? CudaError::success : device.peekError();
  }

  static CudaError find(std::uint32_t index, std::uint64_t handle, client::Stream** stream) {
    client::Process& process = client::Process::get();
    if (const CudaError error = process.attach(); error != CudaError::success) return error;  // a forked child
    client::Device& device = process.device(index);
    if (handle <= reinterpret_cast<std::uintptr_t>(cudaStreamLegacy)) {
      *stream = &device.legacyStream();
      return CudaError::success;
    }
    if (handle == reinterpret_cast<std::uintptr_t>(cudaStreamPerThread)) return device.perThreadStream(stream);
    *stream = process.findStream(handle);
    return *stream != nullptr && &(*stream)->device() == &device ? CudaError::success : CudaError::invalidResourceHandle;
  }
};

}  // namespace

const client::LibraryHost& libraryHost() {
  static const Host host;
  return host;
}

}  // namespace rouse::cudart
