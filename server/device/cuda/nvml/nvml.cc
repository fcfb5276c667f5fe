#include "server/device/cuda/nvml/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "server/installation/pool_library.h"

namespace rouse::cuda::nvml {
namespace {

constexpr unsigned kMostGeneration = 16;  // of PCI Express: 7 is being specified
constexpr unsigned kMostLanes = 32;
constexpr unsigned kBitsOfWord = 8 * sizeof(unsigned long);
constexpr unsigned kMostCpus = 8192, kMostNodes = 1024;  // NR_CPUS and MAX_NUMNODES of the largest kernels

void number(Return (*query)(Device, unsigned*), Device device, unsigned atMost, std::uint32_t& to) {
  unsigned value = 0;
  if (query != nullptr && query(device, &value) == kSuccess && value >= 1 && value <= atMost) to = value;
}

std::string address(const PciInfo& pci) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
  return text.data();
}

}  // namespace

std::string bitRanges(const std::vector<unsigned long>& set) {
  const auto bits = static_cast<unsigned>(set.size()) * kBitsOfWord;
  const auto isSet = [&](unsigned bit) { return bit < bits && (set[bit / kBitsOfWord] >> bit % kBitsOfWord & 1) != 0; };
  std::string text;
  for (unsigned first = 0; first < bits; ++first) {
    if (!isSet(first)) continue;
    unsigned last = first;
    while (isSet(last + 1)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    first = last;
  }
  return text;
}

std::unique_ptr<Nvml> Nvml::open() {
  const char* chosen = std::getenv(kLibraryVariable);
  const char* name = chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || installation::isPoolLibrary(library)) return nullptr;
  Functions functions;
  forEachFunction(functions, [&]<class Function>(const char* function, Function& pointer) {
    pointer = reinterpret_cast<Function>(dlsym(library, function));
  });
  if (functions.init == nullptr || functions.deviceByPciAddress == nullptr || functions.init() != kSuccess)
    return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(functions));
}

Nvml::~Nvml() {
  if (functions_.shutdown != nullptr) functions_.shutdown();
}

std::string Nvml::driverVersion() const {
  std::array<char, 81> text{};  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80; the NUL is ours
  if (functions_.driverVersion == nullptr || functions_.driverVersion(text.data(), text.size() - 1) != kSuccess)
    return "";
  text.back() = '\0';
  const std::string version = text.data();
  const bool plausible = std::ranges::all_of(version, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  return plausible ? version : "";
}

void Nvml::describe(const std::string& pciAddress, memory::LinkDescription& link) const {
  Device device = nullptr;
  if (functions_.deviceByPciAddress(pciAddress.c_str(), &device) != kSuccess || device == nullptr) return;
  number(functions_.pcieGeneration, device, kMostGeneration, link.pcieGeneration);
  number(functions_.pcieGenerationAtMost, device, kMostGeneration, link.pcieGenerationAtMost);
  number(functions_.pcieWidth, device, kMostLanes, link.pcieWidth);
  number(functions_.pcieWidthAtMost, device, kMostLanes, link.pcieWidthAtMost);

  std::vector<unsigned long> cpus(kMostCpus / kBitsOfWord), nodes(kMostNodes / kBitsOfWord);
  if (functions_.cpuAffinity != nullptr &&
      functions_.cpuAffinity(device, static_cast<unsigned>(cpus.size()), cpus.data()) == kSuccess)
    link.cpus = bitRanges(cpus);
  if (functions_.memoryAffinity != nullptr &&
      functions_.memoryAffinity(device, static_cast<unsigned>(nodes.size()), nodes.data(), kScopeNode) == kSuccess) {
    // One is near; several say that none is.
    int set = 0, node = -1;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      set += std::popcount(nodes[i]);
      if (nodes[i] != 0 && node < 0) node = static_cast<int>(i * kBitsOfWord) + std::countr_zero(nodes[i]);
    }
    if (set == 1) link.numaNode = node;
  }
  describeNvlinks(device, link);
}

void Nvml::describeNvlinks(Device device, memory::LinkDescription& link) const {
  if (functions_.nvlinkState == nullptr) return;
  std::uint32_t up = 0, toSwitches = 0;
  bool known = false;
  std::vector<std::uint32_t> direct(link.peers.size());
  for (unsigned i = 0; i < kMostLinks; ++i) {
    EnableState state = 0;
    if (functions_.nvlinkState(device, i, &state) != kSuccess) break;  // the GPU has no more
    known = true;
    if (state != 1) continue;
    ++up;
    RemoteDeviceType type = -1;
    if (functions_.nvlinkRemoteType != nullptr) (void)functions_.nvlinkRemoteType(device, i, &type);
    if (type == kRemoteSwitch) ++toSwitches;
    PciInfo remote{};
    if (functions_.nvlinkRemotePci == nullptr || functions_.nvlinkRemotePci(device, i, &remote) != kSuccess) continue;
    const auto peer = std::ranges::find(link.peers, address(remote), &memory::LinkPeer::pciAddress);
    if (peer != link.peers.end()) ++direct[static_cast<std::size_t>(peer - link.peers.begin())];
  }
  if (!known) return;
  link.nvlinks = up;
  link.nvlinksToSwitches = toSwitches;
  for (std::size_t i = 0; i < direct.size(); ++i) link.peers[i].nvlinks = direct[i];
}

}  // namespace rouse::cuda::nvml
