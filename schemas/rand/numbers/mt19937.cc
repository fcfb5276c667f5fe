#include "schemas/rand/numbers/mt19937.h"

#include <algorithm>

namespace rouse::rand {
namespace {

constexpr std::uint32_t kN = 624, kM = 397, kDegree = 19937, kMatrix = 0x9908b0df;
constexpr std::uint32_t kApart = 2048;  // draws from one twister to the next: 2 to the power of this
constexpr std::uint32_t kJumps = 13;    // twisters are counted by so many bits

// Polynomials over GF(2), a bit a coefficient.
constexpr std::uint32_t kLimbs = kDegree / 64 + 1;
using Polynomial = std::array<std::uint64_t, kLimbs>;
using Product = std::array<std::uint64_t, 2 * kLimbs>;

// The powers that occur in the recurrence's characteristic polynomial, but for the highest: t (t^623 + t^396)^31 + ..., by the matrix's bits.
std::vector<std::uint32_t> tailPowers() {
  std::vector<bool> sum(kDegree + 1), next;
  // Horner's scheme in s = t^623 + t^396.
  sum[0] = true;
  for (std::uint32_t bit = 0; bit < 31; ++bit) {
    next.assign(kDegree + 1, false);
    for (std::uint32_t i = 0; i + 623 <= kDegree; ++i) {
      if (!sum[i]) continue;
      next[i + 623] = !next[i + 623];
      next[i + 396] = !next[i + 396];
    }
    if ((kMatrix >> bit & 1) != 0) next[0] = !next[0];
    sum.swap(next);
  }
  next.assign(kDegree + 1, false);
  for (std::uint32_t i = 0; i <= kDegree; ++i) {
    if (!sum[i]) continue;
    if (i + kN <= kDegree) next[i + kN] = !next[i + kN];
    if (i + kM <= kDegree) next[i + kM] = !next[i + kM];
  }
  if ((kMatrix >> 31 & 1) != 0) next[0] = !next[0];
  std::vector<std::uint32_t> powers;
  for (std::uint32_t i = 0; i < kDegree; ++i)
    if (next[i]) powers.push_back(i);
  return powers;
}

// In place; the second highest power is 227 below the highest, so whole words can be taken at once.
Polynomial reduced(Product& value, const std::vector<std::uint32_t>& powers) {
  const auto add = [&](std::uint64_t bits, std::uint32_t at) {
    value[at / 64] ^= bits << at % 64;
    if (at % 64 != 0) value[at / 64 + 1] ^= bits >> (64 - at % 64);
  };
  for (std::uint32_t limb = 2 * kLimbs - 1; limb >= kLimbs - 1; --limb) {
    const std::uint32_t low = limb * 64 < kDegree ? kDegree - limb * 64 : 0;  // of this word, bits from here on are too high
    const std::uint64_t bits = value[limb] >> low;
    value[limb] ^= bits << low;
    for (const std::uint32_t power : powers) add(bits, limb * 64 + low - kDegree + power);
  }
  Polynomial result;
  std::copy_n(value.begin(), kLimbs, result.begin());
  return result;
}

Polynomial squared(const Polynomial& value, const std::vector<std::uint32_t>& powers) {
  const auto spread = [](std::uint64_t bits) {
    bits = (bits | bits << 16) & 0x0000ffff0000ffff;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ff;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0f;
    bits = (bits | bits << 2) & 0x3333333333333333;
    return (bits | bits << 1) & 0x5555555555555555;
  };
  Product product;
  for (std::uint32_t i = 0; i < kLimbs; ++i) {
    product[2 * i] = spread(value[i] & 0xffffffff);
    product[2 * i + 1] = spread(value[i] >> 32);
  }
  return reduced(product, powers);
}

// Powers of t to which a jump over 1, 2, 4, ... twisters' distances amounts.
const std::array<Polynomial, kJumps>& jumps() {
  static const auto* const all = [] {
    auto* const made = new std::array<Polynomial, kJumps>;
    const std::vector<std::uint32_t> powers = tailPowers();
    Polynomial power{2};
    for (std::uint32_t i = 0; i < kApart; ++i) power = squared(power, powers);
    for (Polynomial& each : *made) {
      each = power;
      power = squared(power, powers);
    }
    return made;
  }();
  return *all;
}

using Words = std::array<std::uint32_t, kN>;

std::uint32_t twisted(std::uint32_t high, std::uint32_t low, std::uint32_t other) {
  const std::uint32_t y = (high & 0x80000000) | (low & 0x7fffffff);
  return other ^ y >> 1 ^ ((y & 1) != 0 ? kMatrix : 0);
}

// The words that come so far behind.
Words jumped(const Words& words, const Polynomial& jump) {
  constexpr std::uint32_t kBits = 4, kSums = 1u << kBits, kLength = kDegree + kN + kSums;
  // What is drawn from here on, and sums of neighbours.
  std::vector<std::uint32_t> sums(kSums * kLength);
  const auto sum = [&](std::uint32_t which) { return sums.data() + std::size_t{which} * kLength; };
  std::uint32_t* const drawn = sum(1);
  std::copy(words.begin(), words.end(), drawn);
  for (std::uint32_t i = kN; i < kLength; ++i) drawn[i] = twisted(drawn[i - kN], drawn[i - kN + 1], drawn[i - kN + kM]);
  for (std::uint32_t which = 2; which < kSums; ++which) {
    const auto highest = 31u - static_cast<std::uint32_t>(__builtin_clz(which));
    const std::uint32_t* const rest = sum(which ^ 1u << highest);
    std::uint32_t* const to = sum(which);
    for (std::uint32_t i = 0; i + highest < kLength; ++i) to[i] = rest[i] ^ drawn[i + highest];
  }
  Words result{};
  for (std::uint32_t power = 0; power < kDegree; power += kBits) {
    const std::uint32_t which = static_cast<std::uint32_t>(jump[power / 64] >> power % 64) % kSums;
    const std::uint32_t* const from = sum(which) + power;
    if (which != 0)
      for (std::uint32_t i = 0; i < kN; ++i) result[i] ^= from[i];
  }
  return result;
}

// Where in a period the numbers of each row are: the first row has eight of their own, the others seven neighbours of each eight.
struct Places {
  Places() {
    constexpr std::uint16_t kFirst[kTwisterRow] = {0, 113, 170, 283, 340, 397, 510, 567};
    std::copy_n(kFirst, kTwisterRow, at[0]);
    std::uint32_t rest = 0;
    for (std::uint16_t place = 0; place < kN; ++place) {
      if (std::ranges::find(kFirst, place) != std::end(kFirst)) continue;
      at[1 + rest / 56 * 7 + rest % 7][rest % 56 / 7] = place;
      ++rest;
    }
  }
  std::uint16_t at[kN / kTwisterRow][kTwisterRow];
};

}  // namespace

void Twister::twist() {
  for (std::uint32_t i = 0; i < kWords; ++i) words_[i] = twisted(words_[i], words_[(i + 1) % kWords], words_[(i + kM) % kWords]);
  row_ = 0;
}

void Twister::row(std::uint32_t* numbers) {
  static const Places* const places = new Places;
  if (row_ == kRows) twist();
  for (std::uint32_t i = 0; i < kTwisterRow; ++i) {
    std::uint32_t word = words_[places->at[row_][i]];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680;
    word ^= word << 15 & 0xefc60000;
    numbers[i] = word ^ word >> 18;
  }
  ++row_;
}

void Twister::skip(std::uint64_t rows) {
  for (;;) {
    const std::uint64_t now = std::min<std::uint64_t>(rows, kRows - row_);
    row_ += static_cast<std::uint32_t>(now);
    rows -= now;
    if (rows == 0) return;
    twist();
  }
}

std::vector<Twister> twisters(std::uint64_t seed, std::uint32_t first, std::uint32_t count) {
  std::vector<Twister> all(count);
  Words words;
  words[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < kN; ++i) words[i] = 1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + i;
  for (std::uint32_t bit = 0; bit < kJumps; ++bit)
    if ((first >> bit & 1) != 0) words = jumped(words, jumps()[bit]);
  for (std::uint32_t i = 0; i < count; ++i) {
    all[i].words_ = words;
    if (i + 1 < count) words = jumped(words, jumps()[0]);
  }
  return all;
}

}  // namespace rouse::rand
