#include "server/device/cpu/runtime/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace rouse::cpu {
namespace {

using wire::TexelKind;
using wire::TextureAddress;
using wire::TextureLevel;
using wire::TextureObject;

struct Texel {
  float f[4];
};

struct Position {
  float x = 0, y = 0, z = 0;
  std::int64_t plane = 0;  // layer, face
};

float halfToFloat(std::uint16_t bits) { return static_cast<float>(std::bit_cast<_Float16>(bits)); }

float fromSrgb(float value) { return value <= 0.04045f ? value / 12.92f : std::pow((value + 0.055f) / 1.055f, 2.4f); }

std::uint32_t bytesOf(const TextureObject& t) { return t.channels * t.channelBits / 8; }

const std::byte* at(const TextureObject& t, const TextureLevel& level, std::int64_t x, std::int64_t y, std::int64_t plane) {
  return reinterpret_cast<const std::byte*>(level.base + static_cast<std::uint64_t>(plane) * level.planePitch +
                                            static_cast<std::uint64_t>(y) * level.pitch + static_cast<std::uint64_t>(x) * bytesOf(t));
}

// A channel as it lies in memory, extended to 32 bits by its sign.
std::uint32_t rawChannel(const TextureObject& t, const std::byte* texel, std::uint32_t channel) {
  switch (t.channelBits) {
    case 8: {
      std::uint8_t v;
      std::memcpy(&v, texel + channel, 1);
      return t.kind == TexelKind::isSigned ? static_cast<std::uint32_t>(static_cast<std::int8_t>(v)) : v;
    }
    case 16: {
      std::uint16_t v;
      std::memcpy(&v, texel + 2 * channel, 2);
      return t.kind == TexelKind::isSigned ? static_cast<std::uint32_t>(static_cast<std::int16_t>(v)) : v;
    }
    default: {
      std::uint32_t v;
      std::memcpy(&v, texel + 4 * channel, 4);
      return v;
    }
  }
}

float channelValue(const TextureObject& t, std::uint32_t raw, std::uint32_t channel) {
  if (t.kind == TexelKind::isFloat) return t.channelBits == 16 ? halfToFloat(static_cast<std::uint16_t>(raw)) : std::bit_cast<float>(raw);
  if (!t.normalizedValues) return t.kind == TexelKind::isSigned ? static_cast<float>(static_cast<std::int32_t>(raw)) : static_cast<float>(raw);
  if (t.kind == TexelKind::isSigned) {
    const float most = static_cast<float>((1u << (t.channelBits - 1)) - 1);
    return std::max(static_cast<float>(static_cast<std::int32_t>(raw)) / most, -1.0f);
  }
  const float value = static_cast<float>(raw) / static_cast<float>((std::uint64_t{1} << t.channelBits) - 1);
  return t.sRgb != 0 && channel < 3 ? fromSrgb(value) : value;
}

// Where coordinate `i` of `n` lies; -1: outside, on the border.
std::int64_t place(std::int64_t i, std::int64_t n, TextureAddress mode) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case TextureAddress::wrap:
      return ((i % n) + n) % n;
    case TextureAddress::mirror: {
      const std::int64_t turn = ((i % (2 * n)) + 2 * n) % (2 * n);
      return turn < n ? turn : 2 * n - 1 - turn;
    }
    case TextureAddress::clamp:
      return i < 0 ? 0 : n - 1;
    default:
      return -1;
  }
}

// Wrap and mirror are for normalized coordinates only; otherwise they clamp ("Texture Fetching").
TextureAddress modeOf(const TextureObject& t, unsigned axis) {
  const TextureAddress mode = t.address[axis];
  if (t.normalizedCoordinates == 0 && (mode == TextureAddress::wrap || mode == TextureAddress::mirror)) return TextureAddress::clamp;
  return mode;
}

