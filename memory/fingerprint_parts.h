// What the fingerprints of the CPU (fingerprint.cc) and of a GPU (server/device/cuda/fingerprint.cu) are made of.
// fingerprint.h says what they are for.
//
// A page is hashed in a tree. One node takes 64 words of 8 bytes and gives 4: NH with four keys, each the one before
// moved by one word (Toeplitz), which for a random key makes the same of two different inputs with a probability of at
// most 2^-128 (Black, Halevi, Krawczyk, Krovetz, Rogaway: "UMAC: Fast and Secure Message Authentication", CRYPTO 1999,
// sections 4 and 5). Each level has keys of its own:
//
//   level 0   4096 nodes. The page is 64 regions of 32 KiB, a region 64 rows of 64 words; node c of a region takes
//             column c, so that neighbouring threads, or lanes of a vector, read neighbouring words and share a key.
//   level 1   256 nodes over the words of level 0 as they lie one behind another: by region, column, word
//   level 2   16 nodes, likewise
//   level 3   1 node
//
// What is left, 32 bytes, is sealed with SipHash-2-4 with 128 bits (Aumasson, Bernstein: "SipHash: a fast short-input
// PRF", 2012): every bit of the fingerprint then depends on every bit of the page, and fingerprints tell nothing of the
// key.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ROUSE_ON_BOTH __host__ __device__
#else
#define ROUSE_ON_BOTH
#endif

namespace rouse::memory::fingerprints {

inline constexpr unsigned kNodeWords = 64;  // that a node takes
inline constexpr unsigned kWays = 4;        // words that it gives
inline constexpr unsigned kLevels = 4;
inline constexpr unsigned kLevelKey = kNodeWords + kWays - 1;
inline constexpr unsigned kRegions = 64;
inline constexpr unsigned kColumns = 64;  // of a region, and its rows are as many as a node takes
inline constexpr unsigned kRegionWords = kNodeWords * kColumns;
inline constexpr unsigned kPageWords = kRegions * kRegionWords;

struct Keys {
  std::uint64_t levels[kLevels][kLevelKey];
  std::uint64_t seal[2];
};

struct Sealed {
  std::uint64_t low, high;
};

// One term of NH: both halves of a word.
ROUSE_ON_BOTH inline std::uint64_t term(std::uint64_t word, std::uint64_t key) {
  const auto low = static_cast<std::uint32_t>(word) + static_cast<std::uint32_t>(key);
  const auto high = static_cast<std::uint32_t>(word >> 32) + static_cast<std::uint32_t>(key >> 32);
#ifdef __CUDA_ARCH__
  std::uint64_t product = 0;  // the compiler would make it one of 64 bits
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(low), "r"(high));
  return product;
#else
  return static_cast<std::uint64_t>(low) * high;
#endif
}

ROUSE_ON_BOTH inline std::uint64_t rotated(std::uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

ROUSE_ON_BOTH inline void sipRound(std::uint64_t (&v)[4]) {
  v[0] += v[1];
  v[1] = rotated(v[1], 13) ^ v[0];
  v[0] = rotated(v[0], 32);
  v[2] += v[3];
  v[3] = rotated(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotated(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotated(v[1], 17) ^ v[2];
  v[2] = rotated(v[2], 32);
}

// SipHash-2-4 with 128 bits of the words as little-endian bytes.
template <unsigned kWords>
ROUSE_ON_BOTH inline Sealed sipHash(const std::uint64_t (&key)[2], const std::uint64_t (&words)[kWords]) {
  std::uint64_t v[4] = {key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d ^ 0xee, key[0] ^ 0x6c7967656e657261,
                        key[1] ^ 0x7465646279746573};
  for (unsigned i = 0; i <= kWords; ++i) {
    const std::uint64_t block = i < kWords ? words[i] : std::uint64_t{8 * kWords} << 56;
    v[3] ^= block;
    sipRound(v);
    sipRound(v);
    v[0] ^= block;
  }
  v[2] ^= 0xee;
  for (unsigned i = 0; i < 4; ++i) sipRound(v);
  const std::uint64_t low = v[0] ^ v[1] ^ v[2] ^ v[3];
  v[1] ^= 0xdd;
  for (unsigned i = 0; i < 4; ++i) sipRound(v);
  return {low, v[0] ^ v[1] ^ v[2] ^ v[3]};
}

}  // namespace rouse::memory::fingerprints
