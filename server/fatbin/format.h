// The container's layout, worked out from what fatbinary of CUDA 13.0 writes (nvcc
// --compress-mode=none|default|size|speed|balance, -G, several -gencode). Little-endian; read with memcpy, since
// nothing guarantees alignment.
#pragma once

#include <cstdint>

namespace rouse::fatbin {

inline constexpr std::uint32_t kMagic = 0xBA55ED50;

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version;      // 1
  std::uint16_t headerBytes;  // 16
  std::uint64_t entryBytes;   // all entries, behind the header
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  std::uint16_t kind;             // 1 PTX, 2 cubin; others exist (NVVM IR, relocatable PTX, …)
  std::uint16_t version;          // 0x0101
  std::uint32_t headerBytes;      // 64 and more: a source name and ptxas options may follow
  std::uint64_t payloadBytes;     // padded to 8
  std::uint32_t compressedBytes;  // before padding; 0: not compressed
  std::uint32_t optionsOffset;
  std::uint32_t codeVersion;
  std::uint32_t architecture;
  std::uint32_t nameOffset;
  std::uint32_t nameBytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t imageBytes;  // once decompressed; 0: not compressed
};
static_assert(sizeof(EntryHeader) == 64);

inline constexpr std::uint64_t kFlagLz4 = 0x2000;
inline constexpr std::uint64_t kFlagZstd = 0x8000;
inline constexpr std::uint64_t kFlagExact = 0x100000;   // sm_90a
inline constexpr std::uint64_t kFlagFamily = 0x200000;  // sm_100f

}  // namespace rouse::fatbin
