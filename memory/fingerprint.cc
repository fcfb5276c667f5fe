#include "memory/fingerprint.h"

#include <immintrin.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace rouse::memory {
namespace {

using namespace fingerprints;

static_assert(kPageWords * sizeof(std::uint64_t) == kGranuleBytes);

constexpr unsigned kRegionGives = kColumns * kWays;               // words of level 0
constexpr unsigned kNodesOverRegion = kRegionGives / kNodeWords;  // of level 1
constexpr unsigned kLevelTwoWords = kRegions * kNodesOverRegion * kWays;

std::uint64_t wordAt(const std::byte* at, std::size_t index) {
  std::uint64_t word = 0;
  std::memcpy(&word, at + index * sizeof word, sizeof word);
  return word;
}

void plainColumns(const Keys& keys, const std::byte* region, std::uint64_t (&gives)[kRegionGives]) {
  std::memset(gives, 0, sizeof gives);
  for (unsigned row = 0; row < kNodeWords; ++row)
    for (unsigned column = 0; column < kColumns; ++column)
      for (unsigned way = 0; way < kWays; ++way)
        gives[column * kWays + way] += term(wordAt(region, row * kColumns + column), keys.levels[0][row + way]);
}

void plainNode(const std::uint64_t (&key)[kLevelKey], const std::uint64_t* words, std::uint64_t* gives) {
  for (unsigned way = 0; way < kWays; ++way) {
    gives[way] = 0;
    for (unsigned i = 0; i < kNodeWords; ++i) gives[way] += term(words[i], key[i + way]);
  }
}

#define ROUSE_AVX2 __attribute__((target("avx2")))

ROUSE_AVX2 inline __m256i terms(__m256i words, __m256i keys) {
  const __m256i sums = _mm256_add_epi32(words, keys);
  return _mm256_mul_epu32(sums, _mm256_srli_epi64(sums, 32));
}

// Eight columns at a time: as many sums as there are registers for. A region fits into the first-level cache; one that
// comes later is fetched into the second meanwhile, since hardware follows no 64 rows at once.
ROUSE_AVX2 void fastColumns(const Keys& keys, const std::byte* region, std::uint64_t (&gives)[kRegionGives]) {
  constexpr unsigned kAtOnce = 8, kAhead = 4, kLine = 64;
  for (unsigned column = 0; column < kColumns; column += kAtOnce) {
    const std::byte* at = region + column * sizeof(std::uint64_t);
    const std::byte* ahead =
        region + kAhead * kRegionWords * sizeof(std::uint64_t) + std::size_t{column / kAtOnce} * kNodeWords * kLine;
    __m256i sums[2][kWays];
#pragma GCC unroll 2
    for (auto& half : sums)
#pragma GCC unroll 4
      for (__m256i& sum : half) sum = _mm256_setzero_si256();
    for (unsigned row = 0; row < kNodeWords; ++row, at += kColumns * sizeof(std::uint64_t), ahead += kLine) {
      _mm_prefetch(reinterpret_cast<const char*>(ahead), _MM_HINT_T1);
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at) + 1);
#pragma GCC unroll 4
      for (unsigned way = 0; way < kWays; ++way) {
        const __m256i key = _mm256_set1_epi64x(static_cast<long long>(keys.levels[0][row + way]));
        sums[0][way] = _mm256_add_epi64(sums[0][way], terms(first, key));
        sums[1][way] = _mm256_add_epi64(sums[1][way], terms(second, key));
      }
    }
#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; ++half) {
#pragma GCC unroll 4
      for (unsigned way = 0; way < kWays; ++way) {
        alignas(32) std::uint64_t each[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(each), sums[half][way]);
        for (unsigned i = 0; i < 4; ++i) gives[(column + half * 4 + i) * kWays + way] = each[i];
      }
    }
  }
}

ROUSE_AVX2 void fastNode(const std::uint64_t (&key)[kLevelKey], const std::uint64_t* words, std::uint64_t* gives) {
  __m256i sums[kWays];
#pragma GCC unroll 4
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (unsigned i = 0; i < kNodeWords; i += 4) {
    const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + i));
