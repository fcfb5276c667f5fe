#include "client-shim/cudart/texture/array.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device_info.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/log.h"
#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/session.h"
#include "schemas/base/range.h"
#include "schemas/wire/texture.h"

namespace rouse::cudart::texture {
namespace {

constexpr std::uint64_t kRowAlignment = 64, kLevelAlignment = 512;
constexpr unsigned kKnownFlags = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;

struct Registry {
  std::mutex mutex;
  std::unordered_map<const void*, std::unique_ptr<Array>> arrays;
  std::unordered_map<const void*, std::unique_ptr<Mipmapped>> mipmapped;
  std::unordered_map<const void*, Array*> levels;
};
Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

bool fits(const client::Device& device, std::uint64_t value, cudaDeviceAttr attribute) {
  return value <= static_cast<std::uint64_t>(std::max(deviceAttribute(device.info(), attribute), 0));
}

// What is allowed by shape (CUDA Runtime API, cudaMalloc3DArray).
cudaError_t checkShape(const client::Device& device, cudaExtent e, unsigned flags) {
  if ((flags & ~kKnownFlags) != 0 || e.width == 0) return cudaErrorInvalidValue;
  const bool layered = (flags & cudaArrayLayered) != 0;
  bool fit;
  if ((flags & cudaArrayCubemap) != 0) {
    if (e.width != e.height || e.depth == 0 || e.depth % 6 != 0 || (!layered && e.depth != 6)) return cudaErrorInvalidValue;
    fit = fits(device, e.width, cudaDevAttrMaxTextureCubemapWidth) && fits(device, e.depth, cudaDevAttrMaxTextureCubemapLayeredLayers);
  } else if (layered) {
    if (e.depth == 0) return cudaErrorInvalidValue;
    fit = e.height == 0 ? fits(device, e.width, cudaDevAttrMaxTexture1DLayeredWidth) && fits(device, e.depth, cudaDevAttrMaxTexture1DLayeredLayers)
                        : fits(device, e.width, cudaDevAttrMaxTexture2DLayeredWidth) && fits(device, e.height, cudaDevAttrMaxTexture2DLayeredHeight) &&
                              fits(device, e.depth, cudaDevAttrMaxTexture2DLayeredLayers);
  } else if (e.depth != 0) {
    if (e.height == 0) return cudaErrorInvalidValue;
    fit = fits(device, e.width, cudaDevAttrMaxTexture3DWidth) && fits(device, e.height, cudaDevAttrMaxTexture3DHeight) &&
          fits(device, e.depth, cudaDevAttrMaxTexture3DDepth);
  } else if (e.height != 0) {
    fit = fits(device, e.width, cudaDevAttrMaxTexture2DWidth) && fits(device, e.height, cudaDevAttrMaxTexture2DHeight);
  } else {
    fit = fits(device, e.width, cudaDevAttrMaxTexture1DWidth);
  }
  return fit ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t release(const Array& array, bool known) {
  if (array.incarnation != array.device->incarnation()) return cudaSuccess;  // it went with the reset
  if (known) client::CommandQueue::Batch(array.device->queue()).put(wire::ArrayForget{.base = array.address});
  return toCuda(array.device->memory().release(array.address));
}

// Bytes of the array, whose place in its allocation is `offset`.
std::uint64_t layOut(Array& array, std::uint64_t offset) {
  array.pitch = roundUp(array.extent.width * array.texelBytes(), kRowAlignment);
  array.planePitch = array.pitch * array.rows();
  array.address = offset;
  return array.planePitch * array.planes();
}

}  // namespace

cudaError_t checkFormat(const cudaChannelFormatDesc& format, std::uint32_t* channels, std::uint32_t* bits) {
  if (format.f > cudaChannelFormatKindFloat) {
    client::log(client::LogLevel::error, "channel formats of kind %d (normalized, compressed, several planes) are not supported", format.f);
    return cudaErrorNotSupported;
  }
  const int widths[] = {format.x, format.y, format.z, format.w};
  std::uint32_t count = 0;
  while (count < 4 && widths[count] != 0) ++count;
  for (std::uint32_t i = 0; i < 4; ++i)
    if (widths[i] != (i < count ? format.x : 0)) return cudaErrorInvalidChannelDescriptor;
  const bool size = format.x == 8 || format.x == 16 || format.x == 32;
  if (!size || count == 0 || count == 3 || (format.f == cudaChannelFormatKindFloat && format.x == 8)) return cudaErrorInvalidChannelDescriptor;
  *channels = count;
  *bits = static_cast<std::uint32_t>(format.x);
  return cudaSuccess;
}

cudaError_t makeArray(client::Device& device, const cudaChannelFormatDesc& format, cudaExtent extent, unsigned flags, Array** array) {
  std::uint32_t channels = 0, bits = 0;
  if (const cudaError_t error = checkFormat(format, &channels, &bits); error != cudaSuccess) return error;
  if (const cudaError_t error = checkShape(device, extent, flags); error != cudaSuccess) return error;
  auto made = std::make_unique<Array>();
  made->device = &device;
  made->incarnation = device.incarnation();
  made->format = format;
  made->extent = extent;
  made->flags = flags;
  const std::uint64_t bytes = layOut(*made, 0);
  if (const cudaError_t error = toCuda(device.memory().allocate(bytes, &made->address, kLevelAlignment)); error != cudaSuccess) return error;
  *array = made.get();
  const std::lock_guard lock(registry().mutex);
  registry().arrays[made.get()] = std::move(made);
  return cudaSuccess;
}

cudaError_t makeMipmapped(client::Device& device, const cudaChannelFormatDesc& format, cudaExtent extent, unsigned levels, unsigned flags,
                          Mipmapped** array) {
  std::uint32_t channels = 0, bits = 0;
  if (const cudaError_t error = checkFormat(format, &channels, &bits); error != cudaSuccess) return error;
  if (const cudaError_t error = checkShape(device, extent, flags); error != cudaSuccess) return error;
  const bool solid = (flags & (cudaArrayLayered | cudaArrayCubemap)) == 0;
  std::size_t longest = std::max(extent.width, extent.height);
  if (solid) longest = std::max(longest, extent.depth);
  unsigned most = 1;
  while (longest >>= 1) ++most;
  levels = std::clamp(levels, 1u, std::min(most, wire::kMaxTextureLevels));  // "clamped to the range [1, 1 + floor(log2(max …))]"
  auto made = std::make_unique<Mipmapped>();
  std::uint64_t bytes = 0;
  for (unsigned number = 0; number < levels; ++number) {
    auto level = std::make_unique<Array>();
    const auto halved = [&](std::size_t size) { return size != 0 ? std::max<std::size_t>(size >> number, 1) : 0; };
    level->device = &device;
    level->incarnation = device.incarnation();
    level->format = format;
    level->extent = {halved(extent.width), halved(extent.height), solid ? halved(extent.depth) : extent.depth};
    level->flags = flags;
    level->whole = made.get();
    level->number = number;
    bytes += roundUp(layOut(*level, bytes), kLevelAlignment);
    made->levels.push_back(std::move(level));
  }
  std::uint64_t address = 0;
  if (const cudaError_t error = toCuda(device.memory().allocate(bytes, &address, kLevelAlignment)); error != cudaSuccess) return error;
  const std::lock_guard lock(registry().mutex);
  for (const auto& level : made->levels) {
    level->address += address;
    registry().levels[level.get()] = level.get();
  }
  *array = made.get();
  registry().mipmapped[made.get()] = std::move(made);
  return cudaSuccess;
}

Array* findArray(cudaArray_const_t handle) {
  const std::lock_guard lock(registry().mutex);
  Array* array = nullptr;
  if (const auto found = registry().arrays.find(handle); found != registry().arrays.end())
    array = found->second.get();
  else if (const auto level = registry().levels.find(handle); level != registry().levels.end())
    array = level->second;
  return array;
}

Mipmapped* findMipmapped(cudaMipmappedArray_const_t handle) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().mipmapped.find(handle);
  return found != registry().mipmapped.end() ? found->second.get() : nullptr;
}

cudaError_t destroy(Array* array) {
  std::unique_ptr<Array> last;
  {
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().arrays.find(array);
    if (found == registry().arrays.end()) return cudaErrorInvalidValue;  // a level is its mipmapped array's
    last = std::move(found->second);
    registry().arrays.erase(found);
  }
  return release(*last, last->known.load());
}

cudaError_t destroy(Mipmapped* array) {
  std::unique_ptr<Mipmapped> last;
  {
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().mipmapped.find(array);
    if (found == registry().mipmapped.end()) return cudaErrorInvalidValue;
    last = std::move(found->second);
    registry().mipmapped.erase(found);
    for (const auto& level : last->levels) registry().levels.erase(level.get());
  }
  return release(*last->levels[0], std::ranges::any_of(last->levels, [](const auto& level) { return level->known.load(); }));
}

cudaError_t pitched(cudaArray_const_t handle, cudaPos position, cudaExtent extent, cudaPitchedPtr* pointer) {
  const Array* array = findArray(handle);
  if (array == nullptr || array->stale()) return cudaErrorInvalidResourceHandle;
  const auto within = [](std::size_t at, std::size_t size, std::size_t limit) { return at <= limit && size <= limit - at; };
  if (!within(position.x, extent.width, array->extent.width) || !within(position.y, extent.height, array->rows()) ||
      !within(position.z, extent.depth, array->planes()))
    return cudaErrorInvalidValue;
  const std::uint64_t at =
      array->address + position.z * array->planePitch + position.y * array->pitch + position.x * array->texelBytes();
  *pointer = {reinterpret_cast<void*>(at), array->pitch, array->extent.width * array->texelBytes(), array->rows()};
  return cudaSuccess;
}

}  // namespace rouse::cudart::texture
