// What a texture or surface object is where the device runs kernels on processors: a description in the function's own device memory, whose
// address is the object. The client writes it once, kernels' fetches read it (server/device/cpu/runtime/texture.h); it moves with the
// function's memory, as the texels do. Nobody else looks at it. A kernel may make one up: then it fetches from where it might have read
// anyway.
#pragma once

#include <cstdint>

namespace rouse::wire {

enum class TextureShape : std::uint32_t { oneDimension, twoDimensions, threeDimensions, cube };
enum class TexelKind : std::uint32_t { isUnsigned, isSigned, isFloat };
enum class TextureAddress : std::uint32_t { wrap, clamp, mirror, border };  // cudaTextureAddressMode

// Rows of texels of a fixed size. For layered ones and cubes planes are layers and faces, six a layer.
struct TextureLevel {
  std::uint64_t base;    // device address
  std::uint64_t pitch;   // bytes between rows
  std::uint64_t planePitch;
  std::uint32_t width, height, depth;  // texels; depth 1 unless it has three dimensions
  std::uint32_t reserved;
};

inline constexpr std::uint32_t kMaxTextureLevels = 16;

struct TextureObject {
  TextureShape shape;
  std::uint32_t layers;        // 0: not layered
  std::uint32_t channels;      // 1, 2 or 4
  std::uint32_t channelBits;   // 8, 16 or 32
  TexelKind kind;
  std::uint32_t linear;        // of memory rather than an array: fetches outside are zero
  std::uint32_t filter;        // 1: between texels
  std::uint32_t mipFilter;     // 1: between levels
  std::uint32_t normalizedCoordinates;
  std::uint32_t normalizedValues;  // integers are read as [0, 1] or [-1, 1]
  std::uint32_t sRgb;
  TextureAddress address[3];
  float border[4];
  float bias, minLevel, maxLevel;
  std::uint32_t levels;        // 1 to kMaxTextureLevels
  TextureLevel level[kMaxTextureLevels];
};
static_assert(sizeof(TextureLevel) == 40 && sizeof(TextureObject) % 8 == 0);

// The texels' own format as views name it (cudaResourceViewFormat, CUresourceViewFormat): by kind and width, each for 1, 2 and 4 channels.
constexpr std::uint32_t ownViewFormat(const TextureObject& object) {
  const std::uint32_t channels = object.channels == 4 ? 2 : object.channels - 1;
  if (object.kind == TexelKind::isFloat) return (object.channelBits == 16 ? 0x13 : 0x16) + channels;
  const std::uint32_t width = object.channelBits == 8 ? 0x01 : object.channelBits == 16 ? 0x07 : 0x0d;
  return width + (object.kind == TexelKind::isSigned ? 3 : 0) + channels;
}

// Where a driver makes the objects (DeviceInfo.placesVariables): what the program asked for, in TextureCreate. Arrays are the same memory of the
// function's; the driver's own array holds a copy of it (memory/device.h, createTexture()).
enum class TextureSource : std::uint32_t { array, mipmapped, linear, plane };  // cudaResourceType; plane: CUDA's Pitch2D

struct TextureRequest {
  TextureObject object;        // of an array all of it, whatever the view leaves: all levels of the mipmapped array that it is one of
  TextureSource source;
  std::uint32_t surface;       // 1: a surface object, of an array
  std::uint32_t level;         // of `object`, that is meant; source array
  std::uint32_t arrayFlags;    // kArrayFlags as the program gave them, cudaArrayLayered and so on
  std::uint32_t hasView;       // 1: what follows holds
  std::uint32_t firstLevel, lastLevel, firstLayer, lastLayer;
  std::uint32_t maxAnisotropy, seamless, untrilinear;  // cudaTextureDesc: seamlessCubemap, disableTrilinearOptimization
};
static_assert(sizeof(TextureRequest) == 776);  // TextureCreate's payload

inline constexpr std::uint32_t kArrayLayered = 1, kArraySurface = 2, kArrayCube = 4, kArrayGather = 8, kArrayFlags = 15;

}  // namespace rouse::wire