#pragma GCC unroll 4
    for (unsigned way = 0; way < kWays; ++way) {
      const __m256i keys = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(key + i + way));
      sums[way] = _mm256_add_epi64(sums[way], terms(four, keys));
    }
  }
#pragma GCC unroll 4
  for (unsigned way = 0; way < kWays; ++way) {
    alignas(32) std::uint64_t each[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(each), sums[way]);
    gives[way] = each[0] + each[1] + each[2] + each[3];
  }
}

template <class Columns, class Node>
PageFingerprint compute(const Keys& keys, const std::byte* page, Columns columns, Node node) {
  std::uint64_t first[kRegionGives], second[kLevelTwoWords], third[kNodeWords], last[kWays];
  static_assert(kLevelTwoWords / kNodeWords * kWays == kNodeWords);
  for (unsigned region = 0; region < kRegions; ++region) {
    columns(keys, page + std::size_t{region} * kRegionWords * sizeof(std::uint64_t), first);
    for (unsigned i = 0; i < kNodesOverRegion; ++i)
      node(keys.levels[1], first + i * kNodeWords, second + (region * kNodesOverRegion + i) * kWays);
  }
  for (unsigned i = 0; i < kLevelTwoWords / kNodeWords; ++i)
    node(keys.levels[2], second + i * kNodeWords, third + i * kWays);
  node(keys.levels[3], third, last);
  const Sealed sealed = sipHash(keys.seal, last);
  return {sealed.low, sealed.high};
}

}  // namespace

FingerprintKey::FingerprintKey(std::uint64_t low, std::uint64_t high) {
  // SipHash as a generator: of the numbers of its words, with the caller's bits as key.
  const std::uint64_t seed[2] = {low, high};
  std::uint64_t* word = &keys_.levels[0][0];
  static_assert(sizeof keys_ % sizeof(Sealed) == 0);
  for (std::uint64_t i = 0; i < sizeof keys_ / sizeof(Sealed); ++i) {
    const Sealed made = sipHash(seed, {i});
    std::memcpy(word + 2 * i, &made, sizeof made);
  }
}

Status checkGranules(AddressRange granules, AddressRange window, std::size_t places) {
  const auto text = [](AddressRange range) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "[0x%llx, +%llu)", static_cast<unsigned long long>(range.base),
                  static_cast<unsigned long long>(range.bytes));
    return std::string(buffer);
  };
  if (!isAligned(granules.base, kGranuleBytes) || !isAligned(granules.bytes, kGranuleBytes))
    return Error{CudaError::invalidValue,
                 "fingerprints of " + text(granules) + ": not whole granules of " + std::to_string(kGranuleBytes)};
  if (granules.end() < granules.base || !window.contains(granules))
    return Error{CudaError::invalidValue,
                 "fingerprints of " + text(granules) + ": not in the device window " + text(window)};
  if (places != granules.bytes / kGranuleBytes)
    return Error{CudaError::invalidValue, "fingerprints of " + std::to_string(granules.bytes / kGranuleBytes) +
                                              " granules: there is room for " + std::to_string(places)};
  return {};
}

Error notMapped(std::uint64_t granule) {
  char text[80];
  std::snprintf(text, sizeof text, "fingerprints of memory that is not mapped, at 0x%llx",
                static_cast<unsigned long long>(granule));
  return {CudaError::invalidValue, text};
}

PageFingerprint plainFingerprintOf(const FingerprintKey& key, std::span<const std::byte, kGranuleBytes> page) {
  return compute(key.expanded(), page.data(), plainColumns, plainNode);
}

PageFingerprint fingerprintOf(const FingerprintKey& key, std::span<const std::byte, kGranuleBytes> page) {
  static const bool fast = __builtin_cpu_supports("avx2");
  return fast ? compute(key.expanded(), page.data(), fastColumns, fastNode) : plainFingerprintOf(key, page);
}

}  // namespace rouse::memory
