// MT19937 (Matsumoto, Nishimura: "Mersenne Twister", 1998), 8192 times, each 2^2048 draws behind the one before, as cuRAND's generators have it. Their numbers
// come in rows of eight from each, out of order within a period of 78 rows. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rouse::rand {

inline constexpr std::uint32_t kTwisters = 8192, kTwisterRow = 8;

class Twister {
 public:
  void row(std::uint32_t* numbers);
  void skip(std::uint64_t rows);

 private:
  friend std::vector<Twister> twisters(std::uint64_t seed, std::uint32_t first, std::uint32_t count);
  static constexpr std::uint32_t kWords = 624, kRows = kWords / kTwisterRow;
  void twist();

  std::uint32_t row_ = kRows;  // of this period; all: the next one is to be made
  std::array<std::uint32_t, kWords> words_{};
};

// Neighbours, at their beginnings.
std::vector<Twister> twisters(std::uint64_t seed, std::uint32_t first, std::uint32_t count);

}  // namespace rouse::rand
