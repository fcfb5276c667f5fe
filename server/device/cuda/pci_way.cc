#include "server/device/cuda/pci_way.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace rouse::cuda {
namespace {

// dddd:bb:dd.f, four digits of domain or more (PCIe behind VMD has eight).
bool isAddress(const std::string& text) {
  const auto from = text.size() < 12 ? 0 : text.size() - 7;  // of bb:dd.f
  return from >= 5 && text[from - 1] == ':' && text[from + 2] == ':' && text[from + 5] == '.' &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; });
}

}  // namespace

// Documentation/ABI/testing/sysfs-bus-pci: each device is a link to its place in the tree,
// devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:3d:00.0: root port, the switch's upstream and downstream ports, device.
std::string sharedPciWay(const std::string& pciAddress, const std::filesystem::path& devices) {
  if (!isAddress(pciAddress)) return "";
  std::error_code unknown;
  const std::filesystem::path place = std::filesystem::weakly_canonical(devices / pciAddress, unknown);
  if (unknown) return "";
  std::vector<std::string> way;
  for (const auto& part : place)
    if (isAddress(part.string())) way.push_back(part.string());
  constexpr std::size_t kPortsOfSwitch = 2;
  if (way.empty() || way.back() != pciAddress || way.size() < 1 + kPortsOfSwitch + 1) return "";
  return way.front();
}

}  // namespace rouse::cuda
