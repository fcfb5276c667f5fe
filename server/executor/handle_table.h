// Objects that a client numbers (layout.h): a new one's index is at most one past the highest used, and an index is
// used again only with a greater generation. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "schemas/wire/layout.h"

namespace rouse::executor {

template <class T>
class HandleTable {
 public:
  bool live(wire::Handle handle) const {
    return handle.index < entries_.size() && entries_[handle.index].live &&
           entries_[handle.index].generation == handle.generation;
  }
  bool mayInsert(wire::Handle handle) const {
    if (handle.index >= entries_.size()) return handle.index == entries_.size();
    const Entry& entry = entries_[handle.index];
    return !entry.live && handle.generation > entry.generation;
  }

  // mayInsert(handle).
  T& insert(wire::Handle handle, T value) {
    if (handle.index == entries_.size()) entries_.emplace_back();
    Entry& entry = entries_[handle.index];
    entry.generation = handle.generation;
    entry.live = true;
    entry.value = std::move(value);
    ++live_;
    return entry.value;
  }
  // live(handle).
  T take(wire::Handle handle) {
    Entry& entry = entries_[handle.index];
    entry.live = false;
    --live_;
    return std::exchange(entry.value, T{});
  }
  T& at(wire::Handle handle) { return entries_[handle.index].value; }

  // For another table: visit(generation, value) of each index ever used, in order; null: it is free.
  template <class Visit>
  void forEach(Visit&& visit) const {
    for (const Entry& entry : entries_) visit(entry.generation, entry.live ? &entry.value : nullptr);
  }
  // The next index, as another table had it.
  void append(std::uint32_t generation, std::optional<T> value) {
    Entry& entry = entries_.emplace_back();
    entry.generation = generation;
    entry.live = value.has_value();
    if (!value) return;
    entry.value = std::move(*value);
    ++live_;
  }

  std::size_t size() const { return live_; }
  // Every object is gone and every number free.
  void clear() {
    entries_.clear();
    live_ = 0;
  }

 private:
  struct Entry {
    std::uint32_t generation = 0;
    bool live = false;
    T value{};
  };
  std::vector<Entry> entries_;
  std::size_t live_ = 0;
};

}  // namespace rouse::executor