std::int64_t floorOf(float value) {
  if (!(value > -4e18f)) return -(std::int64_t{1} << 40);  // NaN too
  if (value > 4e18f) return std::int64_t{1} << 40;
  const auto whole = static_cast<std::int64_t>(value);  // std::floor is a call of the C library
  return static_cast<float>(whole) > value ? whole - 1 : whole;
}

// What lies above the whole number: all of 1 where the value is so little below 0 that it rounds to that. Of what is none, or too large to have a fraction,
// nothing.
float fractionOf(float value, std::int64_t floor) {
  const float above = value - static_cast<float>(floor);
  return above >= 0 && above <= 1 ? above : 0;
}

struct Fetcher {
  const TextureObject& t;
  const TextureLevel& level;
  bool flat, solid;  // one dimension; three

  // A fetch by one coordinate looks at one row, whatever the array is.
  Fetcher(const TextureObject& t, const TextureLevel& level, Geometry geometry)
      : t(t),
        level(level),
        flat(t.shape == wire::TextureShape::oneDimension || geometry == Geometry::d1 || geometry == Geometry::a1d),
        solid(t.shape == wire::TextureShape::threeDimensions && geometry == Geometry::d3) {}

  // Null: the border.
  const std::byte* texel(std::int64_t x, std::int64_t y, std::int64_t z) const {
    x = place(x, std::max(level.width, 1u), modeOf(t, 0));
    if (!flat) y = place(y, std::max(level.height, 1u), modeOf(t, 1));
    if (solid) z = place(z, std::max(level.depth, 1u), modeOf(t, 2));
    return x < 0 || y < 0 || z < 0 ? nullptr : at(t, level, x, y, z);
  }
  Texel value(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const std::byte* from = texel(x, y, z);
    Texel made{{0, 0, 0, 1}};
    if (from != nullptr && t.kind == TexelKind::isFloat && t.channelBits == 32) {  // most are
      switch (t.channels) {
        case 1:
          std::memcpy(made.f, from, 4);
          return made;
        case 2:
          std::memcpy(made.f, from, 8);
          return made;
        case 4:
          std::memcpy(made.f, from, 16);
          return made;
        default:
          break;
      }
    }
    for (std::uint32_t c = 0; c < std::min(t.channels, 4u); ++c)
      made.f[c] = from != nullptr ? channelValue(t, rawChannel(t, from, c), c) : t.border[c];
    return made;
  }

  // 9-bit fixed point with 8 bits of fraction ("Linear Filtering").
  static float weight(float fraction) { return static_cast<float>(static_cast<std::int32_t>(fraction * 256.0f + 0.5f)) / 256.0f; }

  Texel linear(Position p) const {
    const float x = p.x - 0.5f, y = flat ? 0 : p.y - 0.5f, z = solid ? p.z - 0.5f : 0;
    const std::int64_t i = floorOf(x), j = flat ? 0 : floorOf(y), k = solid ? floorOf(z) : p.plane;
    const float a = weight(fractionOf(x, i)), b = flat ? 0 : weight(fractionOf(y, j)), c = solid ? weight(fractionOf(z, k)) : 0;
    Texel sum{};
    for (int dz = 0; dz <= (solid ? 1 : 0); ++dz)
      for (int dy = 0; dy <= (flat ? 0 : 1); ++dy)
        for (int dx = 0; dx <= 1; ++dx) {
          const float w = (dx ? a : 1 - a) * (dy ? b : 1 - b) * (dz ? c : 1 - c);
          if (w == 0) continue;
          const Texel part = value(i + dx, j + dy, k + dz);
          for (int channel = 0; channel < 4; ++channel) sum.f[channel] += w * part.f[channel];
        }
    return sum;
  }
  Texel sample(Position p) const {
    if (t.filter != 0) return linear(p);
    return value(floorOf(p.x), flat ? 0 : floorOf(p.y), solid ? floorOf(p.z) : p.plane);
  }

