// The loops themselves. Included by one file for each set of instructions; nothing in it has a name for others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "schemas/rand/numbers/functions.h"
#include "schemas/rand/numbers/loops.h"
#include "schemas/rand/numbers/philox.h"

namespace rouse::rand {
namespace {

constexpr std::uint32_t N = kTogether;
using Words = std::uint32_t[N];
using Wides = std::uint64_t[N];

#define ROUSE_INLINE inline __attribute__((always_inline))

template <Kind kind>
struct ResultOf {
  using Type = std::uint32_t;
};
template <>
struct ResultOf<Kind::bits64> {
  using Type = std::uint64_t;
};
template <>
struct ResultOf<Kind::uniform> {
  using Type = float;
};
template <>
struct ResultOf<Kind::normal> : ResultOf<Kind::uniform> {};
template <>
struct ResultOf<Kind::logNormal> : ResultOf<Kind::uniform> {};
template <>
struct ResultOf<Kind::uniformDouble> {
  using Type = double;
};
template <>
struct ResultOf<Kind::normalDouble> : ResultOf<Kind::uniformDouble> {};
template <>
struct ResultOf<Kind::logNormalDouble> : ResultOf<Kind::uniformDouble> {};
template <Kind kind>
using Result = typename ResultOf<kind>::Type;

// Uniform numbers, as cuRAND's device functions make them of bits: above 0, at most 1.
ROUSE_INLINE float unitFloat(std::uint32_t bits) { return static_cast<float>(bits) * 0x1p-32f + 0x1p-33f; }
ROUSE_INLINE double unitDouble(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = low ^ std::uint64_t{high} << 21;
  return (std::bit_cast<double>((bits >> 1) | 0x4330000000000000) - 4503599627370496.0 + (bits & 1 ? 0.5 : 0.0)) * 0x1p-52 + 0x1p-54;
}

template <Kind kind>
ROUSE_INLINE Result<kind> shaped(float deviate, const Distribution& distribution) {
  const float value = static_cast<float>(distribution.first) + static_cast<float>(distribution.second) * deviate;
  return kind == Kind::logNormal ? static_cast<float>(exponential(value)) : value;
}
template <Kind kind>
ROUSE_INLINE Result<kind> shaped(double deviate, const Distribution& distribution) {
  const double value = distribution.first + distribution.second * deviate;
  return kind == Kind::logNormalDouble ? exponential(value) : value;
}

template <class Real>
struct Pair {
  Real sine, cosine;
};
// Box and Muller's: two independent deviates of two uniform numbers.
ROUSE_INLINE Pair<float> deviates(float u, float angle) {
  const float radius = std::sqrt(-2.0f * static_cast<float>(logarithm(u)));
  const Turned at = sineAndCosine(angle);
  return {static_cast<float>(at.sine) * radius, static_cast<float>(at.cosine) * radius};
}
ROUSE_INLINE Pair<double> deviates(double u, double halves) {
  const double radius = std::sqrt(-2.0 * logarithm(u));
  const Turned at = sineAndCosineOfHalves(halves);
  return {at.sine * radius, at.cosine * radius};
}
ROUSE_INLINE Pair<float> deviatesOfBits(std::uint32_t x, std::uint32_t y) {
  constexpr float kTurn = 0x1p-32f * 6.2831855f;
  return deviates(unitFloat(x), static_cast<float>(y) * kTurn + kTurn / 2);
}
ROUSE_INLINE Pair<double> deviatesOfBits(std::uint32_t x0, std::uint32_t x1, std::uint32_t y0, std::uint32_t y1) {
  return deviates(unitDouble(x0, x1), 2 * unitDouble(y0, y1));
}

// One step of XORWOW's lanes.
template <Kind kind>
ROUSE_INLINE void emit(const Words* draws, const Distribution& distribution, Result<kind>* to) {
  for (std::uint32_t j = 0; j < N; ++j) {
    if constexpr (kind == Kind::bits32) {
      to[j] = draws[0][j];
    } else if constexpr (kind == Kind::uniform) {
      to[j] = unitFloat(draws[0][j]);
    } else if constexpr (kind == Kind::uniformDouble) {
      to[j] = unitDouble(draws[0][j], draws[1][j]);
    } else if constexpr (kind == Kind::poisson) {
      to[j] = (*distribution.poisson)(draws[0][j]);
    } else if constexpr (kind == Kind::normal || kind == Kind::logNormal) {
      const Pair<float> pair = deviatesOfBits(draws[0][j], draws[1][j]);
      to[2 * j] = shaped<kind>(pair.sine, distribution);
      to[2 * j + 1] = shaped<kind>(pair.cosine, distribution);
    } else if constexpr (kind == Kind::normalDouble || kind == Kind::logNormalDouble) {
      const Pair<double> pair = deviatesOfBits(draws[0][j], draws[1][j], draws[2][j], draws[3][j]);
      to[2 * j] = shaped<kind>(pair.sine, distribution);
      to[2 * j + 1] = shaped<kind>(pair.cosine, distribution);
    }
  }
}

// And of MRG32k3a's.
template <Kind kind>
ROUSE_INLINE void emit(const Wides* draws, const Distribution& distribution, Result<kind>* to) {
  constexpr double kUnit = 2.3283065498378288e-10, kBits = 1.000000048662;
  const auto number = [](std::uint64_t draw) { return std::bit_cast<double>(draw | 0x4330000000000000) - 4503599627370496.0; };
  const auto bits = [&](std::uint64_t draw) {
    const double exact = number(draw) * kBits, near = exact + 4503599627370496.0;
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(near)) - (near - 4503599627370496.0 > exact ? 1u : 0u);  // the integer below
  };
  for (std::uint32_t j = 0; j < N; ++j) {
    if constexpr (kind == Kind::bits32) {
      to[j] = bits(draws[0][j]);
    } else if constexpr (kind == Kind::uniform || kind == Kind::uniformDouble) {
      to[j] = static_cast<Result<kind>>(number(draws[0][j]) * kUnit);
    } else if constexpr (kind == Kind::poisson) {
      to[j] = (*distribution.poisson)(bits(draws[0][j]));
    } else if constexpr (kind == Kind::normal || kind == Kind::logNormal) {
      const Pair<float> pair = deviates(static_cast<float>(number(draws[0][j]) * kUnit), static_cast<float>(number(draws[1][j]) * kUnit) * 6.2831855f);
      to[2 * j] = shaped<kind>(pair.sine, distribution);
      to[2 * j + 1] = shaped<kind>(pair.cosine, distribution);
    } else if constexpr (kind == Kind::normalDouble || kind == Kind::logNormalDouble) {
      const Pair<double> pair = deviates(number(draws[0][j]) * kUnit, number(draws[1][j]) * kUnit * 2.0);
      to[2 * j] = shaped<kind>(pair.sine, distribution);
      to[2 * j + 1] = shaped<kind>(pair.cosine, distribution);
    }
  }
}

constexpr bool inPairs(Kind kind) { return kind >= Kind::normal && kind <= Kind::logNormalDouble; }

// `draw(draws)`: one step of all lanes.
template <Kind kind, class Draws, class Draw>
ROUSE_INLINE void laneRows(const LaneRows& rows, const Distribution& distribution, Draw&& draw) {
  constexpr std::uint32_t kResults = inPairs(kind) ? 2 : 1;
  alignas(64) Draws draws[4];
  alignas(64) Result<kind> results[N * kResults];
  for (std::uint64_t row = 0; row < rows.rows; ++row) {
    draw(draws);
    emit<kind>(draws, distribution, results);
    const std::uint32_t lanes = row + 1 == rows.rows ? rows.last : rows.lanes;
    std::memcpy(rows.output + row * rows.rowBytes, results, lanes * kResults * sizeof results[0]);
  }
}

// body.template operator()<kind>()
template <class Body>
void forKind(Kind kind, Body&& body) {
  switch (kind) {
#define ROUSE_KIND(name) \
  case Kind::name:       \
    return body.template operator()<Kind::name>();
    ROUSE_KIND(bits32)
    ROUSE_KIND(bits64)
    ROUSE_KIND(uniform)
    ROUSE_KIND(uniformDouble)
    ROUSE_KIND(normal)
    ROUSE_KIND(normalDouble)
    ROUSE_KIND(logNormal)
    ROUSE_KIND(logNormalDouble)
    ROUSE_KIND(poisson)
#undef ROUSE_KIND
  }
}

void xorwowRows(const XorwowState* states, const LaneRows& rows, const Distribution& distribution) {
  alignas(64) Words v0, v1, v2, v3, v4, d;
  for (std::uint32_t j = 0; j < N; ++j) {
    const XorwowState& state = states[std::min(j, rows.lanes - 1)];
    v0[j] = state.v[0], v1[j] = state.v[1], v2[j] = state.v[2], v3[j] = state.v[3], v4[j] = state.v[4], d[j] = state.d;
  }
  forKind(distribution.kind, [&]<Kind kind>() {
    constexpr std::uint32_t kDraws = inPairs(kind) ? (sizeof(Result<kind>) == 8 ? 4 : 2) : kind == Kind::uniformDouble ? 2 : 1;
    if constexpr (kind != Kind::bits64) {
      laneRows<kind, Words>(rows, distribution, [&](Words* draws) {
        for (std::uint32_t i = 0; i < kDraws; ++i)
          for (std::uint32_t j = 0; j < N; ++j) {
            const std::uint32_t t = v0[j] ^ (v0[j] >> 2);
            v0[j] = v1[j], v1[j] = v2[j], v2[j] = v3[j], v3[j] = v4[j];
            v4[j] = (v4[j] ^ (v4[j] << 4)) ^ (t ^ (t << 1));
            d[j] += kWeyl;
            draws[i][j] = v4[j] + d[j];
          }
      });
    }
  });
}

void mrgRows(const MrgState* states, const LaneRows& rows, const Distribution& distribution) {
  alignas(64) Wides a0, a1, a2, b0, b1, b2;
  for (std::uint32_t j = 0; j < N; ++j) {
    const MrgState& state = states[std::min(j, rows.lanes - 1)];
    a0[j] = state.first[0], a1[j] = state.first[1], a2[j] = state.first[2];
    b0[j] = state.second[0], b1[j] = state.second[1], b2[j] = state.second[2];
  }
  forKind(distribution.kind, [&]<Kind kind>() {
    if constexpr (kind != Kind::bits64) {
      laneRows<kind, Wides>(rows, distribution, [&](Wides* draws) {
        for (std::uint32_t i = 0; i < (inPairs(kind) ? 2 : 1); ++i)
          for (std::uint32_t j = 0; j < N; ++j) draws[i][j] = next(a0[j], a1[j], a2[j], b0[j], b1[j], b2[j]);
      });
    }
  });
}

// Of each lane's counter, or one behind it.
ROUSE_INLINE void philoxBlock(std::uint64_t seed, const PhiloxLanes& lanes, std::uint64_t behind, Words* words) {
  for (std::uint32_t j = 0; j < N; ++j) {
    const std::uint64_t counter = lanes.counters[j] + behind;
    words[0][j] = static_cast<std::uint32_t>(counter);
    words[1][j] = static_cast<std::uint32_t>(counter >> 32);
    words[2][j] = lanes.lanes[j];
    words[3][j] = 0;
  }
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::uint32_t j = 0; j < N; ++j) {
      const std::uint64_t first = std::uint64_t{kPhiloxFactor0} * words[0][j], second = std::uint64_t{kPhiloxFactor1} * words[2][j];
      words[0][j] = static_cast<std::uint32_t>(second >> 32) ^ words[1][j] ^ key0;
      words[1][j] = static_cast<std::uint32_t>(second);
      words[2][j] = static_cast<std::uint32_t>(first >> 32) ^ words[3][j] ^ key1;
      words[3][j] = static_cast<std::uint32_t>(first);
    }
    key0 += kPhiloxWeyl0;
    key1 += kPhiloxWeyl1;
  }
}

