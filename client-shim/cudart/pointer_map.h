// From the addresses that programs hand us (host functions, kernel handles) to our own objects, on the launch path:
// lock-free to read, a few nanoseconds.
//
// Threads: find() from any thread at any time; insert() and erase() under the caller's lock. Memory of outgrown tables
// is kept, since a reader may still be in it; they add up to less than the table in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rouse::cudart {

template <class Value>
class PointerMap {
 public:
  PointerMap() { grow(1024); }

  Value* find(const void* key) const {
    const Table* table = table_.load(std::memory_order_acquire);
    for (std::size_t i = hash(key);; ++i) {
      const Slot& slot = table->slots[i & table->mask];
      const void* stored = slot.key.load(std::memory_order_acquire);
      if (stored == key) return slot.value.load(std::memory_order_acquire);
      if (stored == nullptr) return nullptr;
    }
  }

  // `key` is not null. An earlier value of the same key is replaced.
  void insert(const void* key, Value* value) {
    if ((used_ + 1) * 2 > table_.load(std::memory_order_relaxed)->mask) grow((used_ + 1) * 4);
    used_ += place(*table_.load(std::memory_order_relaxed), key, value);
  }

  // Only if the key still has this value. The slot stays taken, for the same key.
  void erase(const void* key, const Value* value) {
    Table* table = table_.load(std::memory_order_relaxed);
    for (std::size_t i = hash(key);; ++i) {
      Slot& slot = table->slots[i & table->mask];
      const void* stored = slot.key.load(std::memory_order_relaxed);
      if (stored == nullptr) return;
      if (stored != key) continue;
      if (slot.value.load(std::memory_order_relaxed) == value) slot.value.store(nullptr, std::memory_order_release);
      return;
    }
  }

 private:
  struct Slot {
    std::atomic<const void*> key{nullptr};
    std::atomic<Value*> value{nullptr};
  };
  struct Table {
    explicit Table(std::size_t size) : mask(size - 1), slots(new Slot[size]) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };

  static std::size_t hash(const void* key) {
    // Fibonacci hashing: addresses differ in their middle bits.
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15u) >> 32);
  }

  // 1 if a slot was taken.
  static std::size_t place(Table& table, const void* key, Value* value) {
    for (std::size_t i = hash(key);; ++i) {
      Slot& slot = table.slots[i & table.mask];
      const void* stored = slot.key.load(std::memory_order_relaxed);
      if (stored != nullptr && stored != key) continue;
      slot.value.store(value, std::memory_order_release);
      slot.key.store(key, std::memory_order_release);
      return stored == nullptr ? 1 : 0;
    }
  }

  void grow(std::size_t atLeast) {
    std::size_t size = 16;
    while (size < atLeast) size *= 2;
    auto table = std::make_unique<Table>(size);
    std::size_t used = 0;
    if (const Table* old = table_.load(std::memory_order_relaxed)) {
      for (std::size_t i = 0; i <= old->mask; ++i) {
        Value* value = old->slots[i].value.load(std::memory_order_relaxed);
        if (value != nullptr) used += place(*table, old->slots[i].key.load(std::memory_order_relaxed), value);
      }
    }
    used_ = used;
    table_.store(table.get(), std::memory_order_release);
    tables_.push_back(std::move(table));
  }

  std::atomic<Table*> table_{nullptr};
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<Table>> tables_;
};

}  // namespace rouse::cudart
