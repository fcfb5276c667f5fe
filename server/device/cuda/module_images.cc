#include "server/device/cuda/module_images.h"

#include <elf.h>

#include <cstring>

#include "server/fatbin/fatbin.h"
#include "server/fatbin/format.h"

namespace rouse::cuda {

Result<std::vector<ModuleImage>> imagesFor(std::span<const std::byte> module, std::uint32_t capability) {
  const std::string_view bytes(reinterpret_cast<const char*>(module.data()), module.size());
  if (bytes.starts_with(std::string_view(ELFMAG, SELFMAG)))
    return std::vector<ModuleImage>{{false, std::string(bytes)}};
  std::uint32_t magic = 0;
  if (bytes.size() >= sizeof magic) std::memcpy(&magic, bytes.data(), sizeof magic);
  if (magic != fatbin::kMagic) {
    if (bytes.find(".version") == std::string_view::npos)
      return Error{CudaError::invalidKernelImage,
                   "module of " + std::to_string(bytes.size()) + " bytes is neither a fatbin nor a cubin nor PTX text"};
    return std::vector<ModuleImage>{{true, std::string(bytes.substr(0, bytes.find('\0')))}};
  }
  auto entries = fatbin::entries(module);
  if (!entries) return std::move(entries).error();
  // Machine code for this GPU if there is any, else PTX. Which of several the driver takes does not matter: they are
  // one source.
  std::vector<ModuleImage> found;
  for (const fatbin::Entry& entry : *entries) {
    const bool ptx = entry.kind == fatbin::EntryKind::ptx;
    if (!ptx && (entry.architecture / 10 != capability / 10 || entry.architecture > capability)) continue;
    auto image = fatbin::image(entry);
    if (!image) return std::move(image).error();
    found.push_back({ptx, std::move(*image)});
  }
  return found;
}

}  // namespace rouse::cuda
