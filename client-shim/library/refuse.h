// What an unsupported function of a library does: it says so, and is counted where the daemon can see it.
#pragma once

#include <cstdint>

namespace rouse::library {

// `name`: its number in schemas/api/library_names.h. Returns CUBLAS_STATUS_NOT_SUPPORTED. Never throws.
int refuse(std::uint32_t name) noexcept;

}  // namespace rouse::library
