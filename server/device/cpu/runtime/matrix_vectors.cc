// A product goes by tiles of 8 by 8: of A as doubles (or pairs of 16-bit integers) that are broadcast one by one, of B by rows, one
// vector each, of C as eight vectors of sums. How fragments lie in units is told in matrix_form.h and matrix_tiling.h.
#include "server/device/cpu/runtime/matrix_vectors.h"

#include <immintrin.h>

#include <array>

#include "server/device/cpu/runtime/matrix_tiling.h"

#define ROUSE_512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
// What takes or returns vectors has to become part of its caller.
#define ROUSE_512_INLINE ROUSE_512 __attribute__((always_inline)) inline

namespace rouse::cpu {
namespace {

constexpr std::uint32_t kSide = 8;               // of a tile
constexpr std::uint32_t kTile = kSide * kSide;   // elements
constexpr std::uint32_t kMostFactors = 32 * 16;  // of A or B: as many doubles as fragments of 16 words have
constexpr std::uint32_t kMostTiles = 4;

// Indices of a permutation of two vectors' elements, the second one's behind the first one's.
template <class Index, std::uint32_t count>
struct alignas(64) Permutation {
  Index of[count];
  ROUSE_512_INLINE operator __m512i() const { return _mm512_load_si512(of); }
};

template <class Index, std::uint32_t count, class From>
constexpr Permutation<Index, count> permutation(From from) {
  Permutation<Index, count> made{};
  for (std::uint32_t i = 0; i < count; ++i) made.of[i] = static_cast<Index>(from(i));
  return made;
}

using Halves = Permutation<std::uint16_t, 32>;
using Words = Permutation<std::uint32_t, 16>;
using Longs = Permutation<std::uint64_t, 8>;

// Of 8 rows of 8, the first four columns as rows; the last four.
constexpr std::array kHalfColumns{permutation<std::uint16_t, 32>([](std::uint32_t i) { return i % 8 * 8 + i / 8; }),
                                  permutation<std::uint16_t, 32>([](std::uint32_t i) { return i % 8 * 8 + i / 8 + 4; })};
// Of 8 rows of 4, the first two columns as rows; the last two.
constexpr std::array kWordColumns{permutation<std::uint32_t, 16>([](std::uint32_t i) { return i % 8 * 4 + i / 8; }),
                                  permutation<std::uint32_t, 16>([](std::uint32_t i) { return i % 8 * 4 + i / 8 + 2; })};
// Two words of each of 16 lanes side by side: the first eight lanes', the last eight lanes'. Rows of accumulators, and doubles of their halves.
constexpr std::array kSideBySide{permutation<std::uint32_t, 16>([](std::uint32_t i) { return i / 2 + i % 2 * 16; }),
                                 permutation<std::uint32_t, 16>([](std::uint32_t i) { return i / 2 + i % 2 * 16 + 8; })};
// And back: every second, the first ones or the second ones.
constexpr std::array kEverySecond{permutation<std::uint32_t, 16>([](std::uint32_t i) { return 2 * i; }),
                                  permutation<std::uint32_t, 16>([](std::uint32_t i) { return 2 * i + 1; })};
// Two doubles of each of four lanes side by side: those of the first row, of the second; and back.
constexpr std::array kLongSideBySide{permutation<std::uint64_t, 8>([](std::uint32_t i) { return i / 2 + i % 2 * 8; }),
                                     permutation<std::uint64_t, 8>([](std::uint32_t i) { return i / 2 + i % 2 * 8 + 4; })};
constexpr std::array kLongEverySecond{permutation<std::uint64_t, 8>([](std::uint32_t i) { return 2 * i; }),
                                      permutation<std::uint64_t, 8>([](std::uint32_t i) { return 2 * i + 1; })};
// Rows 2 i and 2 i + 1 of 8 words in vector i. Of vectors 0 and 1 (or 2 and 3) four columns with four words each; of two such, two
// whole columns.
constexpr std::array kQuarterColumns{permutation<std::uint32_t, 16>([](std::uint32_t i) { return i % 4 * 8 + i / 4; }),
                                     permutation<std::uint32_t, 16>([](std::uint32_t i) { return i % 4 * 8 + i / 4 + 4; })};
constexpr std::array kWholeColumns{permutation<std::uint32_t, 16>([](std::uint32_t i) { return i / 8 * 4 + i % 4 + i / 4 % 2 * 16; }),
                                   permutation<std::uint32_t, 16>([](std::uint32_t i) { return i / 8 * 4 + i % 4 + i / 4 % 2 * 16 + 8; })};

ROUSE_512_INLINE __m512i loaded(const std::uint32_t* words) { return _mm512_loadu_si512(words); }
ROUSE_512_INLINE __m512i pick(__m512i first, const Words& which, __m512i second) { return _mm512_permutex2var_epi32(first, which, second); }
ROUSE_512_INLINE __m512i pick(__m512i first, const Halves& which, __m512i second) { return _mm512_permutex2var_epi16(first, which, second); }
ROUSE_512_INLINE __m512i pick(__m512i first, const Longs& which, __m512i second) { return _mm512_permutex2var_epi64(first, which, second); }

template <std::uint32_t part>
ROUSE_512_INLINE __m256i half(__m512i vector) {
  return _mm512_extracti64x4_epi64(vector, part);
}

ROUSE_512_INLINE __m512i joined(__m256i low, __m256i high) { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }

ROUSE_512_INLINE void storeSingles(__m512 singles, double* to) {
  const __m512i bits = _mm512_castps_si512(singles);
  _mm512_storeu_pd(to, _mm512_cvtps_pd(_mm256_castsi256_ps(half<0>(bits))));
  _mm512_storeu_pd(to + 8, _mm512_cvtps_pd(_mm256_castsi256_ps(half<1>(bits))));
}

// 16 elements of 16 bits; of 32.
template <MatrixElement element>
ROUSE_512_INLINE void storeShorts(__m256i shorts, double* to) {
  storeSingles(element == MatrixElement::f16 ? _mm512_cvtph_ps(shorts)
                                             : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(shorts), 16)),
               to);
}