// Of one counter; doubles are two of four results.
template <Kind kind>
ROUSE_INLINE void emitQuad(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d, const Distribution& distribution, Result<kind>* to) {
  if constexpr (kind == Kind::normal || kind == Kind::logNormal) {
    const Pair<float> one = deviatesOfBits(a, b), two = deviatesOfBits(c, d);
    to[0] = shaped<kind>(one.sine, distribution), to[1] = shaped<kind>(one.cosine, distribution);
    to[2] = shaped<kind>(two.sine, distribution), to[3] = shaped<kind>(two.cosine, distribution);
  } else if constexpr (kind == Kind::normalDouble || kind == Kind::logNormalDouble) {
    const Pair<double> pair = deviatesOfBits(a, b, c, d);
    to[0] = shaped<kind>(pair.sine, distribution), to[1] = shaped<kind>(pair.cosine, distribution);
  } else if constexpr (kind == Kind::uniformDouble) {
    to[0] = unitDouble(a, b), to[1] = unitDouble(c, d);
  } else if constexpr (kind == Kind::uniform) {
    to[0] = unitFloat(a), to[1] = unitFloat(b), to[2] = unitFloat(c), to[3] = unitFloat(d);
  } else if constexpr (kind == Kind::poisson) {
    const Poisson& poisson = *distribution.poisson;
    to[0] = poisson(a), to[1] = poisson(b), to[2] = poisson(c), to[3] = poisson(d);
  } else {
    to[0] = a, to[1] = b, to[2] = c, to[3] = d;
  }
}

