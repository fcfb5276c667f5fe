// Reads the containers that nvcc puts device code in. A fatbin is a header, then entries, each PTX or a cubin for one
// architecture, raw or compressed (LZ4, zstd). Input is hostile: every length is checked against what is there and
// against kMaxImageBytes before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::fatbin {

inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{1} << 30;  // of one decompressed entry

enum class EntryKind : std::uint16_t { ptx = 1, cubin = 2 };
enum class Compression : std::uint8_t { none, lz4, zstd };
// Which devices an entry is for: its architecture and all later ones, its family (sm_100f), or nothing else (sm_90a).
enum class Reach : std::uint8_t { later, family, exact };

struct Entry {
  EntryKind kind = EntryKind::ptx;
  std::uint32_t architecture = 0;  // 75, 80, 90
  Compression compression = Compression::none;
  Reach reach = Reach::later;
  std::uint32_t container = 0;         // which of those that lie one behind another
  std::span<const std::byte> payload;  // within the input
  std::uint64_t imageBytes = 0;        // once decompressed
};

// The fatbins that lie one behind another in `bytes`, without what pads between them. Never empty.
Result<std::vector<std::span<const std::byte>>> containers(std::span<const std::byte> bytes);

// All entries of all fatbins that lie one behind another in `bytes`. Kinds that are neither PTX nor cubin are left out.
Result<std::vector<Entry>> entries(std::span<const std::byte> bytes);

// The entry's content, decompressed; PTX without its trailing NULs.
Result<std::string> image(const Entry&);

// Whether PTX for newer architectures will do where there is no other: for a device that is not bound to an architecture and says itself what of it
// it does not know. Programs that carry code of each architecture have PTX of the newest only (nvcc -arch=all-major).
enum class Newer : std::uint8_t { refuse, accept };

// Finds the PTX to run on a device of the given capability (75, 80, 90…): the highest architecture not above it.
// `module` is a fatbin, several, or plain PTX text. Several are a program that was compiled in parts (nvcc -rdc=true): the code that nvlink
// made of them, then each part, and what they take from libraries; then it is one text behind another, each with a .version of its own. Parts without PTX that fits are left out: what
// they define is missing where it is used. Says what there is when nothing fits.
Result<std::string> selectPtx(std::span<const std::byte> module, std::uint32_t capability, Newer newer = Newer::refuse);

}  // namespace rouse::fatbin