ROUSE_512_INLINE void storeTensorFloats(__m512i words, double* to) {
  storeSingles(_mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xffff'e000)))), to);
}

// Elements of a unit along k.
constexpr std::uint32_t alongUnit(MatrixElement element) { return element == MatrixElement::tf32 || element == MatrixElement::f64 ? 4 : 8; }
constexpr std::uint32_t unitWordsOf(MatrixElement element) { return element == MatrixElement::f64 ? 2 : 1; }

// A unit of A, row by row as it lies.
template <MatrixElement element>
ROUSE_512_INLINE void factorsByRows(const std::uint32_t* unit, double* to) {
  if constexpr (element == MatrixElement::f64) {
    for (std::uint32_t sixteen = 0; sixteen < 2; ++sixteen) {
      const __m512i low = loaded(unit + 16 * sixteen), high = loaded(unit + kLanes + 16 * sixteen);
      for (std::uint32_t i = 0; i < 2; ++i) _mm512_storeu_si512(to + 16 * sixteen + 8 * i, pick(low, kSideBySide[i], high));
    }
  } else {
    for (std::uint32_t sixteen = 0; sixteen < 2; ++sixteen) {
      const __m512i words = loaded(unit + 16 * sixteen);
      if constexpr (element == MatrixElement::tf32) {
        storeTensorFloats(words, to + 16 * sixteen);
      } else {
        storeShorts<element>(half<0>(words), to + 32 * sixteen);
        storeShorts<element>(half<1>(words), to + 32 * sixteen + 16);
      }
    }
  }
}

// A unit of B, whose rows are columns: by k.
template <MatrixElement element>
ROUSE_512_INLINE void factorsByColumns(const std::uint32_t* unit, double* to) {
  const __m512i first = loaded(unit), second = loaded(unit + 16);
  for (std::uint32_t i = 0; i < 2; ++i) {
    if constexpr (element == MatrixElement::f64) {
      const __m512i low = pick(first, kWordColumns[i], second), high = pick(loaded(unit + kLanes), kWordColumns[i], loaded(unit + kLanes + 16));
      for (std::uint32_t k = 0; k < 2; ++k) _mm512_storeu_si512(to + 16 * i + 8 * k, pick(low, kSideBySide[k], high));
    } else if constexpr (element == MatrixElement::tf32) {
      storeTensorFloats(pick(first, kWordColumns[i], second), to + 16 * i);
    } else {
      const __m512i columns = pick(first, kHalfColumns[i], second);
      storeShorts<element>(half<0>(columns), to + 32 * i);
      storeShorts<element>(half<1>(columns), to + 32 * i + 16);
    }
  }
}

// Sums, row by row, from a unit of C; and a unit of D.
ROUSE_512_INLINE void sumsFrom(MatrixElement element, const std::uint32_t* unit, double* sums) {
  if (element == MatrixElement::f16) {
    for (std::uint32_t i = 0; i < 4; ++i) storeShorts<MatrixElement::f16>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(unit + 8 * i)), sums + 16 * i);
    return;
  }
  for (std::uint32_t four = 0; four < 2; ++four) {  // rows
    const std::uint32_t* const words = unit + 16 * four;
    for (std::uint32_t two = 0; two < 2; ++two) {
      double* const rows = sums + 32 * four + 16 * two;
      const __m512i first = pick(loaded(words), kSideBySide[two], loaded(words + kLanes));
      if (element == MatrixElement::f32) {
        storeSingles(_mm512_castsi512_ps(first), rows);
      } else {
        const __m512i second = pick(loaded(words + 2 * kLanes), kSideBySide[two], loaded(words + 3 * kLanes));
        for (std::uint32_t row = 0; row < 2; ++row) _mm512_storeu_si512(rows + 8 * row, pick(first, kLongSideBySide[row], second));
      }
    }
  }
}