void philoxResults(std::uint64_t seed, const PhiloxLanes& lanes, std::uint32_t skipped, std::uint32_t count, std::byte* output,
                   const Distribution& distribution) {
  forKind(distribution.kind, [&]<Kind kind>() {
    if constexpr (kind != Kind::bits64) {
      alignas(64) Words words[4];
      alignas(64) Result<kind> results[4 * N];
      for (std::uint32_t row = 0; row < (sizeof results[0] == 8 ? 2 : 1); ++row) {
        philoxBlock(seed, lanes, row, words);
        for (std::uint32_t j = 0; j < N; ++j)
          emitQuad<kind>(words[0][j], words[1][j], words[2][j], words[3][j], distribution, results + 4 * j + 2 * row);
      }
      std::memcpy(output, results + skipped, count * sizeof results[0]);
    }
  });
}

// Normal deviates of quasi-random points, which stay as equally distributed, and of Mersenne Twisters: by inversion.
ROUSE_INLINE float quantile(std::uint32_t bits) {
  const bool upper = bits > 0x80000000u;
  const float p = unitFloat(upper ? ~bits : bits);
  const auto lower = static_cast<float>(lowerQuantile(p));
  return upper ? -lower : lower;
}
ROUSE_INLINE double quantile(std::uint64_t bits, double unit, std::uint64_t most) {
  const bool upper = bits > most / 2 + 1;
  const double p = static_cast<double>(upper ? most - bits : bits) * unit + unit / 2;
  const double lower = lowerQuantile(p);
  return upper ? -lower : lower;
}

