// Small numbers (handles) for owners, counted from 1, used again when an owner goes; with them a byte of memory can say
// whose it is in 32 bits. A flat hash table with linear probing: it allocates only to grow. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/owner_id.h"

namespace rouse::memory {

class OwnerTable {
 public:
  using Handle = std::uint32_t;  // 0: nobody

  OwnerTable() : slots_(64) { unused_.reserve(slots_.size()); }

  Handle find(OwnerId owner) const {
    for (std::size_t i = home(owner);; i = next(i)) {
      if (slots_[i].handle == 0) return 0;
      if (slots_[i].owner == owner) return slots_[i].handle;
    }
  }

  Handle findOrAdd(OwnerId owner) {
    if (const Handle known = find(owner)) return known;
    if (2 * (count_ + 1) > slots_.size()) grow();
    Handle handle;
    if (unused_.empty()) {
      handle = ++last_;
    } else {
      handle = unused_.back();
      unused_.pop_back();
    }
    place({owner, handle});
    ++count_;
    return handle;
  }

  // The owner is there.
  void remove(OwnerId owner) {
    std::size_t hole = home(owner);
    while (slots_[hole].owner != owner) hole = next(hole);
    unused_.push_back(slots_[hole].handle);
    // Those behind move up as long as that brings them no further than their home (Knuth, volume 3, 6.4, algorithm R).
    for (std::size_t i = next(hole); slots_[i].handle != 0; i = next(i)) {
      const std::size_t wanted = home(slots_[i].owner);
      if (((i - wanted) & (slots_.size() - 1)) < ((i - hole) & (slots_.size() - 1))) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
    --count_;
  }

  std::size_t size() const { return count_; }
  Handle highest() const { return last_; }  // handles are at most this

 private:
  struct Slot {
    OwnerId owner = 0;
    Handle handle = 0;
  };

  std::size_t home(OwnerId owner) const {
    return static_cast<std::size_t>((owner * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void place(Slot slot) {
    std::size_t i = home(slot.owner);
    while (slots_[i].handle != 0) i = next(i);
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    unused_.reserve(slots_.size());
    for (const Slot& slot : old)
      if (slot.handle != 0) place(slot);
  }

  std::vector<Slot> slots_;  // a power of two, at most half of it taken
  std::vector<Handle> unused_;
  std::size_t count_ = 0;
  Handle last_ = 0;
};

}  // namespace rouse::memory