ROUSE_512_INLINE __m256i roundedSingles(__m512d value) {
  const __m256i bits = _mm256_castps_si256(_mm512_cvtpd_ps(value));
  return _mm256_mask_mov_epi32(bits, _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), _mm256_set1_epi32(0x7fff'ffff));
}

// To odd: what is lost of a double leaves its mark in the last bit, so that the half it becomes is rounded once. A single has more than
// twice two bits more than a half, also where that is subnormal (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
ROUSE_512_INLINE __m256i oddSingles(__m512d value) {
  const __m256 cut = _mm512_cvt_roundpd_ps(value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __mmask8 inexact = _mm512_cmp_pd_mask(_mm512_cvtps_pd(cut), value, _CMP_NEQ_OQ);
  return _mm256_mask_or_epi32(_mm256_castps_si256(cut), inexact, _mm256_castps_si256(cut), _mm256_set1_epi32(1));
}

ROUSE_512_INLINE __m256i roundedHalves(__m512d first, __m512d second) {
  const __m256i halves = _mm512_cvtps_ph(_mm512_castsi512_ps(joined(oddSingles(first), oddSingles(second))), _MM_FROUND_TO_NEAREST_INT);
  const auto unordered = static_cast<__mmask16>(_mm512_cmp_pd_mask(first, first, _CMP_UNORD_Q) |
                                                _mm512_cmp_pd_mask(second, second, _CMP_UNORD_Q) << 8);
  return _mm256_mask_mov_epi16(halves, unordered, _mm256_set1_epi16(0x7fff));
}

ROUSE_512_INLINE void sumsTo(MatrixElement element, const double* sums, std::uint32_t* unit) {
  if (element == MatrixElement::f16) {
    for (std::uint32_t i = 0; i < 4; ++i)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(unit + 8 * i), roundedHalves(_mm512_loadu_pd(sums + 16 * i), _mm512_loadu_pd(sums + 16 * i + 8)));
    return;
  }
  for (std::uint32_t four = 0; four < 2; ++four) {
    std::uint32_t* const words = unit + 16 * four;
    __m512i rows[4];
    for (std::uint32_t row = 0; row < 4; ++row) rows[row] = _mm512_loadu_si512(sums + 32 * four + 8 * row);
    for (std::uint32_t i = 0; i < 2; ++i) {
      if (element == MatrixElement::f32) {
        const __m512i low = joined(roundedSingles(_mm512_castsi512_pd(rows[0])), roundedSingles(_mm512_castsi512_pd(rows[1])));
        const __m512i high = joined(roundedSingles(_mm512_castsi512_pd(rows[2])), roundedSingles(_mm512_castsi512_pd(rows[3])));
        _mm512_storeu_si512(words + i * kLanes, pick(low, kEverySecond[i], high));
      } else {
        const __m512i low = pick(rows[0], kLongEverySecond[i], rows[1]), high = pick(rows[2], kLongEverySecond[i], rows[3]);
        for (std::uint32_t w = 0; w < 2; ++w) _mm512_storeu_si512(words + (2 * i + w) * kLanes, pick(low, kEverySecond[w], high));
      }
    }
  }
}

// Where tiles' units are.
struct Units {
  Tiling tiling;
  std::uint32_t at(std::uint32_t row, std::uint32_t across) const {
    return (row / tiling.group * tiling.group * tiling.across + across * tiling.group + row % tiling.group) * tiling.unitWords * kLanes;
  }
};

template <MatrixElement element>
ROUSE_512 void multiplyDoubles(const MatrixOperation& operation, std::uint32_t* words) {
  constexpr std::uint32_t along = alongUnit(element), unitWords = unitWordsOf(element);
  alignas(64) double left[kMostFactors], right[kMostFactors], sums[kMostTiles * kTile];
  const std::uint32_t m = operation.m / kSide, n = operation.n / kSide, depth = operation.k / along;
  const Units a{tilingOf(operation, MatrixRole::a, element)};
  const Units c{tilingOf(operation, MatrixRole::accumulator, operation.c)}, d{tilingOf(operation, MatrixRole::accumulator, operation.d)};
  for (std::uint32_t row = 0; row < m; ++row)
    for (std::uint32_t k = 0; k < depth; ++k)
      factorsByRows<element>(words + kMatrixA * kLanes + a.at(row, k), left + (row * depth + k) * kSide * along);
  for (std::uint32_t unit = 0; unit < n * depth; ++unit)
    factorsByColumns<element>(words + (kMatrixB + unit * unitWords) * kLanes, right + unit * kSide * along);
  for (std::uint32_t row = 0; row < m; ++row)
    for (std::uint32_t column = 0; column < n; ++column) sumsFrom(operation.c, words + c.at(row, column), sums + (row * n + column) * kTile);
  for (std::uint32_t row = 0; row < m; ++row) {
    for (std::uint32_t column = 0; column < n; ++column) {
      double* const those = sums + (row * n + column) * kTile;
      __m512d sum[kSide];
      for (std::uint32_t r = 0; r < kSide; ++r) sum[r] = _mm512_load_pd(those + kSide * r);
      for (std::uint32_t unit = 0; unit < depth; ++unit) {
        const double* const factors = left + (row * depth + unit) * kSide * along;
        const double* const rows = right + (column * depth + unit) * kSide * along;
        for (std::uint32_t k = 0; k < along; ++k) {
          const __m512d others = _mm512_load_pd(rows + kSide * k);
          // Products of f64 are not exact: fused. All others are, so that it does not matter.
          for (std::uint32_t r = 0; r < kSide; ++r) sum[r] = _mm512_fmadd_pd(_mm512_set1_pd(factors[along * r + k]), others, sum[r]);
        }
      }
      for (std::uint32_t r = 0; r < kSide; ++r) _mm512_store_pd(those + kSide * r, sum[r]);
    }
  }
  for (std::uint32_t row = 0; row < m; ++row)
    for (std::uint32_t column = 0; column < n; ++column) sumsTo(operation.d, sums + (row * n + column) * kTile, words + d.at(row, column));
}

// 32 bytes as 16-bit integers.
ROUSE_512_INLINE __m512i widened(bool isSigned, const std::uint32_t* words) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
  return isSigned ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
}

