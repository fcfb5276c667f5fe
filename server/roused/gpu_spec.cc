#include "server/roused/gpu_spec.h"

#include <algorithm>
#include <cmath>

namespace rouse::daemon {
namespace {

// Of a link that was not measured: enough that nothing seems urgent, little enough that nothing seems free.
constexpr double kUnknownRate = 10e9;
// Of one NVLink, where no model says: the slowest that has been sold (NVLink 1), whose copies reach that.
constexpr double kNvlinkRate = 20e9;
constexpr double kAlike = 0.1;

double linkRate(const memory::DeviceProperties& properties) {
  const std::uint64_t best = memory::bestRate(properties.link.toDevice);
  return best != 0 ? static_cast<double>(best) : kUnknownRate;
}

}  // namespace

sched::GpuSpec gpuSpec(const KnownGpu& gpu, std::span<const KnownGpu> known, std::map<std::string, std::uint32_t>& ways, std::uint32_t slots) {
  const memory::DeviceProperties& own = *gpu.properties;
  sched::GpuSpec spec{.memoryBytes = own.memoryBytes, .linkBytesPerSecond = linkRate(own), .switchId = gpu.ordinal, .slots = slots};
  if (own.link.sharedBytesPerSecond != 0) spec.uplinkBytesPerSecond = static_cast<double>(own.link.sharedBytesPerSecond);
  if (!own.link.sharedWay.empty()) spec.switchId = ways.try_emplace(own.link.sharedWay, gpu.ordinal).first->second;
  for (const KnownGpu& other : known) {
    const double rate = linkRate(*other.properties);
    if (other.properties->name != own.name || std::abs(rate - spec.linkBytesPerSecond) > kAlike * rate) continue;
    spec.linkBytesPerSecond = rate;
    break;
  }
  return spec;
}

std::optional<sched::Peer> peerOf(const KnownGpu& gpu, const KnownGpu& other) {
  const memory::LinkDescription& link = gpu.properties->link;
  if (!memory::reachesFast(link, other.properties->uuid)) return std::nullopt;
  const auto peer = std::ranges::find(link.peers, other.properties->uuid, &memory::LinkPeer::uuid);
  const std::uint32_t links = peer->nvlinks != 0 ? peer->nvlinks : link.nvlinksToSwitches;
  const double rate = peer->bytesPerSecond != 0 ? static_cast<double>(peer->bytesPerSecond) : kNvlinkRate * links;
  return sched::Peer{sched::GpuId{other.ordinal}, rate};
}

}  // namespace rouse::daemon