template <class Bits, Kind kind>
ROUSE_INLINE Result<kind> quasi(Bits bits, const Distribution& distribution) {
  const auto word = static_cast<std::uint32_t>(sizeof bits == 8 ? bits >> (sizeof bits * 4) : bits);
  if constexpr (kind == Kind::bits32 || kind == Kind::bits64) return static_cast<Result<kind>>(bits);
  else if constexpr (sizeof bits == 4 && (kind == Kind::uniform || kind == Kind::uniformDouble)) {
    if (distribution.inDouble) return static_cast<Result<kind>>((bits + 0.5) * 0x1p-32);
    return kind == Kind::uniform ? static_cast<Result<kind>>(unitFloat(bits)) : static_cast<Result<kind>>((bits + 1.0) * 0x1p-32);
  } else if constexpr (kind == Kind::uniform) return unitFloat(word);
  else if constexpr (kind == Kind::uniformDouble) return static_cast<double>(bits >> 11) * 0x1p-53 + 0x1p-54;
  else if constexpr (kind == Kind::poisson) return (*distribution.poisson)(word);
  else if constexpr (sizeof(Result<kind>) == 4) return shaped<kind>(quantile(word), distribution);
  else if constexpr (sizeof bits == 8) return shaped<kind>(quantile(bits >> 11, 0x1p-53, (std::uint64_t{1} << 53) - 1), distribution);
  else return shaped<kind>(quantile(bits, 0x1p-32, 0xffffffff), distribution);
}

