// Of a session whose kernels' accesses are checked (`rouse run --check`): how many were invalid, counted by the executor for the client to
// tell. In a reserved word of the device's status: who does not check leaves 0.
#pragma once

#include <atomic>
#include <cstdint>

#include "schemas/wire/layout.h"

namespace rouse::wire {

inline std::atomic_ref<std::uint64_t> accessErrors(DeviceStatus& status) { return std::atomic_ref<std::uint64_t>(status.reserved[0]); }

// As a number of reports to print: every one.
inline constexpr std::uint32_t kAllReports = ~std::uint32_t{0};

}  // namespace rouse::wire