  // From the program's coordinates to texels'. Wrapping and mirroring at the ends of [0, 1) are those of texels.
  Position scaled(Position p) const {
    if (t.normalizedCoordinates == 0) return p;
    p.x *= static_cast<float>(level.width);
    p.y *= static_cast<float>(level.height);
    p.z *= static_cast<float>(level.depth);
    return p;
  }
};

// The face and the place on it (CUDA C++ Programming Guide, "Cubemap Textures", table of faces).
Position onCube(float x, float y, float z, std::int64_t layer) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  float m, s, t;
  std::int64_t face;
  if (ax >= ay && ax >= az) {
    face = std::signbit(x) ? 1 : 0, m = ax, s = std::signbit(x) ? z : -z, t = -y;
  } else if (ay >= az) {
    face = std::signbit(y) ? 3 : 2, m = ay, s = x, t = std::signbit(y) ? -z : z;
  } else {
    face = std::signbit(z) ? 5 : 4, m = az, s = std::signbit(z) ? -x : x, t = -y;
  }
  return {(s / m + 1) / 2, (t / m + 1) / 2, 0, layer * 6 + face};
}

float wordAsFloat(const TextureOperation& operation, std::uint32_t word) {
  return operation.integerCoordinates ? static_cast<float>(static_cast<std::int32_t>(word)) : std::bit_cast<float>(word);
}

std::int64_t layerOf(const TextureObject& t, std::uint32_t word) {
  return std::min<std::int64_t>(word, std::max(t.layers, 1u) - 1);
}

Position positionOf(const TextureObject& t, const TextureOperation& operation, const std::uint32_t* words) {
  const auto f = [&](int i) { return wordAsFloat(operation, words[i]); };
  switch (operation.geometry) {
    case Geometry::d1:
      return {f(0), 0, 0, 0};
    case Geometry::d2:
      return {f(0), f(1), 0, 0};
    case Geometry::d3:
      return {f(0), f(1), f(2), 0};
    case Geometry::a1d:
      return {f(1), 0, 0, layerOf(t, words[0])};
    case Geometry::a2d:
      return {f(1), f(2), 0, layerOf(t, words[0])};
    case Geometry::cube:
      return onCube(f(0), f(1), f(2), 0);
    case Geometry::acube:
      return onCube(f(1), f(2), f(3), layerOf(t, words[0]));
  }
  return {};
}

// From how far apart neighbours are ("level of detail" of gradients).
float gradientLevel(const TextureObject& t, const TextureOperation& operation, const std::uint32_t* words) {
  const unsigned axes = operation.geometry == Geometry::d1 || operation.geometry == Geometry::a1d ? 1 : operation.geometry == Geometry::d3 ? 3 : 2;
  const float size[] = {static_cast<float>(t.level[0].width), static_cast<float>(t.level[0].height), static_cast<float>(t.level[0].depth)};
  float most = 0;
  for (const std::uint32_t base : {kTextureGradientX, kTextureGradientY}) {
    float sum = 0;
    for (unsigned axis = 0; axis < axes; ++axis) {
      const float d = std::bit_cast<float>(words[base + axis]) * (t.normalizedCoordinates != 0 ? size[axis] : 1);
      sum += d * d;
    }
    most = std::max(most, sum);
  }
  return 0.5f * std::log2(most);
}

