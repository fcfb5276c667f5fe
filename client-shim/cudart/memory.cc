// CUDA Runtime API, "Memory Management": linear device memory.
#include "client-shim/core/allocation.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/host_memory.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/memory_advice.h"
#include "client-shim/cudart/session.h"
#include "schemas/base/range.h"

namespace rouse::cudart::impl {
namespace {

// Rows begin where the widest accesses of a warp are aligned.
constexpr std::uint64_t kPitchAlignment = 512;

cudaError_t allocate(void** pointer, std::uint64_t bytes) {
  std::uint64_t address = 0;
  const cudaError_t error = toCuda(currentDevice().memory().allocate(bytes, &address));
  if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  return error;
}

cudaError_t allocatePitched(void** pointer, std::size_t* pitch, std::uint64_t width, std::uint64_t rows) {
  if (width > SIZE_MAX - kPitchAlignment) return cudaErrorMemoryAllocation;
  const std::uint64_t rowBytes = roundUp(width, kPitchAlignment);
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(rowBytes, rows, &bytes)) return cudaErrorMemoryAllocation;
  const cudaError_t error = allocate(pointer, bytes);
  if (error == cudaSuccess) *pitch = rowBytes;
  return error;
}

// A pooled block goes back to its pool; what uses it is waited for, as cudaFree does.
cudaError_t freePooled(client::Device& device, std::uint64_t address) {
  if (const cudaError_t error = toCuda(device.synchronize()); error != cudaSuccess) return error;
  return toCuda(client::releaseAsync(address, device.legacyStream()));
}

}  // namespace

cudaError_t cudaMalloc(void** devPtr, size_t size) { return allocate(devPtr, size); }

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
  return allocatePitched(devPtr, pitch, width, height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
  std::uint64_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return cudaErrorMemoryAllocation;
  cudaPitchedPtr pitched{nullptr, 0, extent.width, extent.height};
  const cudaError_t error = allocatePitched(&pitched.ptr, &pitched.pitch, extent.width, rows);
  if (error == cudaSuccess) *pitchedDevPtr = pitched;
  return error;
}

cudaError_t cudaFree(void* devPtr) {
  if (devPtr == nullptr) return cudaSuccess;
  client::Process& process = client::Process::get();
  client::Allocation allocation;
  if (!process.findAllocation(devPtr, &allocation)) return cudaErrorInvalidValue;
  const auto address = reinterpret_cast<std::uint64_t>(devPtr);
  if (allocation.variable || allocation.range.base != address) return cudaErrorInvalidValue;
  switch (allocation.kind) {
    case client::MemoryKind::device: {
      client::Device& device = process.device(allocation.deviceIndex);
      bool freed = false;
      if (const cudaError_t error = graph::freeAllocation(devPtr, &freed); error != cudaSuccess || freed) return error;
      return allocation.pool != 0 ? freePooled(device, address) : toCuda(device.memory().release(address));
    }
    case client::MemoryKind::managed:
      MemoryAdvice::get().forget(allocation.range);
      return toCuda(process.hostMemory().release(devPtr));
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  std::uint64_t freeBytes = 0, totalBytes = 0;
  const cudaError_t error = toCuda(currentDevice().memoryInfo(&freeBytes, &totalBytes));
  if (error == cudaSuccess) {
    *free = freeBytes;
    *total = totalBytes;
  }
  return error;
}

}  // namespace rouse::cudart::impl
