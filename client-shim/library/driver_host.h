// What libcuda.so.1 needs of the runtime that no function of the runtime does: which context a thread has, fills of wider elements, what a
// piece of memory and a kernel belong to. Found as LibraryHost is, through cudaGetExportTable by a number of its own.
//
// Any thread. Nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/base/cuda_error.h"
#include "schemas/wire/tensor_map.h"

namespace rouse::client {

// A context of the driver's, as the runtime keeps it for a thread.
struct CurrentContext {
  int device = -1;                // -1: the thread has none
  const void* context = nullptr;  // the caller's; null: the device's primary one
  int chosen = 0;                 // where the thread has none: the device that the runtime would take, plus 1; 0: its default
};

// height rows, pitch bytes apart, of width elements.
struct FillBox {
  void* destination = nullptr;
  std::size_t pitch = 0;
  std::uint32_t value = 0;
  std::uint32_t elementBytes = 1;  // 1, 2, 4
  std::size_t width = 0, height = 1;
};

struct MemoryFacts {
  std::uint64_t base = 0, bytes = 0;          // as the program sees it
  std::uint64_t deviceBase = 0;               // where base is for kernels
  std::uint64_t id = 0;                       // unique in the process
  std::uint64_t pool = 0;                     // cudaMemPool_t; 0: of none
  bool onDevice = false, imported = false, mapped = false;
};

// What cuMemMap has brought together.
struct MappingFacts {
  std::uint64_t base = 0, bytes = 0;
  std::uint64_t reservation = 0, reservedBytes = 0;  // that it lies in
  std::uint64_t id = 0;                              // unique in the process
  std::uint64_t handle = 0;
  int device = 0;
  std::uint32_t access = 0;  // as setAccess() was told
};

class DriverHost {
 public:
  virtual bool attached() const = 0;

  // Of the calling thread. The runtime makes a device's primary context current with cudaSetDevice, and when it needs a device.
  virtual CurrentContext current() const = 0;
  virtual void setCurrent(const CurrentContext& context) const = 0;
  // Whether some thread has had the device's context since the process began or reset it.
  virtual bool begun(int device) const = 0;
  virtual void begin(int device) const = 0;

  // `stream`: a cudaStream_t. finished: as CUDA's synchronous fills, which wait for host memory only. invalidValue: address or pitch is no multiple
  // of the element.
  virtual CudaError fill(const FillBox& box, void* stream, bool finished) const = 0;

  // false: no memory of CUDA's.
  virtual bool memory(std::uint64_t address, MemoryFacts* facts) const = 0;
  // The cudaLibrary_t of a cudaKernel_t; null: it is no kernel. Whether it has been loaded on the device.
  virtual const void* libraryOf(const void* kernel) const = 0;
  virtual bool loaded(const void* kernel, int device) const = 0;
  // Where a cudaArray_t's memory lies; 0: it is no array.
  virtual std::uint64_t arrayMemory(const void* array) const = 0;

  // --- Virtual memory management (client-shim/core/virtual_memory.h, with its errors). A device that does not exist: invalidDevice.
  virtual CudaError reserveAddresses(int device, std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint, std::uint64_t* address) const = 0;
  virtual CudaError releaseAddresses(std::uint64_t address, std::uint64_t bytes) const = 0;
  // `note`: the caller's, told by memoryNote().
  virtual CudaError createMemory(int device, std::uint64_t bytes, std::uint64_t note, std::uint64_t* handle) const = 0;
  virtual CudaError dropMemory(std::uint64_t handle) const = 0;
  virtual CudaError retainMemory(std::uint64_t address, std::uint64_t* handle) const = 0;
  virtual CudaError memoryNote(std::uint64_t handle, int* device, std::uint64_t* note) const = 0;
  // notSupported also: addresses of one device for memory of another.
  virtual CudaError mapMemory(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) const = 0;
  virtual CudaError unmapMemory(std::uint64_t address, std::uint64_t bytes) const = 0;
  virtual CudaError setAccess(std::uint64_t address, std::uint64_t bytes, const std::uint32_t* access) const = 0;
  virtual bool mapping(std::uint64_t address, MappingFacts* facts) const = 0;
  virtual std::uint64_t granularity() const = 0;

  // As the device makes it (client-shim/core/tensor_map.h).
  virtual CudaError encodeTensorMap(int device, const wire::TensorMapRequest& request, wire::TensorMap* map) const = 0;

 protected:
  ~DriverHost() = default;
};

inline constexpr unsigned char kDriverHostId[16] = {'r', 'o', 'u', 's', 'e', ' ', 'd', 'r', 'i', 'v', 'e', 'r', ' ', ' ', '0', '3'};

// Null, with a line on standard error the first time: the process has another libcudart.
const DriverHost* driverHost();

}  // namespace rouse::client
