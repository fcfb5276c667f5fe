#include <cstring>
#include <string>

#include "server/fatbin/fatbin.h"
#include "server/fatbin/format.h"

namespace rouse::fatbin {
namespace {

Error malformed(std::uint64_t offset, const std::string& what) {
  return Error{CudaError::invalidKernelImage, "fatbin, byte " + std::to_string(offset) + ": " + what};
}

template <class T>
T load(std::span<const std::byte> bytes, std::uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Result<Entry> entryAt(std::span<const std::byte> bytes, std::uint64_t at, const EntryHeader& header) {
  Entry entry;
  entry.kind = static_cast<EntryKind>(header.kind);
  entry.architecture = header.architecture;
  if (header.flags & kFlagFamily) entry.reach = Reach::family;
  if (header.flags & kFlagExact) entry.reach = Reach::exact;
  entry.payload = bytes.subspan(at + header.headerBytes, header.payloadBytes);
  entry.imageBytes = header.payloadBytes;
  if ((header.flags & (kFlagLz4 | kFlagZstd)) == 0) return entry;

  if ((header.flags & kFlagLz4) && (header.flags & kFlagZstd)) return malformed(at, "entry says both LZ4 and zstd");
  entry.compression = (header.flags & kFlagLz4) ? Compression::lz4 : Compression::zstd;
  if (header.compressedBytes > header.payloadBytes) {
    return malformed(at, "entry of " + std::to_string(header.compressedBytes) + " compressed bytes in a payload of " +
                             std::to_string(header.payloadBytes));
  }
  if (header.compressedBytes != 0) entry.payload = entry.payload.first(header.compressedBytes);
  entry.imageBytes = header.imageBytes;
  if (entry.imageBytes > kMaxImageBytes) {
    return malformed(at, "entry of " + std::to_string(entry.imageBytes) + " bytes once decompressed, limit " +
                             std::to_string(kMaxImageBytes));
  }
  return entry;
}

// The container at `at`, whose length is what it says.
Result<std::span<const std::byte>> containerAt(std::span<const std::byte> bytes, std::uint64_t at) {
  if (bytes.size() - at < sizeof(ContainerHeader)) {
    return malformed(at, "header cut off after " + std::to_string(bytes.size() - at) + " bytes");
  }
  const auto header = load<ContainerHeader>(bytes, at);
  if (header.magic != kMagic) return malformed(at, "no fatbin here (bad magic number)");
  if (header.version != 1) return malformed(at, "version " + std::to_string(header.version) + ", only 1 is known");
  if (header.headerBytes < sizeof(ContainerHeader) || header.headerBytes > bytes.size() - at ||
      header.entryBytes > bytes.size() - at - header.headerBytes) {
    return malformed(at, "fatbin of " + std::to_string(header.headerBytes) + " + " +
                             std::to_string(header.entryBytes) + " bytes where " + std::to_string(bytes.size() - at) +
                             " are left");
  }
  return bytes.subspan(at, header.headerBytes + header.entryBytes);
}

// Appends the entries between `at`, behind a container's header, and `end`.
Status readEntries(std::span<const std::byte> bytes, std::uint64_t at, std::uint64_t end, std::uint32_t container,
                   std::vector<Entry>& found) {
  while (at < end) {
    if (end - at < sizeof(EntryHeader)) {
      return malformed(at, "entry header cut off after " + std::to_string(end - at) + " bytes");
    }
    const auto header = load<EntryHeader>(bytes, at);
    if (header.headerBytes < sizeof(EntryHeader) || header.headerBytes > end - at ||
        header.payloadBytes > end - at - header.headerBytes) {
      return malformed(at, "entry of " + std::to_string(header.headerBytes) + " + " +
                               std::to_string(header.payloadBytes) + " bytes where " + std::to_string(end - at) +
                               " are left");
    }
    if (header.kind == static_cast<std::uint16_t>(EntryKind::ptx) ||
        header.kind == static_cast<std::uint16_t>(EntryKind::cubin)) {
      auto entry = entryAt(bytes, at, header);
      if (!entry) return std::move(entry).error();
      entry->container = container;
      found.push_back(*entry);
    }
    at += header.headerBytes + header.payloadBytes;
  }
  return {};
}

}  // namespace

Result<std::vector<std::span<const std::byte>>> containers(std::span<const std::byte> bytes) {
  std::vector<std::span<const std::byte>> found;
  std::uint64_t at = 0;
  do {
    auto container = containerAt(bytes, at);
    if (!container) return std::move(container).error();
    found.push_back(*container);
    at += container->size();
    // Linkers pad between the containers of a section.
    while (at < bytes.size() && bytes[at] == std::byte{0}) ++at;
  } while (at < bytes.size());
  return found;
}

Result<std::vector<Entry>> entries(std::span<const std::byte> bytes) {
  auto all = containers(bytes);
  if (!all) return std::move(all).error();
  std::vector<Entry> found;
  for (std::uint32_t i = 0; i < all->size(); ++i) {
    const std::span<const std::byte> container = (*all)[i];
    const auto begin = static_cast<std::uint64_t>(container.data() - bytes.data());
    const std::uint64_t first = begin + load<ContainerHeader>(container, 0).headerBytes;
    if (auto status = readEntries(bytes, first, begin + container.size(), i, found); !status) return status.error();
  }
  return found;
}

}  // namespace rouse::fatbin