Texel atLevel(const TextureObject& t, const TextureOperation& operation, const Position& p, const std::uint32_t* words) {
  const auto levels = static_cast<std::int64_t>(std::clamp(t.levels, 1u, wire::kMaxTextureLevels));
  const auto sample = [&](std::int64_t number) {
    const Fetcher fetcher(t, t.level[std::clamp<std::int64_t>(number, 0, levels - 1)], operation.geometry);
    return fetcher.sample(fetcher.scaled(p));
  };
  if (levels == 1) return sample(0);
  float lod = 0;
  if (operation.sampling == Sampling::level) lod = std::bit_cast<float>(words[kTextureLevel]);
  if (operation.sampling == Sampling::gradient) lod = gradientLevel(t, operation, words);
  lod = std::fmin(std::fmax(lod + t.bias, t.minLevel), t.maxLevel);
  lod = std::fmin(std::fmax(lod, 0.0f), static_cast<float>(levels - 1));
  if (t.mipFilter == 0) return sample(floorOf(lod + 0.5f));
  const std::int64_t below = floorOf(lod);
  const float w = Fetcher::weight(lod - static_cast<float>(below));
  Texel low = sample(below);
  if (w == 0) return low;
  const Texel high = sample(below + 1);
  for (int c = 0; c < 4; ++c) low.f[c] = (1 - w) * low.f[c] + w * high.f[c];
  return low;
}

// Values as they are, without a filter.
void fetchRaw(const TextureObject& t, const TextureOperation& operation, const Position& p, std::uint32_t* words) {
  std::int64_t number = 0;
  if (operation.sampling == Sampling::level)
    number = std::clamp<std::int64_t>(floorOf(std::bit_cast<float>(words[kTextureLevel]) + 0.5f), 0, std::clamp(t.levels, 1u, wire::kMaxTextureLevels) - 1);
  const Fetcher fetcher(t, t.level[number], operation.geometry);
  const Position at = fetcher.scaled(p);
  const std::byte* from = fetcher.texel(floorOf(at.x), fetcher.flat ? 0 : floorOf(at.y), fetcher.solid ? floorOf(at.z) : at.plane);
  const std::uint32_t empty[] = {0, 0, 0, 1};
  for (std::uint32_t c = 0; c < 4; ++c) {
    words[c] = c < t.channels && from != nullptr ? rawChannel(t, from, c) : empty[c];
    if (from == nullptr) words[c] = static_cast<std::uint32_t>(static_cast<std::int64_t>(t.border[c]));
  }
}

// The four texels that a filter would use, counter-clockwise from the lower left.
void gather(const TextureObject& t, const TextureOperation& operation, Position p, std::uint32_t* words) {
  const Fetcher fetcher(t, t.level[0], operation.geometry);
  p = fetcher.scaled(p);
  const std::int64_t i = floorOf(p.x - 0.5f), j = floorOf(p.y - 0.5f);
  constexpr int kOffsets[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  for (int k = 0; k < 4; ++k) {
    const std::int64_t x = i + kOffsets[k][0], y = j + kOffsets[k][1];
    if (operation.floatResult) {
      words[k] = std::bit_cast<std::uint32_t>(fetcher.value(x, y, p.plane).f[operation.component]);
    } else {
      const std::byte* from = fetcher.texel(x, y, p.plane);
      words[k] = from != nullptr && operation.component < t.channels ? rawChannel(t, from, operation.component) : 0;
    }
  }
}

// Linear memory by number of texel: outside there is zero.
bool fetchLinear(const TextureObject& t, const TextureOperation& operation, std::uint32_t* words) {
  if (t.linear == 0 || operation.geometry != Geometry::d1) return false;
  const auto index = operation.integerCoordinates ? static_cast<std::int64_t>(static_cast<std::int32_t>(words[0]))
                                                  : floorOf(std::bit_cast<float>(words[0]));
  const bool inside = index >= 0 && index < static_cast<std::int64_t>(t.level[0].width);
  for (std::uint32_t c = 0; c < 4; ++c) {
    const std::uint32_t raw = inside && c < t.channels ? rawChannel(t, at(t, t.level[0], index, 0, 0), c) : 0;
    const float otherwise = inside && c == 3 ? 1 : 0;
    if (operation.floatResult)
      words[c] = std::bit_cast<std::uint32_t>(inside && c < t.channels ? channelValue(t, raw, c) : otherwise);
    else
      words[c] = raw;
  }
  return true;
}

// Of sizes that are known here: each is a load and a store, no call of the C library, where a kernel must not be left.
void copyElement(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  switch (bytes) {
    case 1:
      return void(std::memcpy(to, from, 1));
    case 2:
      return void(std::memcpy(to, from, 2));
    case 4:
      return void(std::memcpy(to, from, 4));
    case 8:
      return void(std::memcpy(to, from, 8));
    default:
      return void(std::memcpy(to, from, 16));
  }
}

}  // namespace

