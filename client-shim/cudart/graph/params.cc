// What a node does, from the structures of the program: checked once, copied, and nothing of the program's is looked at later but the
// memory it names.
#include <cstring>
#include <limits>

#include "client-shim/core/launch.h"
#include "client-shim/core/log.h"
#include "client-shim/cudart/graph/model.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::graph {
namespace {

// CU_LAUNCH_PARAM_END, _BUFFER_POINTER and _BUFFER_SIZE (cuda.h).
constexpr std::uintptr_t kEnd = 0, kBufferPointer = 1, kBufferSize = 2;

cudaError_t readExtra(void** extra, const client::Kernel& kernel, std::vector<std::byte>* block) {
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (; reinterpret_cast<std::uintptr_t>(*extra) != kEnd; extra += 2) {
    const auto key = reinterpret_cast<std::uintptr_t>(*extra);
    if (key == kBufferPointer)
      buffer = extra[1];
    else if (key == kBufferSize && extra[1] != nullptr)
      std::memcpy(&bytes, extra[1], sizeof bytes);
    else
      return cudaErrorInvalidValue;
  }
  if (bytes < kernel.parameterBytes || (buffer == nullptr && kernel.parameterBytes != 0)) return cudaErrorInvalidValue;
  block->resize(kernel.parameterBytes);
  if (!block->empty()) std::memcpy(block->data(), buffer, block->size());
  return cudaSuccess;
}

}  // namespace

std::vector<void*> pointersInto(const void* function, client::Device& device, std::vector<std::byte>& block) {
  std::vector<void*> pointers;
  client::Kernel* kernel = nullptr;
  if (findKernel(function, device, &kernel) != cudaSuccess) return pointers;
  for (const client::Parameter& parameter : kernel->parameters)
    if (parameter.offset < block.size()) pointers.push_back(block.data() + parameter.offset);
  return pointers;
}

cudaError_t readKernel(const void* function, dim3 grid, dim3 block, unsigned sharedBytes, void** arguments, void** extra, bool cooperative,
                       client::Device& device, KernelParams* params) {
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(function, device, &kernel); error != cudaSuccess) return error;
  const client::LaunchShape shape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, sharedBytes, cooperative, params->cluster};
  std::uint32_t cluster = 0;
  if (const cudaError_t error = toCuda(client::checkLaunch(*kernel, shape, &cluster)); error != cudaSuccess) return error;
  std::vector<std::byte> values;
  if (arguments == nullptr && extra != nullptr) {
    if (const cudaError_t error = readExtra(extra, *kernel, &values); error != cudaSuccess) return error;
  } else {
    if (arguments == nullptr && !kernel->parameters.empty()) return cudaErrorInvalidValue;
    values.resize(kernel->parameterBytes);
    for (std::size_t i = 0; i < kernel->parameters.size(); ++i) {
      if (arguments[i] == nullptr) return cudaErrorInvalidValue;
      std::memcpy(values.data() + kernel->parameters[i].offset, arguments[i], kernel->parameters[i].bytes);
    }
  }
  params->function = function;
  params->grid = grid;
  params->block = block;
  params->sharedBytes = sharedBytes;
  params->cooperative = cooperative;
  params->arguments = std::move(values);
  params->pointers.clear();
  return cudaSuccess;
}

cudaError_t readKernel(const cudaKernelNodeParams& given, client::Device& device, KernelParams* params) {
  return readKernel(given.func, given.gridDim, given.blockDim, given.sharedMemBytes, given.kernelParams, given.extra, params->cooperative,
                    device, params);
}

cudaMemcpy3DParms flatCopy(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind) {
  cudaMemcpy3DParms box{};
  box.dstPtr = {dst, count, count, 1};
  box.srcPtr = {const_cast<void*>(src), count, count, 1};
  box.extent = {count, 1, 1};
  box.kind = kind;
  return box;
}

cudaError_t readCopy(const cudaMemcpy3DParms& given, CopyParams* params) {
  if (given.kind < cudaMemcpyHostToHost || given.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (given.srcArray == nullptr && given.srcPtr.ptr == nullptr) return cudaErrorInvalidValue;
  if (given.dstArray == nullptr && given.dstPtr.ptr == nullptr) return cudaErrorInvalidValue;
  params->box = given;
  return cudaSuccess;
}

cudaError_t readFill(const cudaMemsetParams& given, FillParams* params) {
  if (given.dst == nullptr || (given.elementSize != 1 && given.elementSize != 2 && given.elementSize != 4)) return cudaErrorInvalidValue;
  if (given.width > std::numeric_limits<std::size_t>::max() / 4) return cudaErrorInvalidValue;
  if (given.height > 1 && given.pitch < given.width * given.elementSize) return cudaErrorInvalidValue;
  params->box = given;
  return cudaSuccess;
}

}  // namespace rouse::cudart::graph
