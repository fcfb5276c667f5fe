#include "client-shim/cudart/code_image.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rouse::cudart {
namespace {

struct FatbinHeader {
  static constexpr std::uint32_t kMagic = 0xba55ed50;
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t headerBytes;
  std::uint64_t payloadBytes;
};

constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 32;

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// The end of whichever part of the file lies last: headers, sections, segments.
std::uint64_t elfBytes(const std::byte* data) {
  const auto header = read<Elf64_Ehdr>(data);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  std::uint64_t end = sizeof(header);
  if (header.e_shoff != 0 && header.e_shentsize >= sizeof(Elf64_Shdr)) {
    end = std::max(end, header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize);
    if (end > kMaxImageBytes) return 0;
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const auto section = read<Elf64_Shdr>(data + header.e_shoff + std::uint64_t{i} * header.e_shentsize);
      if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
    }
  }
  if (header.e_phoff != 0 && header.e_phentsize >= sizeof(Elf64_Phdr)) {
    end = std::max(end, header.e_phoff + std::uint64_t{header.e_phnum} * header.e_phentsize);
    if (end > kMaxImageBytes) return 0;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      const auto segment = read<Elf64_Phdr>(data + header.e_phoff + std::uint64_t{i} * header.e_phentsize);
      end = std::max(end, segment.p_offset + segment.p_filesz);
    }
  }
  return end;
}

bool isText(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c >= ' ' && c != 0x7f) || (c >= '\t' && c <= '\r'); });
}

}  // namespace

cudaError_t imageExtent(const void* data, std::span<const std::byte>* image) {
  const auto* bytes = static_cast<const std::byte*>(data);
  std::uint64_t size = 0;
  // The magic number is compared bytewise: a PTX text may be shorter than it.
  const auto startsWith = [&](const void* magic, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) {
      if (bytes[i] != static_cast<const std::byte*>(magic)[i]) return false;
    }
    return true;
  };
  if (startsWith(&FatbinHeader::kMagic, sizeof(FatbinHeader::kMagic))) {
    const auto header = read<FatbinHeader>(bytes);
    if (header.version != 1 || header.headerBytes < sizeof(FatbinHeader)) return cudaErrorInvalidKernelImage;
    if (header.payloadBytes > kMaxImageBytes) return cudaErrorInvalidKernelImage;
    size = header.headerBytes + header.payloadBytes;
  } else if (startsWith(ELFMAG, SELFMAG)) {
    size = elfBytes(bytes);
  } else {
    const auto* text = reinterpret_cast<const char*>(bytes);
    size = std::strlen(text);
    if (!isText({text, size})) return cudaErrorInvalidKernelImage;
  }
  if (size == 0 || size > kMaxImageBytes) return cudaErrorInvalidKernelImage;
  *image = {bytes, size};
  return cudaSuccess;
}

cudaError_t wrappedImage(const FatbinWrapper& wrapper, std::vector<std::byte>* joined,
                         std::span<const std::byte>* image) {
  if (wrapper.magic != FatbinWrapper::kMagic || wrapper.data == nullptr) return cudaErrorInvalidKernelImage;
  if (const cudaError_t error = imageExtent(wrapper.data, image); error != cudaSuccess) return error;
  if (wrapper.version < 2 || wrapper.prelinked == nullptr) return cudaSuccess;

  const auto* further = static_cast<const void* const*>(wrapper.prelinked);
  if (*further == nullptr) return cudaSuccess;
  joined->assign(image->begin(), image->end());
  for (; *further != nullptr; ++further) {
    std::span<const std::byte> part;
    if (const cudaError_t error = imageExtent(*further, &part); error != cudaSuccess) return error;
    if (joined->size() + part.size() > kMaxImageBytes) return cudaErrorInvalidKernelImage;
    joined->insert(joined->end(), part.begin(), part.end());
  }
  *image = *joined;
  return cudaSuccess;
}

}  // namespace rouse::cudart
