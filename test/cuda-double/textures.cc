// Arrays, textures and surfaces.
#include <algorithm>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/ranges.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

using wire::TextureObject;

// Nothing, with a violation: a format that there is not.
bool formatOf(CUarray_format format, unsigned channels, TextureObject& to) {
  struct Known {
    CUarray_format format;
    wire::TexelKind kind;
    std::uint32_t bits;
  };
  constexpr Known kKnown[] = {{CU_AD_FORMAT_UNSIGNED_INT8, wire::TexelKind::isUnsigned, 8},   {CU_AD_FORMAT_UNSIGNED_INT16, wire::TexelKind::isUnsigned, 16},
                              {CU_AD_FORMAT_UNSIGNED_INT32, wire::TexelKind::isUnsigned, 32}, {CU_AD_FORMAT_SIGNED_INT8, wire::TexelKind::isSigned, 8},
                              {CU_AD_FORMAT_SIGNED_INT16, wire::TexelKind::isSigned, 16},     {CU_AD_FORMAT_SIGNED_INT32, wire::TexelKind::isSigned, 32},
                              {CU_AD_FORMAT_HALF, wire::TexelKind::isFloat, 16},              {CU_AD_FORMAT_FLOAT, wire::TexelKind::isFloat, 32}};
  const auto* found = std::ranges::find(kKnown, format, &Known::format);
  if (found == std::end(kKnown) || (channels != 1 && channels != 2 && channels != 4)) {
    violate("format", std::to_string(format) + ", " + std::to_string(channels) + " channels");
    return false;
  }
  to.kind = found->kind;
  to.channelBits = found->bits;
  to.channels = channels;
  return true;
}

