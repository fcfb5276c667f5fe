// The frame around each control message: this header, then `bytes` bytes of Cap'n Proto (the standard stream framing of
// messageToFlatArray). Descriptors travel with the header's first byte (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <cstdint>

namespace rouse::control {

inline constexpr std::uint32_t kFrameMagic = 0x45535552;  // "RUSE"
inline constexpr std::uint32_t kMaxFrameBytes = 64u << 20;
inline constexpr std::uint32_t kMaxFrameFds = 64;

struct FrameHeader {
  std::uint32_t magic;
  std::uint32_t bytes;    // at most kMaxFrameBytes, a multiple of 8
  std::uint32_t fdCount;  // at most kMaxFrameFds
  std::uint32_t reserved; // 0
};
static_assert(sizeof(FrameHeader) == 16);

}  // namespace rouse::control
