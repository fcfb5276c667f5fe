// MTGP32, a Mersenne Twister of period 2^11213 - 1 for many threads (Saito, Matsumoto: "Variants of Mersenne Twister suitable for graphic processors", 2013),
// as cuRAND's device functions make it: a block of 256 threads each with parameters of its own. Plain data.
#pragma once

#include <array>
#include <cstdint>

namespace rouse::rand {

inline constexpr std::uint32_t kMtgpRow = 256;  // numbers that a block makes at once

class Mtgp {
 public:
  static constexpr std::uint32_t kMostBlocks = 200;

  Mtgp() = default;
  // Of one block, below kMostBlocks.
  Mtgp(std::uint32_t block, std::uint64_t seed);

  void row(std::uint32_t* numbers);
  void skip(std::uint64_t rows);

 private:
  static constexpr std::uint32_t kWords = 351, kRing = 1024;
  std::uint32_t block_ = 0, at_ = 0;
  std::array<std::uint32_t, kRing> words_{};
};

}  // namespace rouse::rand