// 8 columns of 16 bytes: 8 pairs along k, of each those of all columns.
ROUSE_512_INLINE void pairsByColumns(bool isSigned, const std::uint32_t* unit, std::uint32_t* to) {
  __m512i two[4], quarters[4];
  for (std::uint32_t i = 0; i < 4; ++i) two[i] = widened(isSigned, unit + 8 * i);
  for (std::uint32_t i = 0; i < 4; ++i) quarters[i] = pick(two[i / 2 * 2], kQuarterColumns[i % 2], two[i / 2 * 2 + 1]);
  for (std::uint32_t i = 0; i < 4; ++i) _mm512_storeu_si512(to + 16 * i, pick(quarters[i / 2], kWholeColumns[i % 2], quarters[i / 2 + 2]));
}

ROUSE_512_INLINE __m512i added(__m512i c, __m512i sum, bool saturate) {
  const __m512i wrapped = _mm512_add_epi32(c, sum);
  if (!saturate) return wrapped;
  // Overflow: both have the sign that the sum has not.
  const __m512i differ = _mm512_and_si512(_mm512_xor_si512(c, wrapped), _mm512_xor_si512(sum, wrapped));
  const __m512i limit = _mm512_add_epi32(_mm512_srli_epi32(c, 31), _mm512_set1_epi32(0x7fff'ffff));
  return _mm512_mask_mov_epi32(wrapped, _mm512_movepi32_mask(differ), limit);
}

ROUSE_512 void multiplyBytes(const MatrixOperation& operation, std::uint32_t* words) {
  constexpr std::uint32_t along = 16, pairs = along / 2;
  alignas(64) std::uint32_t left[kMostFactors], right[kMostFactors];
  const std::uint32_t m = operation.m / kSide, n = operation.n / kSide, depth = operation.k / along;
  const Units a{tilingOf(operation, MatrixRole::a, operation.a)}, c{tilingOf(operation, MatrixRole::accumulator, operation.c)};
  for (std::uint32_t row = 0; row < m; ++row)
    for (std::uint32_t k = 0; k < depth; ++k)
      for (std::uint32_t i = 0; i < 4; ++i)
        _mm512_store_si512(left + (row * depth + k) * kTile + 16 * i,
                           widened(operation.a == MatrixElement::s8, words + kMatrixA * kLanes + a.at(row, k) + 8 * i));
  for (std::uint32_t unit = 0; unit < n * depth; ++unit)
    pairsByColumns(operation.b == MatrixElement::s8, words + (kMatrixB + unit) * kLanes, right + unit * kTile);
  for (std::uint32_t row = 0; row < m; ++row) {
    for (std::uint32_t column = 0; column < n; ++column) {
      __m256i sum[kSide];
      for (__m256i& one : sum) one = _mm256_setzero_si256();
      for (std::uint32_t unit = 0; unit < depth; ++unit) {
        const std::uint32_t* const factors = left + (row * depth + unit) * kTile;
        const std::uint32_t* const rows = right + (column * depth + unit) * kTile;
        for (std::uint32_t k = 0; k < pairs; ++k) {
          const __m256i others = _mm256_load_si256(reinterpret_cast<const __m256i*>(rows + kSide * k));
          for (std::uint32_t r = 0; r < kSide; ++r)
            sum[r] = _mm256_add_epi32(sum[r], _mm256_madd_epi16(_mm256_set1_epi32(static_cast<int>(factors[pairs * r + k])), others));
        }
      }
      std::uint32_t* const unit = words + c.at(row, column);
      for (std::uint32_t four = 0; four < 2; ++four) {
        const __m512i low = joined(sum[4 * four], sum[4 * four + 1]), high = joined(sum[4 * four + 2], sum[4 * four + 3]);
        for (std::uint32_t i = 0; i < 2; ++i) {
          std::uint32_t* const those = unit + 16 * four + i * kLanes;
          _mm512_storeu_si512(those, added(loaded(those), pick(low, kEverySecond[i], high), operation.saturate));
        }
      }
    }
  }
}

}  // namespace

bool hasMatrixVectors() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl");
  return has;
}

bool multiplyInVectors(const MatrixOperation& operation, std::uint32_t* words) {
  if (operation.quadPairs || operation.sparse) return false;
  switch (operation.a) {
    case MatrixElement::f16:
      multiplyDoubles<MatrixElement::f16>(operation, words);
      return true;
    case MatrixElement::bf16:
      multiplyDoubles<MatrixElement::bf16>(operation, words);
      return true;
    case MatrixElement::tf32:
      multiplyDoubles<MatrixElement::tf32>(operation, words);
      return true;
    case MatrixElement::f64:
      multiplyDoubles<MatrixElement::f64>(operation, words);
      return true;
    case MatrixElement::s8:
    case MatrixElement::u8:
      multiplyBytes(operation, words);
      return true;
    default:
      return false;
  }
}

ROUSE_512 void transposeInVectors(const std::uint32_t* from, std::uint32_t* to) {
  const __m512i first = loaded(from), second = loaded(from + 16);
  for (std::uint32_t i = 0; i < 2; ++i) _mm512_storeu_si512(to + 16 * i, pick(first, kHalfColumns[i], second));
}

}  // namespace rouse::cpu
