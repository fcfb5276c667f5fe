// The entry point of the back end, as its tests call it.
#pragma once

#include "server/library/job.h"

namespace rouse::library::cpu {

// library::Prepare.
Result<std::unique_ptr<Job>> prepare(std::uint32_t library, std::uint32_t function, std::span<const std::byte> parameters,
                                     const MappedMemory& memory);

}  // namespace rouse::library::cpu
