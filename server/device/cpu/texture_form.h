// Texture and surface instructions as numbers, from the compiler to the runtime.
#pragma once

#include <cstdint>

namespace rouse::cpu {

enum class Geometry : std::uint8_t { d1, d2, d3, a1d, a2d, cube, acube };
enum class Sampling : std::uint8_t { base, level, gradient, gather };
enum class Boundary : std::uint8_t { trap, clamp, zero };

// Where registers lie in the block of words that an instruction hands over: coordinates first (a layer before the others), results in
// their place.
inline constexpr std::uint32_t kTextureLevel = 4;                              // or the first gradient
inline constexpr std::uint32_t kTextureGradientX = 4, kTextureGradientY = 8;  // up to four words each

struct TextureOperation {
  Geometry geometry = Geometry::d1;
  Sampling sampling = Sampling::base;
  bool integerCoordinates = false;
  bool floatResult = false;
  std::uint8_t component = 0;  // that is gathered

  std::uint32_t code() const {
    return static_cast<std::uint32_t>(geometry) | static_cast<std::uint32_t>(sampling) << 3 | std::uint32_t{integerCoordinates} << 5 |
           std::uint32_t{floatResult} << 6 | std::uint32_t{component} << 7;
  }
  static TextureOperation decode(std::uint32_t code) {
    return {static_cast<Geometry>(code & 7), static_cast<Sampling>(code >> 3 & 3), (code >> 5 & 1) != 0, (code >> 6 & 1) != 0,
            static_cast<std::uint8_t>(code >> 7 & 3)};
  }
};

// Surfaces: the words are the coordinates, x in bytes; data begins at kSurfaceData.
inline constexpr std::uint32_t kSurfaceData = 4;
inline constexpr std::uint32_t kTextureWords = 12;  // of either
struct SurfaceOperation {
  Geometry geometry = Geometry::d1;
  Boundary boundary = Boundary::trap;
  bool store = false;
  std::uint8_t bytes = 4;  // 1 to 16

  std::uint32_t code() const {
    return static_cast<std::uint32_t>(geometry) | static_cast<std::uint32_t>(boundary) << 3 | std::uint32_t{store} << 5 |
           std::uint32_t{bytes} << 6;
  }
  static SurfaceOperation decode(std::uint32_t code) {
    return {static_cast<Geometry>(code & 7), static_cast<Boundary>(code >> 3 & 3), (code >> 5 & 1) != 0, static_cast<std::uint8_t>(code >> 6 & 31)};
  }
};

enum class TextureQuery : std::uint32_t { width, height, depth, arraySize, levels };

}  // namespace rouse::cpu
