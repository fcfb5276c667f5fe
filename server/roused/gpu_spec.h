// What the scheduler is to know of a GPU, from what its device has said of itself. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "memory/device.h"
#include "sched/events.h"

namespace rouse::daemon {

struct KnownGpu {
  std::uint32_t ordinal = 0;
  const memory::DeviceProperties* properties = nullptr;
};

// `known`: those that the scheduler has been told of already. GPUs whose links measure alike get the same rate, so that noise of a
// measurement does not decide where functions go. Those that share a way to the host get one number for it, the ordinal of the first, kept in `ways`
// by name. Without peers: peerOf() is for those.
sched::GpuSpec gpuSpec(const KnownGpu& gpu, std::span<const KnownGpu> known, std::map<std::string, std::uint32_t>& ways, std::uint32_t slots);

// Nothing: it cannot read that one's memory faster than the host's.
std::optional<sched::Peer> peerOf(const KnownGpu& gpu, const KnownGpu& other);

}  // namespace rouse::daemon
