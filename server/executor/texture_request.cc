#include "server/executor/texture_request.h"

#include <algorithm>

namespace rouse::executor {
namespace {

using wire::TextureShape;
using wire::TextureSource;

// Beyond what any GPU has (CUDA Programming Guide, "Technical Specifications per Compute Capability"), so that no product below overflows.
constexpr std::uint64_t kMostTexels = std::uint64_t{1} << 28, kMostRows = 1 << 17, kMostPlanes = 1 << 17, kMostPitch = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 40;  // a window's

const char* checkFormat(const wire::TextureObject& t) {
  if (t.kind > wire::TexelKind::isFloat) return "kind of texels";
  if (t.channels != 1 && t.channels != 2 && t.channels != 4) return "channels";
  if (t.channelBits != 8 && t.channelBits != 16 && t.channelBits != 32) return "bits of a channel";
  return t.kind == wire::TexelKind::isFloat && t.channelBits == 8 ? "bits of a channel of floats" : nullptr;
}

const char* checkSampling(const wire::TextureRequest& request) {
  const wire::TextureObject& t = request.object;
  for (const wire::TextureAddress mode : t.address)
    if (mode > wire::TextureAddress::border) return "address mode";
  for (const std::uint32_t flag : {t.linear, t.filter, t.mipFilter, t.normalizedCoordinates, t.normalizedValues, t.sRgb, request.surface, request.hasView,
                                   request.seamless, request.untrilinear})
    if (flag > 1) return "a flag that is neither 0 nor 1";
  return request.maxAnisotropy > 16 ? "anisotropy" : nullptr;
}

const char* checkArray(const wire::TextureRequest& request) {
  const wire::TextureObject& t = request.object;
  if ((request.arrayFlags & ~wire::kArrayFlags) != 0) return "flags of the array";
  if (((request.arrayFlags & wire::kArrayLayered) != 0) != (t.layers != 0) || t.layers > kMostPlanes / 6) return "layers";
  if (((request.arrayFlags & wire::kArrayCube) != 0) != (t.shape == TextureShape::cube)) return "shape of a cube";
  if (t.shape == TextureShape::threeDimensions && t.layers != 0) return "layers of a solid";
  if (request.source == TextureSource::array && request.level >= t.levels) return "level";
  if (request.hasView == 0) return nullptr;
  if (request.firstLevel > request.lastLevel || request.lastLevel >= t.levels) return "levels of the view";
  return request.firstLayer > request.lastLayer || (t.layers != 0 && request.lastLayer >= t.layers) ? "layers of the view" : nullptr;
}

}  // namespace

const char* checkTexture(const wire::TextureRequest& request, std::vector<AddressRange>& memory) {
  const wire::TextureObject& t = request.object;
  if (request.source > TextureSource::plane) return "kind of memory";
  if (t.shape > TextureShape::cube) return "shape";
  if (t.levels == 0 || t.levels > wire::kMaxTextureLevels) return "levels";
  if (const char* wrong = checkFormat(t)) return wrong;
  if (const char* wrong = checkSampling(request)) return wrong;
  const bool ofArray = request.source <= TextureSource::mipmapped;
  if (ofArray) {
    if (const char* wrong = checkArray(request)) return wrong;
  } else if (t.levels != 1 || t.layers != 0 || request.hasView != 0 || request.arrayFlags != 0 ||
             t.shape != (request.source == TextureSource::linear ? TextureShape::oneDimension : TextureShape::twoDimensions)) {
    return "shape of memory that is no array";
  }
  if (request.surface != 0 && request.source != TextureSource::array) return "surface of what is no array";
  const std::uint64_t texel = t.channels * t.channelBits / 8;
  for (std::uint32_t i = 0; i < t.levels; ++i) {
    const wire::TextureLevel& level = t.level[i];
    const std::uint64_t planes = t.shape == TextureShape::cube ? 6 * std::max(t.layers, 1u) : t.layers != 0 ? t.layers : level.depth;
    if (level.width == 0 || level.width > kMostTexels || level.height == 0 || level.height > kMostRows || planes == 0 || planes > kMostPlanes) return "extent";
    if (t.shape == TextureShape::oneDimension && level.height != 1) return "height of a line";
    if (t.shape == TextureShape::cube && level.width != level.height) return "faces of a cube";
    if (level.depth != 1 && t.shape != TextureShape::threeDimensions) return "depth";
    const std::uint64_t row = level.width * texel;
    const bool packed = request.source == TextureSource::linear;
    if (!packed && (level.pitch < row || level.pitch > kMostPitch || level.pitch % texel != 0)) return "pitch";
    if (ofArray && level.planePitch != level.pitch * level.height) return "pitch of planes";
    const auto reach = static_cast<unsigned __int128>(ofArray ? level.planePitch : 0) * (planes - 1) + (packed ? 0 : level.pitch) * (level.height - 1) + row;
    if (reach > kMostBytes || level.base > ~std::uint64_t{0} - static_cast<std::uint64_t>(reach)) return "extent in memory";
    memory.push_back({level.base, static_cast<std::uint64_t>(reach)});
  }
  return nullptr;
}

}  // namespace rouse::executor
