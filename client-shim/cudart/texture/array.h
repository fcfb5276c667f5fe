// CUDA arrays: memory of a device with a shape, known to the program by a handle. Rows, planes and levels lie one behind another in one
// allocation of the function's own window, so that an array is copied as any memory is. Where kernels' fetches are not ours to make, the
// executor keeps an array of the driver's the same as that memory (wire::TextureRequest).
//
// Threads: any.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "client-shim/core/device.h"

namespace rouse::cudart::texture {

struct Array {
  client::Device* device = nullptr;
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // as the program gave it: 0 where there is no such dimension
  unsigned flags = 0;
  std::uint64_t address = 0;
  std::uint64_t pitch = 0, planePitch = 0;
  std::uint64_t incarnation = 0;  // of the device: a reset ends the memory
  const struct Mipmapped* whole = nullptr;  // whose level it is, and whose the memory
  unsigned number = 0;                      // of the level
  std::atomic<bool> known{false};            // to the device's driver, which may have an array of its own for it

  std::uint32_t texelBytes() const { return static_cast<std::uint32_t>(format.x + format.y + format.z + format.w) / 8; }
  std::uint64_t rows() const { return extent.height != 0 ? extent.height : 1; }
  std::uint64_t planes() const { return extent.depth != 0 ? extent.depth : 1; }
  bool layered() const { return (flags & cudaArrayLayered) != 0; }
  bool stale() const { return incarnation != device->incarnation(); }
  bool cube() const { return (flags & cudaArrayCubemap) != 0; }
  cudaArray_t handle() { return reinterpret_cast<cudaArray_t>(this); }
};

struct Mipmapped {
  std::vector<std::unique_ptr<Array>> levels;
};

// Live ones; null for any other handle.
Array* findArray(cudaArray_const_t handle);
Mipmapped* findMipmapped(cudaMipmappedArray_const_t handle);

// cudaErrorInvalidValue: a shape or format that there is not; cudaErrorNotSupported: a format or a device that has none.
cudaError_t makeArray(client::Device& device, const cudaChannelFormatDesc& format, cudaExtent extent, unsigned flags, Array** array);
cudaError_t makeMipmapped(client::Device& device, const cudaChannelFormatDesc& format, cudaExtent extent, unsigned levels, unsigned flags,
                          Mipmapped** array);
cudaError_t destroy(Array* array);
cudaError_t destroy(Mipmapped* array);

// 1, 2 or 4 channels of 8, 16 or 32 bits each.
cudaError_t checkFormat(const cudaChannelFormatDesc& format, std::uint32_t* channels, std::uint32_t* bits);

// The memory of an array as a copy names it: from this texel on.
cudaError_t pitched(cudaArray_const_t array, cudaPos position, cudaExtent extent, cudaPitchedPtr* pointer);

}  // namespace rouse::cudart::texture
