#include "schemas/rand/numbers/mrg32k3a.h"

namespace rouse::rand {
namespace {

using Vector = std::array<std::uint64_t, 3>;
using Matrix = std::array<Vector, 3>;  // rows
constexpr std::uint32_t kSubsequence = 76, kPowers = kSubsequence + 32;

template <std::uint64_t modulus>
Vector times(const Matrix& matrix, const Vector& v) {
  Vector result;
  for (int row = 0; row < 3; ++row) {
    std::uint64_t sum = 0;
    for (int i = 0; i < 3; ++i) sum = (sum + matrix[row][i] * v[i] % modulus);
    result[row] = sum % modulus;
  }
  return result;
}

template <std::uint64_t modulus>
Matrix squared(const Matrix& matrix) {
  Matrix result;
  for (int column = 0; column < 3; ++column) {
    const Vector product = times<modulus>(matrix, {matrix[0][column], matrix[1][column], matrix[2][column]});
    for (int row = 0; row < 3; ++row) result[row][column] = product[row];
  }
  return result;
}

// Of one draw, and each the former's square.
struct Powers {
  Powers() {
    first[0] = {{{0, 1, 0}, {0, 0, 1}, {kMrgModulus1 - 810728, 1403580, 0}}};
    second[0] = {{{0, 1, 0}, {0, 0, 1}, {kMrgModulus2 - 1370589, 0, 527612}}};
    for (std::uint32_t i = 1; i < kPowers; ++i) {
      first[i] = squared<kMrgModulus1>(first[i - 1]);
      second[i] = squared<kMrgModulus2>(second[i - 1]);
    }
  }
  std::array<Matrix, kPowers> first, second;
};

void raise(MrgState& state, std::uint32_t from, std::uint64_t count) {
  static const Powers* const powers = new Powers;
  for (std::uint32_t i = from; count != 0 && i < kPowers; ++i, count >>= 1) {
    if ((count & 1) == 0) continue;
    state.first = times<kMrgModulus1>(powers->first[i], state.first);
    state.second = times<kMrgModulus2>(powers->second[i], state.second);
  }
}

}  // namespace

MrgState mrgSeeded(std::uint64_t seed) {
  MrgState state{{12345, 12345, 12345}, {12345, 12345, 12345}};
  if (seed == 0) return state;
  const std::uint64_t low = (seed & 0xffffffff) ^ 0x55555555, high = (seed >> 32) ^ 0xAAAAAAAA;
  for (int i = 0; i < 3; ++i) {
    state.first[i] = state.first[i] * (i == 1 ? high : low) % kMrgModulus1;
    state.second[i] = state.second[i] * (i == 1 ? low : high) % kMrgModulus2;
  }
  return state;
}

void skip(MrgState& state, std::uint64_t draws) { raise(state, 0, draws); }
void skipSubsequences(MrgState& state, std::uint64_t count) { raise(state, kSubsequence, count); }

}  // namespace rouse::rand
