// How the GPUs of a node are connected to its host and to each other. Read from a TOML file:
//
//   name = "two-behind-a-switch"
//   [[switch]]                  # shared by the GPUs that name it
//   name = "plx0"
//   uplink = "pcie3x16"         # or: uplink_gb_per_s = 12.0 [uplink_latency_us = 1.0]
//   [[gpu]]                     # numbered in order of appearance
//   link = "pcie3x16"           # or: link_gb_per_s = 12.0 [link_latency_us = 4.0]
//   switch = "plx0"             # absent: straight to the host
//   [[nvlink]]
//   gpus = [0, 1]
//   gb_per_s = 25.0             # each way; latency_us = 4.0
//
// A gigabyte is 10^9 bytes. Each direction of a connection is a link of its own: PCIe and NVLink carry both at once.
// Pure; a value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::memory {

using LinkId = std::uint32_t;

struct Link {
  std::string name;  // "gpu0 in", "plx0 out", "gpu0 to gpu1": in is towards the GPU
  double bytesPerSecond = 0;
  double latencySeconds = 0;  // before the first byte of a transfer moves
};

struct LinkKind {
  const char* name;
  double bytesPerSecond;
  double latencySeconds;
};

// What a pinned copy reaches, one direction at a time, and its fixed cost:
//   pcie3x16  12.0 GB/s  V100 (Torpor's testbed; nvbandwidth-style runs on Gen3)
//   pcie4x16  26.0 GB/s  A100
//   pcie5x16  55.4 GB/s  H100 SXM
// x8 and x4 are a half and a quarter of that, not measured. 4 µs is what an H100's copies of 4 to 64 KiB take (1 GB/s at 4
// KiB, 4 GB/s at 16 KiB).
std::span<const LinkKind> linkKinds();
const LinkKind* findLinkKind(std::string_view name);

class Topology {
 public:
  static constexpr std::size_t kMaxGpus = 64;
  static constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

  // Errors: all there are, one a line, "FILE:LINE: key: what is wrong".
  static Result<Topology> load(const std::filesystem::path& file);
  static Result<Topology> parse(std::string_view text, const std::string& file);
  // GPUs that share nothing, each with a link of this kind: what `--link` makes.
  static Result<Topology> uniform(std::size_t gpus, std::string_view kind);

  const std::string& name() const { return name_; }
  std::size_t gpus() const { return gpus_.size(); }
  std::span<const Link> links() const { return links_; }

  // The links that a transfer uses. GPUs are below gpus().
  std::vector<LinkId> fromHost(std::size_t gpu) const;
  std::vector<LinkId> toHost(std::size_t gpu) const;
  // By NVLink where there is one; else by PCIe, through the host unless they share a switch. from != to.
  std::vector<LinkId> betweenGpus(std::size_t from, std::size_t to) const;
  bool hasNvlink(std::size_t from, std::size_t to) const;
  // Of the slowest link of a path.
  double bytesPerSecond(std::span<const LinkId> path) const;
  // Both are behind one switch: their copies from the host share its uplink.
  bool shareSwitch(std::size_t a, std::size_t b) const;

 private:
  friend class TopologyReader;

  struct Gpu {
    LinkId in = 0, out = 0;
    std::optional<std::size_t> behind;  // switch
  };
  struct Switch {
    std::string name;
    LinkId in = 0, out = 0;
  };
  struct Nvlink {
    std::size_t from, to;
    LinkId link;
  };

  LinkId addLink(std::string name, double bytesPerSecond, double latencySeconds);
  const Nvlink* nvlink(std::size_t from, std::size_t to) const;

  std::string name_;
  std::vector<Link> links_;
  std::vector<Gpu> gpus_;
  std::vector<Switch> switches_;
  std::vector<Nvlink> nvlinks_;
};

}  // namespace rouse::memory
