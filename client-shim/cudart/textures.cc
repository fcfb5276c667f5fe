// CUDA Runtime API, "Texture Object Management" and "Surface Object Management".
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "client-shim/core/allocation.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/device_info.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/texture/array.h"
#include "schemas/wire/texture.h"

namespace rouse::cudart::impl {
namespace {

using texture::Array;

struct Object {
  client::Device* device = nullptr;
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
  cudaResourceViewDesc view{};
  bool hasView = false, surface = false;
  std::uint64_t incarnation = 0;  // of the device
};

struct Objects {
  std::mutex mutex;
  std::unordered_map<unsigned long long, Object> live;  // by address of the description
};
Objects& objects() {
  static Objects& all = *new Objects;
  return all;
}

bool find(unsigned long long handle, bool surface, Object* object) {
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().live.find(handle);
  if (found == objects().live.end() || found->second.surface != surface) return false;
  *object = found->second;
  return true;
}

cudaError_t describeFormat(const cudaChannelFormatDesc& format, wire::TextureObject* t) {
  t->kind = format.f == cudaChannelFormatKindSigned  ? wire::TexelKind::isSigned
            : format.f == cudaChannelFormatKindFloat ? wire::TexelKind::isFloat
                                                     : wire::TexelKind::isUnsigned;
  return texture::checkFormat(format, &t->channels, &t->channelBits);
}

wire::TextureLevel levelOf(const Array& array) {
  const bool solid = !array.layered() && !array.cube();
  return {array.address,
          array.pitch,
          array.planePitch,
          static_cast<std::uint32_t>(array.extent.width),
          static_cast<std::uint32_t>(array.rows()),
          static_cast<std::uint32_t>(solid ? array.planes() : 1),
          0};
}

cudaError_t describeArray(const Array& array, wire::TextureObject* t) {
  if (array.cube()) {
    t->shape = wire::TextureShape::cube;
    t->layers = array.layered() ? static_cast<std::uint32_t>(array.planes() / 6) : 0;
  } else if (array.layered()) {
    t->shape = array.extent.height != 0 ? wire::TextureShape::twoDimensions : wire::TextureShape::oneDimension;
    t->layers = static_cast<std::uint32_t>(array.planes());
  } else {
    t->shape = array.extent.depth != 0    ? wire::TextureShape::threeDimensions
               : array.extent.height != 0 ? wire::TextureShape::twoDimensions
                                          : wire::TextureShape::oneDimension;
  }
  t->levels = 1;
  t->level[0] = levelOf(array);
  return describeFormat(array.format, t);
}

// Memory that the program has, as the device knows it.
cudaError_t describeMemory(const void* pointer, std::uint64_t bytes, std::uint64_t* address) {
  client::Allocation found;
  const auto at = reinterpret_cast<std::uint64_t>(pointer);
  if (!client::Process::get().findAllocation(pointer, &found) || !found.range.contains(at, bytes)) return cudaErrorInvalidValue;
  *address = found.deviceAddress(at);
  return cudaSuccess;
}

cudaError_t describeResource(const cudaResourceDesc& resource, wire::TextureObject* t, client::Device** device) {
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const Array* array = texture::findArray(resource.res.array.array);
      if (array == nullptr || array->stale()) return cudaErrorInvalidResourceHandle;
      *device = array->device;
      return describeArray(*array, t);
    }
    case cudaResourceTypeMipmappedArray: {
      const texture::Mipmapped* array = texture::findMipmapped(resource.res.mipmap.mipmap);
      if (array == nullptr || array->levels[0]->stale()) return cudaErrorInvalidResourceHandle;
      *device = array->levels[0]->device;
      const cudaError_t error = describeArray(*array->levels[0], t);
      t->levels = static_cast<std::uint32_t>(array->levels.size());
      for (std::size_t i = 0; i < array->levels.size(); ++i) t->level[i] = levelOf(*array->levels[i]);
      return error;
    }
    case cudaResourceTypeLinear: {
      const auto& linear = resource.res.linear;
      if (const cudaError_t error = describeFormat(linear.desc, t); error != cudaSuccess) return error;
      const std::uint64_t texels = linear.sizeInBytes / (t->channels * t->channelBits / 8);
      const auto most = static_cast<std::uint64_t>(deviceAttribute((*device)->info(), cudaDevAttrMaxTexture1DLinearWidth));
      if (texels == 0 || texels > most) return cudaErrorInvalidValue;
      t->shape = wire::TextureShape::oneDimension;
      t->linear = 1;
      t->levels = 1;
      t->level[0].width = static_cast<std::uint32_t>(texels);
      t->level[0].height = t->level[0].depth = 1;
      return describeMemory(linear.devPtr, linear.sizeInBytes, &t->level[0].base);
    }
    case cudaResourceTypePitch2D: {
      const auto& plane = resource.res.pitch2D;
      if (const cudaError_t error = describeFormat(plane.desc, t); error != cudaSuccess) return error;
      const std::uint64_t row = plane.width * (t->channels * t->channelBits / 8);
      const auto alignment = static_cast<std::uint64_t>(deviceAttribute((*device)->info(), cudaDevAttrTexturePitchAlignment));
      if (plane.width == 0 || plane.height == 0 || plane.width > 131072 || plane.height > 65000 || plane.pitchInBytes < row ||
          plane.pitchInBytes % std::max<std::uint64_t>(alignment, 1) != 0)
        return cudaErrorInvalidValue;
      t->shape = wire::TextureShape::twoDimensions;
      t->levels = 1;
      t->level[0].pitch = plane.pitchInBytes;
      t->level[0].width = static_cast<std::uint32_t>(plane.width);
      t->level[0].height = static_cast<std::uint32_t>(plane.height);
      t->level[0].depth = 1;
      return describeMemory(plane.devPtr, (plane.height - 1) * plane.pitchInBytes + row, &t->level[0].base);
    }
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t describeTexture(const cudaTextureDesc& desc, wire::TextureObject* t) {
  const bool floats = t->kind == wire::TexelKind::isFloat;
  if (desc.readMode != cudaReadModeElementType && desc.readMode != cudaReadModeNormalizedFloat) return cudaErrorInvalidValue;
  const bool normalized = desc.readMode == cudaReadModeNormalizedFloat && !floats;
  if (normalized && t->channelBits == 32) return cudaErrorInvalidValue;
  if (desc.filterMode == cudaFilterModeLinear && !floats && !normalized) return cudaErrorInvalidFilterSetting;
  t->filter = desc.filterMode == cudaFilterModeLinear;
  t->mipFilter = desc.mipmapFilterMode == cudaFilterModeLinear;
  t->normalizedCoordinates = desc.normalizedCoords != 0 || t->shape == wire::TextureShape::cube;
  t->normalizedValues = normalized;
  t->sRgb = desc.sRGB != 0 && normalized && t->channelBits == 8 && t->kind == wire::TexelKind::isUnsigned;
  for (int axis = 0; axis < 3; ++axis) {
    if (desc.addressMode[axis] < cudaAddressModeWrap || desc.addressMode[axis] > cudaAddressModeBorder) return cudaErrorInvalidValue;
    t->address[axis] =
        t->shape == wire::TextureShape::cube ? wire::TextureAddress::clamp : static_cast<wire::TextureAddress>(desc.addressMode[axis]);
  }
  std::copy(std::begin(desc.borderColor), std::end(desc.borderColor), t->border);
  t->bias = desc.mipmapLevelBias;
  t->minLevel = desc.minMipmapLevelClamp;
  t->maxLevel = desc.maxMipmapLevelClamp;
  return cudaSuccess;
}

// Levels and layers that the view leaves; another format of the same texels is beyond us.
cudaError_t applyView(const cudaResourceViewDesc& view, wire::TextureObject* t) {
  const bool sameFormat = view.format == cudaResViewFormatNone || static_cast<std::uint32_t>(view.format) == wire::ownViewFormat(*t);
  if (!sameFormat || (view.width != 0 && view.width != t->level[0].width) ||
      (view.height != 0 && view.height != t->level[0].height)) {
    client::log(client::LogLevel::error, "resource views with another format or size are not supported");
    return cudaErrorNotSupported;
  }
  if (view.lastMipmapLevel >= t->levels || view.firstMipmapLevel > view.lastMipmapLevel) return cudaErrorInvalidValue;
  if (t->layers != 0) {
    if (view.lastLayer >= t->layers || view.firstLayer > view.lastLayer) return cudaErrorInvalidValue;
    const std::uint64_t planes = t->shape == wire::TextureShape::cube ? 6 : 1;
    for (std::uint32_t i = 0; i < t->levels; ++i) t->level[i].base += view.firstLayer * planes * t->level[i].planePitch;
    t->layers = view.lastLayer - view.firstLayer + 1;
  }
  t->levels = view.lastMipmapLevel - view.firstMipmapLevel + 1;
  std::copy(t->level + view.firstMipmapLevel, t->level + view.firstMipmapLevel + t->levels, t->level);
  return cudaSuccess;
}

// The description goes to memory of the device's, before everything that comes after, on whatever stream.
cudaError_t keep(const wire::TextureObject& described, Object object, unsigned long long* handle) {
  client::Device& device = *object.device;
  std::uint64_t address = 0;
  if (const cudaError_t error = toCuda(device.memory().allocate(sizeof described, &address)); error != cudaSuccess) return error;
  client::Stream* stream = nullptr;
  if (const cudaError_t error = toCuda(device.internalStream(&stream)); error != cudaSuccess) {
    (void)device.memory().release(address);
    return error;
  }
  {
    client::CommandQueue::Batch batch(device.queue());
    batch.put(*stream, wire::CopyInline{.destination = address}, std::as_bytes(std::span(&described, 1)));
    batch.put(wire::Fence{});
  }
  *handle = address;
  object.incarnation = device.incarnation();
  const std::lock_guard lock(objects().mutex);
  objects().live[address] = object;
  return cudaSuccess;
}

// What the driver of the device is asked for; `described` without a view.
wire::TextureRequest requestOf(const Object& object, const wire::TextureObject& described) {
  wire::TextureRequest request{};
  request.object = described;
  request.surface = object.surface;
  request.maxAnisotropy = std::min(object.texture.maxAnisotropy, 16u);
  request.seamless = object.texture.seamlessCubemap != 0;
  request.untrilinear = object.texture.disableTrilinearOptimization != 0;
  request.hasView = object.hasView;
  request.firstLevel = object.view.firstMipmapLevel;
  request.lastLevel = object.view.lastMipmapLevel;
  request.firstLayer = object.view.firstLayer;
  request.lastLayer = object.view.lastLayer;
  switch (object.resource.resType) {
    case cudaResourceTypeArray: {
      Array& array = *texture::findArray(object.resource.res.array.array);
      array.known = true;
      request.source = wire::TextureSource::array;
      request.arrayFlags = array.flags & wire::kArrayFlags;
      if (array.whole != nullptr) {
        request.level = array.number;
        request.object.levels = static_cast<std::uint32_t>(array.whole->levels.size());
        for (std::size_t i = 0; i < array.whole->levels.size(); ++i) request.object.level[i] = levelOf(*array.whole->levels[i]);
      }
      break;
    }
    case cudaResourceTypeMipmappedArray: {
      Array& first = *texture::findMipmapped(object.resource.res.mipmap.mipmap)->levels[0];
      first.known = true;
      request.source = wire::TextureSource::mipmapped;
      request.arrayFlags = first.flags & wire::kArrayFlags;
      break;
    }
    case cudaResourceTypeLinear:
      request.source = wire::TextureSource::linear;
      break;
    default:
      request.source = wire::TextureSource::plane;
      break;
  }
  return request;
}

// Of a device whose driver makes objects: asked for, and waited for.
cudaError_t askFor(const wire::TextureRequest& request, Object object, unsigned long long* handle) {
  client::Device& device = *object.device;
  client::Session& session = device.session();
  const auto lease = session.slots().take();
  if (!lease) return cudaErrorMemoryAllocation;
  const client::Mark reply{lease->index, lease->value + 1};
  {
    client::CommandQueue::Batch batch(device.queue());
    batch.put(wire::TextureCreate{.value = reply.value, .slot = reply.slot}, std::as_bytes(std::span(&request, 1)));
    batch.flush();
  }
  cudaError_t error = toCuda(session.wait(device.index(), reply));
  if (error == cudaSuccess) {
    const wire::Slot& slot = session.slot(reply.slot);
    error = static_cast<cudaError_t>(slot.result.load(std::memory_order_relaxed));
    *handle = slot.payload.load(std::memory_order_relaxed);
  }
  session.slots().give({reply.slot, reply.value});
  if (error != cudaSuccess) return error;
  object.incarnation = device.incarnation();
  const std::lock_guard lock(objects().mutex);
  objects().live[*handle] = object;
  return cudaSuccess;
}

// What is no object is destroyed with success, and nothing happens: that is how CUDA has it.
cudaError_t destroy(unsigned long long handle, bool surface) {
  Object object;
  if (!find(handle, surface, &object)) return cudaSuccess;
  {
    const std::lock_guard lock(objects().mutex);
    objects().live.erase(handle);
  }
  if (object.incarnation != object.device->incarnation()) return cudaSuccess;  // the reset has ended it
  if (object.device->info().placesVariables) {
    client::CommandQueue::Batch(object.device->queue()).put(wire::TextureDestroy{.object = handle});
    return cudaSuccess;
  }
  return toCuda(object.device->memory().release(handle));
}

}  // namespace

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* pTexObject, const cudaResourceDesc* pResDesc, const cudaTextureDesc* pTexDesc,
                                    const cudaResourceViewDesc* pResViewDesc) {
  Object object{&currentDevice(), *pResDesc, *pTexDesc, {}, pResViewDesc != nullptr, false, 0};
  wire::TextureObject described{};
  if (const cudaError_t error = describeResource(*pResDesc, &described, &object.device); error != cudaSuccess) return error;
  if (const cudaError_t error = describeTexture(*pTexDesc, &described); error != cudaSuccess) return error;
  const wire::TextureObject whole = described;
  if (pResViewDesc != nullptr) {
    object.view = *pResViewDesc;
    if (const cudaError_t error = applyView(*pResViewDesc, &described); error != cudaSuccess) return error;
  }
  return object.device->info().placesVariables ? askFor(requestOf(object, whole), object, pTexObject) : keep(described, object, pTexObject);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject) { return destroy(texObject, false); }

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* pResDesc, cudaTextureObject_t texObject) {
  Object object;
  if (!find(texObject, false, &object)) return cudaErrorInvalidValue;
  *pResDesc = object.resource;
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* pTexDesc, cudaTextureObject_t texObject) {
  Object object;
  if (!find(texObject, false, &object)) return cudaErrorInvalidValue;
  *pTexDesc = object.texture;
  return cudaSuccess;
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* pResViewDesc, cudaTextureObject_t texObject) {
  Object object;
  if (!find(texObject, false, &object) || !object.hasView) return cudaErrorInvalidValue;
  *pResViewDesc = object.view;
  return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* pSurfObject, const cudaResourceDesc* pResDesc) {
  Object object{&currentDevice(), *pResDesc, {}, {}, false, true, 0};
  if (pResDesc->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
  const Array* array = texture::findArray(pResDesc->res.array.array);
  if (array == nullptr || array->stale()) return cudaErrorInvalidResourceHandle;
  // CUDA does not look whether the array was made with cudaArraySurfaceLoadStore; here surfaces do not need it.
  wire::TextureObject described{};
  object.device = array->device;
  if (const cudaError_t error = describeArray(*array, &described); error != cudaSuccess) return error;
  return object.device->info().placesVariables ? askFor(requestOf(object, described), object, pSurfObject) : keep(described, object, pSurfObject);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject) { return destroy(surfObject, true); }

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* pResDesc, cudaSurfaceObject_t surfObject) {
  Object object;
  if (!find(surfObject, true, &object)) return cudaErrorInvalidValue;
  *pResDesc = object.resource;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, const cudaChannelFormatDesc* fmtDesc, int device) {
  client::Device* found = nullptr;
  std::uint32_t channels = 0, bits = 0;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = texture::checkFormat(*fmtDesc, &channels, &bits); error != cudaSuccess) return error;
  *maxWidthInElements = static_cast<size_t>(deviceAttribute(found->info(), cudaDevAttrMaxTexture1DLinearWidth));
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
