#include "test/cuda-double/texture_objects.h"

#include <string>

#include "test/cuda-double/record.h"

namespace rouse::cuda_double {

// Pitches unlike those of memory, so that whoever takes one for the other is found out.
Array::Array(const CUDA_ARRAY3D_DESCRIPTOR& about, std::uint32_t texelBytes)
    : about(about), texelBytes_(texelBytes), pitch_((about.Width * texelBytes + 47) / 16 * 16), bytes_(pitch_ * rows() * planes(), std::byte{0xa5}) {}

std::uint64_t TextureObjects::add(const wire::TextureObject& described, bool surface) {
  auto made = std::make_unique<wire::TextureObject>(described);
  const auto object = reinterpret_cast<std::uint64_t>(made.get());
  const std::lock_guard lock(mutex_);
  live_[object] = {std::move(made), surface};
  return object;
}

bool TextureObjects::remove(std::uint64_t object, bool surface) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(object);
  if (found == live_.end() || found->second.surface != surface) {
    violate("unknown-handle", (surface ? "surface " : "texture ") + hex(object) + " is not live");
    return false;
  }
  live_.erase(found);
  return true;
}

}  // namespace rouse::cuda_double