template <class Bits>
void sobolPoints(const Directions& directions, std::uint64_t shift, std::uint64_t point, std::uint64_t count, std::byte* output,
                 const Distribution& distribution) {
  constexpr std::uint32_t kBits = sizeof(Bits) * 8;
  Bits own[kBits], within[N];
  for (std::uint32_t i = 0; i < kBits; ++i) own[i] = static_cast<Bits>(directions[i] >> (64 - kBits));
  // The points of a block differ from its first by the same numbers in each: blocks begin at multiples of their size.
  for (std::uint32_t j = 0; j < N; ++j) {
    within[j] = 0;
    for (std::uint32_t i = 0, gray = j ^ j >> 1; gray != 0; ++i, gray >>= 1)
      if ((gray & 1) != 0) within[j] ^= own[i];
  }
  forKind(distribution.kind, [&]<Kind kind>() {
    alignas(64) Result<kind> results[N];
    std::uint64_t begin = point / N * N, skipped = point % N;
    for (std::uint64_t done = 0; done < count; begin += N) {
      Bits first = static_cast<Bits>(shift >> (64 - kBits));
      const auto at = static_cast<Bits>(begin);
      for (Bits gray = at ^ (at >> 1); gray != 0; gray &= gray - 1) first ^= own[__builtin_ctzll(gray)];
      const std::uint64_t now = std::min<std::uint64_t>(N - skipped, count - done);
      Result<kind>* const to = now == N ? reinterpret_cast<Result<kind>*>(output) + done : results;
      for (std::uint32_t j = 0; j < N; ++j) to[j] = quasi<Bits, kind>(first ^ within[j], distribution);
      if (now != N) std::memcpy(output + done * sizeof results[0], results + skipped, now * sizeof results[0]);
      done += now;
      skipped = 0;
    }
  });
}

void sobolResults(const Directions& directions, std::uint64_t shift, bool wide, std::uint64_t point, std::uint64_t count, std::byte* output,
                  const Distribution& distribution) {
  if (wide) sobolPoints<std::uint64_t>(directions, shift, point, count, output, distribution);
  else sobolPoints<std::uint32_t>(directions, shift, point, count, output, distribution);
}

void wordResults(const std::uint32_t* words, std::uint32_t count, std::byte* output, const Distribution& distribution) {
  forKind(distribution.kind, [&]<Kind kind>() {
    auto* const to = reinterpret_cast<Result<kind>*>(output);
    for (std::uint32_t i = 0; i < count; ++i) to[i] = quasi<std::uint32_t, kind>(words[i], distribution);
  });
}

constexpr Loops kLoopsHere{xorwowRows, mrgRows, philoxResults, sobolResults, wordResults};

#undef ROUSE_INLINE

}  // namespace
}  // namespace rouse::rand
