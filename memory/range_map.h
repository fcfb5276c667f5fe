// Disjoint ranges of a host window, each entered and taken out as a whole; of any length. contains() compares with the
// last range found first. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "schemas/base/range.h"

namespace rouse::memory {

class RangeMap {
 public:
  // False, and nothing changes, if the range is empty, wraps round, or overlaps one that is there.
  bool insert(AddressRange range);
  // False if exactly this range is not there.
  bool erase(AddressRange range);
  void clear();

  // Every byte of [address, address + bytes) lies in some range; bytes != 0. Adjacent ranges count as one.
  bool contains(std::uint64_t address, std::uint64_t bytes) const {
    return last_.contains(address, bytes) || find(address, bytes);
  }
  bool overlaps(AddressRange range) const;
  // The range that holds the address; empty: none does.
  AddressRange at(std::uint64_t address) const;

  std::size_t size() const { return ends_.size(); }
  std::uint64_t bytes() const { return bytes_; }

  template <class Visit>
  void forEach(Visit&& visit) const {
    for (const auto& [base, end] : ends_) visit(AddressRange{base, end - base});
  }

 private:
  bool find(std::uint64_t address, std::uint64_t bytes) const;

  std::map<std::uint64_t, std::uint64_t> ends_;  // base -> end
  std::uint64_t bytes_ = 0;
  mutable AddressRange last_;  // covered, always
};

}  // namespace rouse::memory
