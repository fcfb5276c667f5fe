// Which granules of a device window are backed, and by which chunks.
//
// contains() is on the path of every copy: a comparison with the last extent found, else a look at a bitmap. Not
// thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::memory {

inline constexpr std::uint64_t kMaxWindowBytes = std::uint64_t{16} << 40;
// Of a granule whose bytes are not on the device at the moment.
inline constexpr std::uint32_t kNoChunk = ~std::uint32_t{0};

class ExtentMap {
 public:
  // The window is aligned to kGranuleBytes and at most kMaxWindowBytes long.
  explicit ExtentMap(AddressRange window);

  // Backs the granule at `address`. The granule lies in the window and is not backed.
  void insert(std::uint64_t address, std::uint32_t chunk);
  // Ends the backing of the granule at `address`, which is backed, and returns its chunk.
  std::uint32_t erase(std::uint64_t address);

  // The chunk of a backed granule, and its change.
  std::uint32_t chunk(std::uint64_t address) const { return chunks_[(address - window_.base) / kGranuleBytes]; }
  void setChunk(std::uint64_t address, std::uint32_t chunk) {
    chunks_[(address - window_.base) / kGranuleBytes] = chunk;
  }

  // Every byte of [address, address + bytes) is backed; bytes != 0.
  bool contains(std::uint64_t address, std::uint64_t bytes) const {
    return last_.contains(address, bytes) || find(address, bytes);
  }
  // All or none of a range of whole granules in the window is backed.
  bool all(AddressRange range) const;
  bool none(AddressRange range) const;

  // What is backed without a gap around the address, of what lies in `within`, a range of whole granules in the window; empty: nothing is.
  AddressRange around(std::uint64_t address, AddressRange within) const;

  AddressRange window() const { return window_; }
  std::uint64_t backedBytes() const { return backedBytes_; }

  // Calls visit(address, chunk) for each backed granule, ascending.
  template <class Visit>
  void forEach(Visit&& visit) const {
    // Windows are mostly empty: by words, not by granules.
    for (std::size_t word = 0; word < bits_.size(); ++word)
      for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1) {
        const std::size_t i = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        visit(window_.base + i * kGranuleBytes, chunks_[i]);
      }
  }

 private:
  bool find(std::uint64_t address, std::uint64_t bytes) const;
  bool test(std::size_t granule) const { return bits_[granule / 64] >> (granule % 64) & 1; }
  // First granule in [from, to) whose bit is not `value`, or `to`.
  std::size_t scan(std::size_t from, std::size_t to, bool value) const;

  AddressRange window_;
  std::vector<std::uint64_t> bits_;
  // Windows are mostly empty: pages that are never touched are never there.
  struct Free {
    void operator()(std::uint32_t* array) const { std::free(array); }
  };
  std::size_t granules_ = 0;
  std::unique_ptr<std::uint32_t[], Free> chunks_;
  std::uint64_t backedBytes_ = 0;
  mutable AddressRange last_;  // backed, always
};

}  // namespace rouse::memory
