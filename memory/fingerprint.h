// 128 bits that stand for the content of a page (kGranuleBytes), the same on every device: for finding pages that have
// changed, and pages that are alike, without moving them.
//
// Not cryptographic hashes. Two pages that differ have the same fingerprint with a probability of about 2^-126 over the
// choice of the key, as long as who wrote them does not know it; who does can make such pages. So a key is random, and
// secret from programs, and so are fingerprints that could be compared with guesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/fingerprint_parts.h"
#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::memory {

struct PageFingerprint {
  std::uint64_t low = 0, high = 0;
  bool operator==(const PageFingerprint&) const = default;
};

// Expanded once from 128 random bits; 2 KiB. Pure.
class FingerprintKey {
 public:
  FingerprintKey(std::uint64_t low, std::uint64_t high);
  const fingerprints::Keys& expanded() const { return keys_; }

 private:
  fingerprints::Keys keys_;
};

// What Context::fingerprint() refuses but for what is mapped where.
Status checkGranules(AddressRange granules, AddressRange window, std::size_t places);
Error notMapped(std::uint64_t granule);

// On the calling thread, and with AVX2 about as fast as one thread can read memory. Pure.
PageFingerprint fingerprintOf(const FingerprintKey& key, std::span<const std::byte, kGranuleBytes> page);
// The same, slowly, on any processor: what the other ways are tested against.
PageFingerprint plainFingerprintOf(const FingerprintKey& key, std::span<const std::byte, kGranuleBytes> page);

}  // namespace rouse::memory