void fetchTexture(const TextureObject* object, const TextureOperation& operation, std::uint32_t* words) {
  const TextureObject& t = *object;
  if (fetchLinear(t, operation, words)) return;
  const Position p = positionOf(t, operation, words);
  if (operation.sampling == Sampling::gather) return gather(t, operation, p, words);
  if (!operation.floatResult) return fetchRaw(t, operation, p, words);
  const Texel made = atLevel(t, operation, p, words);
  for (int c = 0; c < 4; ++c) words[c] = std::bit_cast<std::uint32_t>(made.f[c]);
}

bool accessSurface(const TextureObject* object, const SurfaceOperation& operation, std::uint32_t* words) {
  const TextureObject& s = *object;
  const TextureLevel& level = s.level[0];
  const auto word = [&](int i) { return static_cast<std::int64_t>(static_cast<std::int32_t>(words[i])); };
  std::int64_t x = 0, y = 0, plane = 0, planes = 1, rows = 1;
  switch (operation.geometry) {
    case Geometry::d1:
      x = word(0);
      break;
    case Geometry::a1d:
      plane = word(0), x = word(1), planes = s.layers;
      break;
    case Geometry::a2d:  // cubes too: their faces are layers
      plane = word(0), x = word(1), y = word(2), rows = level.height;
      planes = static_cast<std::int64_t>(std::max(s.layers, 1u)) * (s.shape == wire::TextureShape::cube ? 6 : 1);
      break;
    case Geometry::d3:
      x = word(0), y = word(1), plane = word(2), rows = level.height, planes = level.depth;
      break;
    default:
      x = word(0), y = word(1), rows = level.height;
      break;
  }
  const auto width = static_cast<std::int64_t>(level.width) * bytesOf(s);
  std::byte* const data = reinterpret_cast<std::byte*>(words + kSurfaceData);
  const bool inside = x >= 0 && x + operation.bytes <= width && y >= 0 && y < rows && plane >= 0 && plane < planes;
  if (!inside) {
    if (operation.boundary == Boundary::trap) return false;
    if (operation.boundary == Boundary::zero) {
      if (!operation.store) std::fill_n(words + kSurfaceData, 4, 0u);
      return true;
    }
    x = std::clamp<std::int64_t>(x, 0, std::max<std::int64_t>(width - operation.bytes, 0));
    y = std::clamp<std::int64_t>(y, 0, std::max<std::int64_t>(rows - 1, 0));
    plane = std::clamp<std::int64_t>(plane, 0, std::max<std::int64_t>(planes - 1, 0));
  }
  auto* const there = reinterpret_cast<std::byte*>(level.base + static_cast<std::uint64_t>(plane) * level.planePitch +
                                                   static_cast<std::uint64_t>(y) * level.pitch + static_cast<std::uint64_t>(x));
  if (operation.store)
    copyElement(there, data, operation.bytes);
  else
    copyElement(data, there, operation.bytes);
  return true;
}

std::uint32_t queryTexture(const TextureObject* object, TextureQuery query) {
  const TextureObject& t = *object;
  switch (query) {
    case TextureQuery::width:
      return t.level[0].width;
    case TextureQuery::height:
      return t.level[0].height;
    case TextureQuery::depth:
      return t.level[0].depth;
    case TextureQuery::arraySize:
      return t.layers;
    default:
      return t.levels;
  }
}

}  // namespace rouse::cpu
