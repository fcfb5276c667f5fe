// How often a program has waited for an executor since it attached: counted by the client, told by the daemon. In a reserved word of the
// session's header: nobody needs it to understand the other, so it is no part of the layout, and who does not count leaves 0.
#pragma once

#include <atomic>
#include <cstdint>

#include "schemas/wire/layout.h"

namespace rouse::wire {

inline std::atomic_ref<std::uint64_t> roundTrips(SessionHeader& header) { return std::atomic_ref<std::uint64_t>(header.reserved[0]); }

}  // namespace rouse::wire
