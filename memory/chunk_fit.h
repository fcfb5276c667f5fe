// Which chunk goes to which address, where any could: so that a device that maps aligned runs of chunks in one piece (server/device/cuda/allocation_plan.h)
// needs few.
#pragma once

#include <cstdint>
#include <span>

#include "memory/device.h"

namespace rouse::memory {

// As many of each, both ascending, addresses of granules. Puts the chunks in another order: chunks[i] is for addresses[i]. The largest runs whose chunks are
// aligned as Placement's blocks are, and no larger than its large ones, go to the longest runs of addresses, whatever those are aligned to; one that is longer
// than any of those goes in halves.
void fitChunks(std::span<Chunk> chunks, std::span<const std::uint64_t> addresses);

}  // namespace rouse::memory