// As cuda.h describes which of the three there are.
CUresult check(const CUDA_ARRAY3D_DESCRIPTOR& about) {
  constexpr unsigned kKnown = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
  const bool layered = (about.Flags & CUDA_ARRAY3D_LAYERED) != 0, cube = (about.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  if ((about.Flags & ~kKnown) != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(about.Flags));
  if (about.Width == 0 || (about.Depth != 0 && about.Height == 0 && !layered) || (layered && about.Depth == 0) ||
      (cube && (about.Width != about.Height || about.Depth % 6 != 0 || about.Depth == 0 || (!layered && about.Depth != 6))))
    return violation(CUDA_ERROR_INVALID_VALUE, "extent", std::to_string(about.Width) + " x " + std::to_string(about.Height) + " x " + std::to_string(about.Depth));
  return CUDA_SUCCESS;
}

wire::TextureLevel levelOf(const Array& array, bool solid) {
  return {array.base(), array.pitch(), array.pitch() * array.rows(), static_cast<std::uint32_t>(array.about.Width), static_cast<std::uint32_t>(array.rows()),
          static_cast<std::uint32_t>(solid ? array.planes() : 1), 0};
}

bool describe(const std::vector<std::shared_ptr<Array>>& levels, TextureObject& to) {
  const CUDA_ARRAY3D_DESCRIPTOR& about = levels[0]->about;
  const bool layered = (about.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((about.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    to.shape = wire::TextureShape::cube;
    to.layers = layered ? static_cast<std::uint32_t>(about.Depth / 6) : 0;
  } else if (layered) {
    to.shape = about.Height != 0 ? wire::TextureShape::twoDimensions : wire::TextureShape::oneDimension;
    to.layers = static_cast<std::uint32_t>(about.Depth);
  } else {
    to.shape = about.Depth != 0 ? wire::TextureShape::threeDimensions : about.Height != 0 ? wire::TextureShape::twoDimensions : wire::TextureShape::oneDimension;
  }
  to.levels = static_cast<std::uint32_t>(levels.size());
  for (std::size_t i = 0; i < levels.size(); ++i) to.level[i] = levelOf(*levels[i], to.shape == wire::TextureShape::threeDimensions);
  return formatOf(about.Format, about.NumChannels, to);
}

// What a program asked for, as limits are: no rule is broken by it.
bool texturesAlign(CUdeviceptr base, std::size_t pitch) {
  const Gpu& gpu = here()->gpu;
  const auto multiple = [&](std::uint64_t value, CUdevice_attribute attribute) {
    const auto of = static_cast<std::uint64_t>(gpu.attribute(attribute));
    if (value % of == 0) return true;
    note("texture of memory: " + hex(value) + " is not a multiple of " + std::to_string(of));
    return false;
  };
  return multiple(base, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT) && multiple(pitch, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
}

CUresult describe(const CUDA_RESOURCE_DESC& resource, TextureObject& to) {
  if (resource.flags != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(resource.flags));
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: {
      const auto array = state().arrays.find(resource.res.array.hArray, "array");
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      return describe({array}, to) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      const auto array = state().mipmappedArrays.find(resource.res.mipmap.hMipmappedArray, "mipmapped array");
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      return describe(array->levels, to) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = resource.res.linear;
      if (!formatOf(linear.format, linear.numChannels, to)) return CUDA_ERROR_INVALID_VALUE;
      to.shape = wire::TextureShape::oneDimension;
      to.linear = to.levels = 1;
      to.level[0] = {linear.devPtr, 0, 0, static_cast<std::uint32_t>(linear.sizeInBytes / (to.channels * to.channelBits / 8)), 1, 1, 0};
      break;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& plane = resource.res.pitch2D;
      if (!formatOf(plane.format, plane.numChannels, to)) return CUDA_ERROR_INVALID_VALUE;
      to.shape = wire::TextureShape::twoDimensions;
      to.levels = 1;
      to.level[0] = {plane.devPtr, plane.pitchInBytes, 0, static_cast<std::uint32_t>(plane.width), static_cast<std::uint32_t>(plane.height), 1, 0};
      break;
    }
    default:
      return violation(CUDA_ERROR_INVALID_VALUE, "resource", std::to_string(resource.resType));
  }
  if (!texturesAlign(to.level[0].base, to.level[0].pitch)) return CUDA_ERROR_INVALID_VALUE;
  const wire::TextureLevel& level = to.level[0];
  const std::uint64_t texel = to.channels * to.channelBits / 8;
  const bool usableNow =
      usable({.base = level.base, .pitch = level.pitch, .width = level.width * texel, .height = level.height}, Expect::device, "texture", true).has_value();
  return usableNow ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult inUse(const Array& array) {
  for (const auto& [handle, context] : state().contexts.all())
    if (context->uses({array.base(), array.size()})) return violation(CUDA_ERROR_INVALID_VALUE, "in-use", "queued work uses the array");
  return CUDA_SUCCESS;
}

std::uint32_t texelBytes(const CUDA_ARRAY3D_DESCRIPTOR& about) {
  TextureObject described{};
  return formatOf(about.Format, about.NumChannels, described) ? described.channels * described.channelBits / 8 : 0;
}

}  // namespace

CUresult cuArray3DCreate(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  if (const CUresult result = check(*pAllocateArray); result != CUDA_SUCCESS) return result;
  const std::uint32_t bytes = texelBytes(*pAllocateArray);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *pHandle = state().arrays.add(std::make_shared<Array>(*pAllocateArray, bytes));
  return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray hArray) {
  const auto array = state().arrays.find(hArray, "array");
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (array->level) return violation(CUDA_ERROR_INVALID_HANDLE, "level", "a level ends with its mipmapped array");
  if (const CUresult result = inUse(*array); result != CUDA_SUCCESS) return result;
  state().arrays.remove(hArray, "array");
  here()->synchronize();
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc, unsigned int numMipmapLevels) {
  if (const CUresult result = check(*pMipmappedArrayDesc); result != CUDA_SUCCESS) return result;
  const std::uint32_t bytes = texelBytes(*pMipmappedArrayDesc);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (numMipmapLevels == 0 || numMipmapLevels > wire::kMaxTextureLevels) return violation(CUDA_ERROR_INVALID_VALUE, "levels", std::to_string(numMipmapLevels));
  auto made = std::make_shared<MipmappedArray>();
  const bool solid = (pMipmappedArrayDesc->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0;
  for (unsigned i = 0; i < numMipmapLevels; ++i) {
    CUDA_ARRAY3D_DESCRIPTOR level = *pMipmappedArrayDesc;
    const auto halved = [&](std::size_t size) { return size != 0 ? std::max<std::size_t>(size >> i, 1) : 0; };
    level.Width = halved(level.Width);
    level.Height = halved(level.Height);
    if (solid) level.Depth = halved(level.Depth);
    made->levels.push_back(std::make_shared<Array>(level, bytes));
    made->levels.back()->level = true;
    made->handles.push_back(state().arrays.add(made->levels.back()));
  }
  *pHandle = state().mipmappedArrays.add(std::move(made));
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level) {
  const auto array = state().mipmappedArrays.find(hMipmappedArray, "mipmapped array");
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (level >= array->handles.size()) return violation(CUDA_ERROR_INVALID_VALUE, "levels", std::to_string(level));
  *pLevelArray = array->handles[level];
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  const auto array = state().mipmappedArrays.find(hMipmappedArray, "mipmapped array");
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& level : array->levels)
    if (const CUresult result = inUse(*level); result != CUDA_SUCCESS) return result;
  for (const CUarray handle : array->handles) state().arrays.remove(handle, "array");
  state().mipmappedArrays.remove(hMipmappedArray, "mipmapped array");
  here()->synchronize();
  return CUDA_SUCCESS;
}

CUresult cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc, const CUDA_TEXTURE_DESC* pTexDesc, const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  TextureObject made{};
  if (const CUresult result = describe(*pResDesc, made); result != CUDA_SUCCESS) return result;
  constexpr unsigned kKnown = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
  if ((pTexDesc->flags & ~kKnown) != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(pTexDesc->flags));
  made.filter = pTexDesc->filterMode == CU_TR_FILTER_MODE_LINEAR;
  made.mipFilter = pTexDesc->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
  made.normalizedCoordinates = (pTexDesc->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  const bool integers = made.kind != wire::TexelKind::isFloat;
  made.normalizedValues = integers && made.channelBits < 32 && (pTexDesc->flags & CU_TRSF_READ_AS_INTEGER) == 0;
  if (made.filter != 0 && integers && made.normalizedValues == 0) return violation(CUDA_ERROR_INVALID_VALUE, "filter", "integers are not filtered");
  made.sRgb = (pTexDesc->flags & CU_TRSF_SRGB) != 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (pTexDesc->addressMode[axis] > CU_TR_ADDRESS_MODE_BORDER) return violation(CUDA_ERROR_INVALID_VALUE, "address-mode", std::to_string(pTexDesc->addressMode[axis]));
    made.address[axis] = static_cast<wire::TextureAddress>(pTexDesc->addressMode[axis]);
  }
  std::copy(std::begin(pTexDesc->borderColor), std::end(pTexDesc->borderColor), made.border);
  made.bias = pTexDesc->mipmapLevelBias;
  made.minLevel = pTexDesc->minMipmapLevelClamp;
  made.maxLevel = pTexDesc->maxMipmapLevelClamp;
  if (pResViewDesc != nullptr) {
    const CUDA_RESOURCE_VIEW_DESC& view = *pResViewDesc;
    if (view.format == CU_RES_VIEW_FORMAT_NONE) return violation(CUDA_ERROR_INVALID_VALUE, "view-format", "none: a driver wants one that fits the texels");
    if (static_cast<std::uint32_t>(view.format) != wire::ownViewFormat(made)) {
      note("views of another format: the double has none");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (view.width != made.level[0].width || view.lastMipmapLevel >= made.levels || view.firstMipmapLevel > view.lastMipmapLevel || view.firstLayer > view.lastLayer ||
        (made.layers != 0 && view.lastLayer >= made.layers))
      return violation(CUDA_ERROR_INVALID_VALUE, "view", "not of this array");
    if (made.layers != 0) {
      const std::uint64_t planes = made.shape == wire::TextureShape::cube ? 6 : 1;
      for (std::uint32_t i = 0; i < made.levels; ++i) made.level[i].base += view.firstLayer * planes * made.level[i].planePitch;
      made.layers = view.lastLayer - view.firstLayer + 1;
    }
    made.levels = view.lastMipmapLevel - view.firstMipmapLevel + 1;
    std::copy(made.level + view.firstMipmapLevel, made.level + view.firstMipmapLevel + made.levels, made.level);
  }
  *pTexObject = state().textures.add(made, false);
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject texObject) { return state().textures.remove(texObject, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

CUresult cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  if (pResDesc->resType != CU_RESOURCE_TYPE_ARRAY) return violation(CUDA_ERROR_INVALID_VALUE, "resource", "a surface is of an array");
  TextureObject made{};
  if (const CUresult result = describe(*pResDesc, made); result != CUDA_SUCCESS) return result;
  *pSurfObject = state().textures.add(made, true);
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject) { return state().textures.remove(surfObject, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

}  // namespace rouse::cuda_double::impl
