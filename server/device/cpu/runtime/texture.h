// Texture fetches and surface accesses (CUDA C++ Programming Guide, "Texture Fetching"; PTX ISA, "Texture Instructions" and "Surface
// Instructions"). Only loads and stores: what they hit is the kernel's business, as any access of its own.
#pragma once

#include <cstdint>

#include "schemas/wire/texture.h"
#include "server/device/cpu/texture_form.h"

namespace rouse::cpu {

// `words` as texture_form.h says. An object is the kernel's word for one and may be no address at all: reading it faults, as the kernel's
// own reads do. So nothing here is instrumented (CMakeLists.txt): a kernel may be left at any instruction, a sanitizer's runtime may not.
void fetchTexture(const wire::TextureObject* texture, const TextureOperation& operation, std::uint32_t* words);
// False: outside, with Boundary::trap.
bool accessSurface(const wire::TextureObject* surface, const SurfaceOperation& operation, std::uint32_t* words);
std::uint32_t queryTexture(const wire::TextureObject* texture, TextureQuery query);

}  // namespace rouse::cpu
