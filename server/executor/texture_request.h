// What a client asks of textures (wire::TextureRequest), checked: numbers of enumerations, sizes, and which memory it names. Pure.
#pragma once

#include <vector>

#include "schemas/base/range.h"
#include "schemas/wire/texture.h"

namespace rouse::executor {

// Null: it is one that a driver may be asked for, and `memory` is all that it names, the levels of an array each by itself. Else what is wrong, in words; literal.
const char* checkTexture(const wire::TextureRequest& request, std::vector<AddressRange>& memory);

}  // namespace rouse::executor
