// The handles by which processes of one tenant share memory and events: cudaIpcMemHandle_t and cudaIpcEventHandle_t, 64 bytes that a
// program hands on as it likes, and that may come back as anything. Nothing in one is believed but as a question: which session's it is,
// and whether that has exported something by this secret.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace rouse::wire {

enum class IpcKind : std::uint32_t { memory = 1, event = 2 };

struct IpcHandle {
  std::uint32_t magic = kMagic;
  IpcKind kind = IpcKind::memory;
  std::uint64_t sessionId = 0;    // of the exporter
  std::uint32_t deviceIndex = 0;  // in its view
  std::uint32_t reserved = 0;
  std::array<std::uint8_t, 32> secret{};
  std::uint64_t reserved2 = 0;

  static constexpr std::uint32_t kMagic = 0x43504952;  // "RIPC"

  // That it is one of this kind, as far as it can be seen.
  bool wellFormed(IpcKind expected) const {
    return magic == kMagic && kind == expected && reserved == 0 && reserved2 == 0;
  }
  bool operator==(const IpcHandle&) const = default;
};
inline constexpr std::size_t kIpcHandleBytes = 64;
static_assert(sizeof(IpcHandle) == kIpcHandleBytes);

}  // namespace rouse::wire
