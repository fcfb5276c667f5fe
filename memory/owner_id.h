// Who owns memory: a number that the executor gives a function's session. Never given twice.
#pragma once

#include <cstdint>

namespace rouse::memory {

using OwnerId = std::uint64_t;

}  // namespace rouse::memory
