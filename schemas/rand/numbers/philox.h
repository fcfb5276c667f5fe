// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011), words from the lowest on. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace rouse::rand {

inline constexpr std::uint32_t kPhiloxFactor0 = 0xD2511F53, kPhiloxFactor1 = 0xCD9E8D57, kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;

inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, key0 += kPhiloxWeyl0, key1 += kPhiloxWeyl1) {
    const std::uint64_t first = std::uint64_t{kPhiloxFactor0} * counter[0], second = std::uint64_t{kPhiloxFactor1} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(first)};
  }
  return counter;
}

}  // namespace rouse::rand
