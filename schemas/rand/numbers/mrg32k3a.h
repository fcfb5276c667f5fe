// MRG32k3a (L'Ecuyer: "Good parameters and implementations for combined multiple recursive random number generators", 1999), seeded and divided into
// subsequences of 2^76 as cuRAND's device functions do. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>

namespace rouse::rand {

inline constexpr std::uint64_t kMrgModulus1 = 4294967087, kMrgModulus2 = 4294944443;

// Residues, the oldest first.
struct MrgState {
  std::array<std::uint64_t, 3> first{}, second{};
};

// value % modulus, for values below 2^54.
inline std::uint64_t reduced1(std::uint64_t value) {
  value = (value >> 32) * 209 + (value & 0xffffffff);
  value = (value >> 32) * 209 + (value & 0xffffffff);
  return value >= kMrgModulus1 ? value - kMrgModulus1 : value;
}
inline std::uint64_t reduced2(std::uint64_t value) {
  value = (value >> 32) * 22853 + (value & 0xffffffff);
  value = (value >> 32) * 22853 + (value & 0xffffffff);
  return value >= kMrgModulus2 ? value - kMrgModulus2 : value;
}

// From 1 up to the first modulus.
inline std::uint64_t next(std::uint64_t& a0, std::uint64_t& a1, std::uint64_t& a2, std::uint64_t& b0, std::uint64_t& b1, std::uint64_t& b2) {
  const std::uint64_t a = reduced1(1403580 * a1 + 810728 * (kMrgModulus1 - a0)), b = reduced2(527612 * b2 + 1370589 * (kMrgModulus2 - b0));
  a0 = a1, a1 = a2, a2 = a;
  b0 = b1, b1 = b2, b2 = b;
  return a > b ? a - b : a + kMrgModulus1 - b;
}
inline std::uint64_t next(MrgState& state) {
  return next(state.first[0], state.first[1], state.first[2], state.second[0], state.second[1], state.second[2]);
}

MrgState mrgSeeded(std::uint64_t seed);
void skip(MrgState& state, std::uint64_t draws);
void skipSubsequences(MrgState& state, std::uint64_t count);

}  // namespace rouse::rand
