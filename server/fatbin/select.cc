#include <cstring>

#include "server/fatbin/fatbin.h"
#include "server/fatbin/format.h"

namespace rouse::fatbin {
namespace {

bool isContainer(std::span<const std::byte> module) {
  std::uint32_t magic = 0;
  if (module.size() < sizeof magic) return false;
  std::memcpy(&magic, module.data(), sizeof magic);
  return magic == kMagic;
}

bool isElf(std::span<const std::byte> module) {
  return module.size() >= 4 && std::memcmp(module.data(), "\177ELF", 4) == 0;
}

std::string listing(const std::vector<Entry>& found) {
  if (found.empty()) return "nothing";
  std::string text;
  for (const Entry& entry : found) {
    if (!text.empty()) text += ", ";
    text += entry.kind == EntryKind::ptx ? "PTX compute_" : "code sm_";
    text += std::to_string(entry.architecture);
    if (entry.reach == Reach::exact) text += "a";
    if (entry.reach == Reach::family) text += "f";
  }
  return text;
}

bool fits(const Entry& entry, std::uint32_t capability) {
  if (entry.architecture > capability) return false;
  switch (entry.reach) {
    case Reach::exact:
      return entry.architecture == capability;
    case Reach::family:
      return entry.architecture / 10 == capability / 10;
    case Reach::later:
      break;
  }
  return true;
}

// Of two for the same architecture the more portable one: it uses less that a back end might lack.
bool better(const Entry& a, const Entry& b) {
  if (a.architecture != b.architecture) return a.architecture > b.architecture;
  return a.reach < b.reach;
}

// Where only newer PTX is there: the oldest of it, since that needs least.
bool betterOfNewer(const Entry& a, const Entry& b) {
  if (a.architecture != b.architecture) return a.architecture < b.architecture;
  return a.reach < b.reach;
}

// One of each container that has one.
template <class Fits, class Better>
std::vector<const Entry*> bestOfEach(const std::vector<Entry>& all, Fits fits, Better better) {
  std::vector<const Entry*> chosen;
  for (const Entry& entry : all) {
    if (entry.kind != EntryKind::ptx || !fits(entry)) continue;
    if (chosen.empty() || chosen.back()->container != entry.container)
      chosen.push_back(&entry);
    else if (better(entry, *chosen.back()))
      chosen.back() = &entry;
  }
  return chosen;
}

// One text behind another. Together no larger than one may be.
Result<std::string> joined(const std::vector<const Entry*>& parts) {
  if (parts.size() == 1) return image(*parts[0]);
  // Known before anything is unpacked: an image has the size that its entry says, or is refused.
  std::uint64_t bytes = 0;
  for (const Entry* part : parts) {
    bytes += part->imageBytes + 1;
    if (part->imageBytes > kMaxImageBytes || bytes > kMaxImageBytes)
      return Error{CudaError::invalidKernelImage, "PTX of " + std::to_string(parts.size()) + " parts is larger than " + std::to_string(kMaxImageBytes) + " bytes"};
  }
  std::string text;
  text.reserve(bytes);
  for (const Entry* part : parts) {
    auto more = image(*part);
    if (!more) return more;
    if (!text.empty()) text += '\n';
    text += *more;
  }
  return text;
}

// Plain PTX: text, with at most trailing NULs.
Result<std::string> plainText(std::span<const std::byte> module) {
  std::string text(reinterpret_cast<const char*>(module.data()), module.size());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.find('\0') != std::string::npos || text.find(".version") == std::string::npos) {
    return Error{CudaError::invalidKernelImage,
                 "module of " + std::to_string(module.size()) + " bytes is neither a fatbin nor PTX text"};
  }
  return text;
}

}  // namespace

Result<std::string> selectPtx(std::span<const std::byte> module, std::uint32_t capability, Newer newer) {
  if (isElf(module)) {
    return Error{CudaError::noKernelImageForDevice,
                 "module is a cubin (machine code of one GPU) without PTX; compile with -gencode "
                 "arch=compute_XX,code=compute_XX"};
  }
  if (!isContainer(module)) return plainText(module);
  auto found = entries(module);
  if (!found) return std::move(found).error();
  auto chosen = bestOfEach(*found, [&](const Entry& entry) { return fits(entry, capability); }, better);
  if (chosen.empty() && newer == Newer::accept)
    chosen = bestOfEach(*found, [&](const Entry& entry) { return entry.architecture > capability; }, betterOfNewer);
  if (chosen.empty()) {
    return Error{CudaError::noKernelImageForDevice, "no PTX for compute capability " + std::to_string(capability / 10) +
                                                        "." + std::to_string(capability % 10) +
                                                        " or below; the fatbin holds " + listing(*found)};
  }
  return joined(chosen);
}

}  // namespace rouse::fatbin
