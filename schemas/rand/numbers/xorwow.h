// XORWOW (Marsaglia: "Xorshift RNGs", 2003), seeded and divided into subsequences of 2^67 as cuRAND's device functions do. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace rouse::rand {

struct XorwowState {
  std::array<std::uint32_t, 5> v{};
  std::uint32_t d = 0;
};

inline constexpr std::uint32_t kWeyl = 362437;

inline std::uint32_t next(XorwowState& state) {
  const std::uint32_t t = state.v[0] ^ (state.v[0] >> 2);
  for (int i = 0; i < 4; ++i) state.v[i] = state.v[i + 1];
  state.v[4] = (state.v[4] ^ (state.v[4] << 4)) ^ (t ^ (t << 1));
  state.d += kWeyl;
  return state.v[4] + state.d;
}

XorwowState xorwowSeeded(std::uint64_t seed);
// Behind so many draws.
void skip(XorwowState& state, std::uint64_t draws);
// So many subsequences further; one is cheapest.
void skipSubsequences(XorwowState& state, std::uint64_t count);

}  // namespace rouse::rand
