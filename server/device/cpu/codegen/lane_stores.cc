#include "server/device/cpu/codegen/lane_stores.h"

#include <bit>
#include <cstring>

namespace {

// A part of which all lanes are there is stored at once.
constexpr std::uint32_t kPartBytes = 32;

template <std::uint32_t kBytes>
void store(char* to, const char* elements, std::uint32_t lanes) {
  constexpr std::uint32_t kPart = kPartBytes / kBytes, kAll = static_cast<std::uint32_t>((std::uint64_t{1} << kPart) - 1);
  for (; lanes != 0; to += kPartBytes, elements += kPartBytes) {
    std::uint32_t those = lanes & kAll;
    lanes = kPart == 32 ? 0 : lanes >> (kPart % 32);
    if (those == kAll) {
      std::memcpy(to, elements, kPartBytes);
      continue;
    }
    for (; those != 0; those &= those - 1) {
      const auto at = static_cast<std::uint32_t>(std::countr_zero(those)) * kBytes;
      std::memcpy(to + at, elements + at, kBytes);
    }
  }
}

}  // namespace

extern "C" {

void rouse_ptx_store_lanes(void* to, const void* elements, std::uint32_t lanes, std::uint32_t bytes) {
  auto* const there = static_cast<char*>(to);
  const auto* const here = static_cast<const char*>(elements);
  switch (bytes) {
    case 1:
      return store<1>(there, here, lanes);
    case 2:
      return store<2>(there, here, lanes);
    case 4:
      return store<4>(there, here, lanes);
    default:
      return store<8>(there, here, lanes);
  }
}

}  // extern "C"
