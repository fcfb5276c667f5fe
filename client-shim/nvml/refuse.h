// What a name of NVML's that is not served does: it is counted, and refused with a status of NVML's, by its number. Without NVML's header, where these names
// are declared otherwise.
#pragma once

#include <cstdint>

namespace rouse::nvml {

// `name`: its number in schemas/api/library_names.h.
int refuse(std::uint32_t name, int status) noexcept;

}  // namespace rouse::nvml
