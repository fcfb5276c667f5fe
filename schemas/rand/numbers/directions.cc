#include "schemas/rand/numbers/directions.h"

#include "schemas/rand/numbers/philox.h"

namespace rouse::rand {
namespace {

// Of each dimension its polynomial, with the bit of the highest power and of 1; and where its initial numbers begin, of which it has as many as its degree.
// The first dimension has none: its numbers are all 1.
#include "schemas/rand/numbers/joe_kuo.inc"

constexpr std::uint64_t kScrambling = 0x526f757365;  // any number

// Of a dimension; what for is the counter's highest word.
std::uint64_t drawn(std::uint32_t dimension, std::uint32_t row, std::uint32_t purpose) {
  const auto words = philox({row, dimension, 0, purpose}, kScrambling);
  return std::uint64_t{words[1]} << 32 | words[0];
}

}  // namespace

Directions directionsOf(std::uint32_t dimension, bool scrambled) {
  Directions directions;
  const std::uint32_t polynomial = kPolynomials[dimension];
  const auto degree = dimension == 0 ? 0u : 31u - static_cast<std::uint32_t>(__builtin_clz(polynomial));
  for (std::uint32_t i = 0; i < 64; ++i) {
    if (dimension == 0 || i < degree) {
      directions[i] = std::uint64_t{dimension == 0 ? 1 : kInitial[kInitialOf[dimension] + i]} << (63 - i);
      continue;
    }
    directions[i] = directions[i - degree] ^ (directions[i - degree] >> degree);
    for (std::uint32_t k = 1; k < degree; ++k)
      if ((polynomial >> (degree - k) & 1) != 0) directions[i] ^= directions[i - k];
  }
  if (!scrambled) return directions;
  // Bit `bit` of the result is its own and a sum of chosen ones above it.
  Directions rows;
  for (std::uint32_t bit = 0; bit < 64; ++bit) {
    const std::uint64_t above = bit == 63 ? 0 : ~std::uint64_t{0} << (bit + 1);
    rows[bit] = (drawn(dimension, bit, 0) & above) | std::uint64_t{1} << bit;
  }
  for (std::uint64_t& direction : directions) {
    std::uint64_t sum = 0;
    for (std::uint32_t bit = 0; bit < 64; ++bit) sum |= static_cast<std::uint64_t>(__builtin_parityll(rows[bit] & direction)) << bit;
    direction = sum;
  }
  return directions;
}

std::uint64_t shiftOf(std::uint32_t dimension, bool scrambled) { return scrambled ? drawn(dimension, 0, 1) : 0; }

}  // namespace rouse::rand
