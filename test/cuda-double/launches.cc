// Launches of kernels.
#include <algorithm>
#include <cstring>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/simulation.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {
namespace {

// The parameter block, from pointers to each parameter or from a buffer. Empty with a violation in `result`.
CUresult pack(const memory::KernelDescription& kernel, void** parameters, void** extra, std::vector<std::byte>& block) {
  block.resize(kernel.parameterBytes);
  if (parameters != nullptr && extra != nullptr) {
    return violation(CUDA_ERROR_INVALID_VALUE, "parameters", "both pointers and a buffer");
  }
  if (extra != nullptr) {
    const void* buffer = nullptr;
    const std::size_t* size = nullptr;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
      if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = static_cast<const std::size_t*>(extra[1]);
    }
    if (buffer == nullptr || size == nullptr || *size != block.size()) {
      return violation(CUDA_ERROR_INVALID_VALUE, "parameters",
                       "buffer of " + (size != nullptr ? std::to_string(*size) : "no") + " bytes, kernel " +
                           kernel.name + " takes " + std::to_string(block.size()));
    }
    std::memcpy(block.data(), buffer, block.size());
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    if (parameters == nullptr || parameters[i] == nullptr) {
      return violation(CUDA_ERROR_INVALID_VALUE, "parameters",
                       "parameter " + std::to_string(i) + " of kernel " + kernel.name + " is null");
    }
    std::memcpy(block.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].bytes);
  }
  return CUDA_SUCCESS;
}

// The most blocks that run at once, by the limits of a multiprocessor (Programming Guide, "Hardware multithreading").
std::uint64_t residentBlocks(const Gpu& gpu, std::uint64_t threads, std::uint64_t sharedBytes) {
  const auto limit = [&](CUdevice_attribute attribute) { return static_cast<std::uint64_t>(gpu.attribute(attribute)); };
  const std::uint64_t warpSize = limit(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  const std::uint64_t warps = (threads + warpSize - 1) / warpSize;
  return limit(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
         std::min({limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / warpSize / warps,
                   limit(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) /
                       (sharedBytes + limit(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)),
                   limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)});
}

// What drivers check at the call. Limits are no rules: callers pass on what a program asked for.
CUresult checkShape(const CUlaunchConfig& config, const Kernel& kernel, const Gpu& gpu, bool cooperative) {
  const auto limit = [&](CUdevice_attribute attribute) { return static_cast<unsigned>(gpu.attribute(attribute)); };
  if (config.gridDimX == 0 || config.gridDimY == 0 || config.gridDimZ == 0 || config.blockDimX == 0 ||
      config.blockDimY == 0 || config.blockDimZ == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t threads = std::uint64_t{config.blockDimX} * config.blockDimY * config.blockDimZ;
  if (config.gridDimX > limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) ||
      config.gridDimY > limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) ||
      config.gridDimZ > limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) ||
      config.blockDimX > limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) ||
      config.blockDimY > limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) ||
      config.blockDimZ > limit(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) ||
      threads > limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) || config.sharedMemBytes > kernel.maxDynamicShared) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (threads > kernel.description->maxThreadsPerBlock) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const std::uint64_t blocks = std::uint64_t{config.gridDimX} * config.gridDimY * config.gridDimZ;
  const std::uint64_t shared = std::uint64_t{config.sharedMemBytes} + kernel.description->staticSharedBytes;
  if (cooperative && blocks > residentBlocks(gpu, threads, shared)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return CUDA_SUCCESS;
}

// What is larger than every GPU has is for kernels that it was allowed for (cuFuncSetAttribute, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED).
CUresult checkCluster(const CUlaunchConfig& config, const Kernel& kernel, const ClusterShape& asked) {
  const ClusterShape& own = kernel.description->cluster;
  const ClusterShape& cluster = asked.none() ? own : asked;
  const std::uint32_t most = kernel.largeClusters ? kMostClusterBlocks : kPortableClusterBlocks;
  const bool isRight = (own.none() || cluster == own) && !(cluster.none() && kernel.description->clusterMustBeSet) && cluster.valid() && cluster.blocks() <= most &&
                       cluster.divides(config.gridDimX, config.gridDimY, config.gridDimZ);
  return isRight ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult readAttributes(const CUlaunchConfig& config, bool& cooperative, ClusterShape& cluster) {
  if (config.numAttrs != 0 && config.attrs == nullptr) {
    return violation(CUDA_ERROR_INVALID_VALUE, "null-argument", "attributes are announced and missing");
  }
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    switch (config.attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:  // between kernels that wait; the double has no such order
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        cooperative = config.attrs[i].value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        cluster = {config.attrs[i].value.clusterDim.x, config.attrs[i].value.clusterDim.y, config.attrs[i].value.clusterDim.z};
        break;
      default:
        note("launch attribute " + std::to_string(config.attrs[i].id) + ": the double does not have it");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

CUresult launch(const CUlaunchConfig& config, CUfunction function, void** parameters, void** extra) {
  const auto context = here();
  const auto stream = streamOf(config.hStream);
  const auto kernel = state().kernels.find(reinterpret_cast<CUkernel>(function), "function");
  const auto library = kernel != nullptr ? kernel->library.lock() : nullptr;
  if (stream == nullptr || library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  bool cooperative = false;
  ClusterShape cluster;
  if (const CUresult result = readAttributes(config, cooperative, cluster); result != CUDA_SUCCESS) return result;
  if (const CUresult result = checkCluster(config, *kernel, cluster); result != CUDA_SUCCESS) return result;
  if (const CUresult result = checkShape(config, *kernel, context->gpu, cooperative); result != CUDA_SUCCESS)
    return result;
  std::vector<std::byte> block;
  if (const CUresult result = pack(*kernel->description, parameters, extra, block); result != CUDA_SUCCESS)
    return result;
  auto module = library->in(*context);
  if (module == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;

  context->growLocalMemory(kernel->description->localBytes);
  context->flushOutput();
  const std::uint64_t number = ++context->launches;
  if (number == simulation::faultLaunch()) {
    stream->push({[context = context.get(), number] {
                    context->fail(CUDA_ERROR_ILLEGAL_ADDRESS, "simulated fault of launch " + std::to_string(number));
                    return CUDA_SUCCESS;
                  },
                  {}});
    return CUDA_SUCCESS;
  }
  memory::LaunchRequest request;
  request.module = module.get();
  request.function = kernel->index;
  request.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  request.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  request.sharedBytes = config.sharedMemBytes;
  request.cooperative = cooperative;
  request.cluster = cluster;
  stream->push({[raw = stream.get(), request, module, block = std::move(block)]() mutable {
                  request.parameters = block;
                  return raw->onDevice(
                      [&](memory::Context& device, memory::Stream& queue) { device.launch(queue, request); });
                },
                {}});
  return CUDA_SUCCESS;
}

}  // namespace

namespace impl {

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  return launch(*config, f, kernelParams, extra);
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
  const CUlaunchConfig config{gridDimX,  gridDimY,       gridDimZ, blockDimX, blockDimY,
                              blockDimZ, sharedMemBytes, hStream,  nullptr,   0};
  return launch(config, f, kernelParams, extra);
}

}  // namespace impl
}  // namespace rouse::cuda_double
