// How a device hangs on its host and on other devices. What nobody could say is 0, -1 or empty: unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/link_curve.h"

namespace rouse::memory {

// Another device of the node, whoever serves it.
struct LinkPeer {
  std::string uuid, pciAddress;
  bool access = false;   // its memory can be mapped and copied without the host in between
  bool atomics = false;  // atomic operations work over that link
  // The driver's order of the links between two GPUs: 0 is the fastest. Unknown where there is no access.
  std::int32_t rank = -1;
  std::uint32_t nvlinks = 0;  // direct ones; those over a switch count in LinkDescription::nvlinksToSwitches
  std::uint64_t bytesPerSecond = 0;  // of these, each way, where a model says
  bool operator==(const LinkPeer&) const = default;
};

struct LinkDescription {
  // Now and at most: GPUs slow their link down while idle, a slot may have fewer lanes than the GPU.
  std::uint32_t pcieGeneration = 0, pcieGenerationAtMost = 0;
  std::uint32_t pcieWidth = 0, pcieWidthAtMost = 0;
  // Measured at start-up from memory that is pinned, if the device was asked to (DeviceOptions::measureLink).
  LinkCurve toDevice, toHost;
  std::int32_t numaNode = -1;            // the nearest
  std::string cpus;                      // the nearest: "0-15,32-47"
  std::optional<std::uint32_t> nvlinks;  // that are up
  std::uint32_t nvlinksToSwitches = 0;   // of these
  std::vector<LinkPeer> peers;
  // What it has in common with others on its way to the host, a PCIe switch say: those of the same name share it. Empty: nothing, or unknown.
  std::string sharedWay{};
  std::uint64_t sharedBytesPerSecond = 0;  // of that, each way, where a model says
  bool operator==(const LinkDescription&) const = default;
};

// Whether that device's memory comes faster than the host's: it can be read, over NVLinks. Where it is not known it is not so.
inline bool reachesFast(const LinkDescription& link, const std::string& uuid) {
  for (const LinkPeer& peer : link.peers)
    if (peer.uuid == uuid) return peer.access && (peer.nvlinks != 0 || link.nvlinksToSwitches != 0);
  return false;
}

}  // namespace rouse::memory
