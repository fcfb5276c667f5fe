// CUDA Runtime API, "Execution Control": launches, and the configuration that <<<>>> leaves for the stub it calls.
#include "client-shim/core/launch.h"

#include <limits>

#include "client-shim/core/event.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/cooperative.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

// A launch as the program asks for it. Made once and handed on by reference: this is the path that counts.
struct Request {
  client::LaunchShape shape;
  const void* function = nullptr;
  void** arguments = nullptr;
};

// Member by member: a temporary copied as a whole would be read back in wider pieces than it was written in, which
// stalls.
inline void assign(client::Dim3& to, const dim3& from) {
  to.x = from.x;
  to.y = from.y;
  to.z = from.z;
}

inline void assign(dim3& to, const dim3& from) {
  to.x = from.x;
  to.y = from.y;
  to.z = from.z;
}

inline cudaError_t makeRequest(const void* func, const dim3& grid, const dim3& block, void** args,
                               std::size_t sharedBytes, bool cooperative, Request& request) {
  if (sharedBytes > std::numeric_limits<std::uint32_t>::max()) [[unlikely]]
    return cudaErrorInvalidValue;
  assign(request.shape.grid, grid);
  assign(request.shape.block, block);
  request.shape.sharedBytes = static_cast<std::uint32_t>(sharedBytes);
  request.shape.cooperative = cooperative;
  request.function = func;
  request.arguments = args;
  return cudaSuccess;
}

cudaError_t capture(client::Stream& stream, const Request& request, bool* done) {
  graph::Capturing capturing;
  if (const cudaError_t error = graph::intercept(stream, &capturing); error != cudaSuccess || !capturing) return error;
  *done = true;
  const client::Dim3 &grid = request.shape.grid, &block = request.shape.block;
  graph::KernelParams params;
  params.cluster = request.shape.cluster;
  const cudaError_t error =
      graph::readKernel(request.function, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, request.shape.sharedBytes,
                        request.arguments, nullptr, request.shape.cooperative, stream.device(), &params);
  if (error == cudaSuccess) (void)capturing.add(std::move(params));
  return error;
}

inline cudaError_t launchOn(client::Stream& stream, const Request& request) {
  client::Device& device = currentDevice();
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(request.function, device, &kernel); error != cudaSuccess) [[unlikely]] {
    return error;
  }
  if (request.shape.cooperative) [[unlikely]] {
    const cudaError_t error = checkCooperative(device, *kernel, request.shape);
    if (error != cudaSuccess) return error;
  }
  if (graph::anyCapture()) [[unlikely]] {
    bool done = false;
    if (const cudaError_t error = capture(stream, request, &done); error != cudaSuccess || done) return error;
  }
  return toCuda(client::launch(stream, *kernel, request.shape, request.arguments));
}

inline cudaError_t launch(const void* func, const dim3& grid, const dim3& block, void** args, std::size_t sharedBytes,
                          cudaStream_t handle, bool cooperative) {
  Request request;
  client::Stream* stream = nullptr;
  cudaError_t error = makeRequest(func, grid, block, args, sharedBytes, cooperative, request);
  if (error == cudaSuccess) error = findStream(handle, &stream);
  return error == cudaSuccess ? launchOn(*stream, request) : error;
}

// What a launch asks for beside its shape.
struct LaunchWishes {
  bool cooperative = false;
  ClusterShape cluster;
  client::Event* afterwards[2] = {};  // recorded behind the kernel
};

cudaError_t readAttribute(const cudaLaunchAttribute& attribute, LaunchWishes* wishes) {
  const cudaLaunchAttributeValue& value = attribute.val;
  switch (attribute.id) {
    case cudaLaunchAttributeCooperative:
      wishes->cooperative = value.cooperative != 0;
      return cudaSuccess;
    case cudaLaunchAttributeClusterDimension:
      wishes->cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
      return cudaSuccess;
    // Both events may be recorded at any time from a point within the kernel's run on: its end is one such time.
    case cudaLaunchAttributeProgrammaticEvent:
      return findEvent(value.programmaticEvent.event, &wishes->afterwards[0]);
    case cudaLaunchAttributeLaunchCompletionEvent:
      return findEvent(value.launchCompletionEvent.event, &wishes->afterwards[1]);
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
      return value.deviceUpdatableKernelNode.deviceUpdatable == 0 ? cudaSuccess : cudaErrorNotSupported;
    // Permission to begin early, or hints about scheduling, larger clusters and caches: keeping to the plain order and the clusters that are asked for satisfies them.
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
    case cudaLaunchAttributeNvlinkUtilCentricScheduling:
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream) {
  ThreadState& state = threadState;
  if (state.configured) state.outer = new OuterConfiguration{state.configuration, state.outer};
  assign(state.configuration.grid, gridDim);
  assign(state.configuration.block, blockDim);
  state.configuration.sharedBytes = sharedMem;
  state.configuration.stream = stream;
  state.configured = true;
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* gridDim, dim3* blockDim, size_t* sharedMem, void* stream) {
  ThreadState& state = threadState;
  if (!state.configured || stream == nullptr) return cudaErrorMissingConfiguration;
  assign(*gridDim, state.configuration.grid);
  assign(*blockDim, state.configuration.block);
  *sharedMem = state.configuration.sharedBytes;
  *static_cast<cudaStream_t*>(stream) = state.configuration.stream;
  if (OuterConfiguration* outer = state.outer) {
    state.configuration = outer->configuration;
    state.outer = outer->outer;
    delete outer;
  } else {
    state.configured = false;
  }
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                             cudaStream_t stream) {
  return launch(func, gridDim, blockDim, args, sharedMem, stream, false);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                               cudaStream_t stream) {
  return launch(kernel, gridDim, blockDim, args, sharedMem, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                                        cudaStream_t stream) {
  return launch(func, gridDim, blockDim, args, sharedMem, stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args,
                                cudaStream_t defaultStream) {
  if (config->numAttrs > 0 && config->attrs == nullptr) return cudaErrorInvalidValue;
  LaunchWishes wishes;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (const cudaError_t error = readAttribute(config->attrs[i], &wishes); error != cudaSuccess) return error;
  }
  client::Stream* stream = nullptr;
  cudaError_t error = findStream(config->stream != nullptr ? config->stream : defaultStream, &stream);
  if (error != cudaSuccess) return error;
  Request request;
  error =
      makeRequest(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, wishes.cooperative, request);
  request.shape.cluster = wishes.cluster;
  if (error == cudaSuccess) error = launchOn(*stream, request);
  for (client::Event* event : wishes.afterwards) {
    if (error == cudaSuccess && event != nullptr) {
      bool done = false;
      // NOLINTNEXTLINE(performance-no-int-to-ptr): an opaque number
      const auto handle = reinterpret_cast<cudaEvent_t>(event->handle());
      if (graph::anyCapture()) error = graph::recordSlowly(handle, *stream, false, &done);
      if (error == cudaSuccess && !done) error = toCuda(event->record(*stream));
    }
  }
  return error;
}

}  // namespace rouse::cudart::impl
