// Opaque 64-bit handles of one kind of object, and the objects behind them.
//
//   63..56 kind   55..28 generation   27..0 index
//
// Storage is only ever used for objects of the same kind and never given back, so that a look-up takes no lock and a
// program that uses an object while it destroys it reads stale fields, not foreign memory. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rouse::client {

template <class T, std::uint8_t kKind>
class HandleTable {
 public:
  static constexpr std::uint32_t kMaxObjects = 1u << 20;

  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  ~HandleTable() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  struct Made {
    T* object = nullptr;  // null: kMaxObjects are live
    std::uint64_t handle = 0;
  };
  // An object that nobody else has, as its last owner left it. publish() makes it findable once it is ready.
  Made make() {
    const std::lock_guard lock(mutex_);
    std::uint32_t index = used_;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else if (used_ == kMaxObjects) {
      return {};
    } else {
      auto& chunk = chunks_[index / kChunk];
      if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Entry[kChunk], std::memory_order_release);
      ++used_;
    }
    Entry& entry = *at(index);
    entry.generation = (entry.generation + 1) & kGenerationMask;
    return {&entry.object, (std::uint64_t{kKind} << 56) | (std::uint64_t{entry.generation} << 28) | index};
  }

  void publish(std::uint64_t handle) { at(indexOf(handle))->live.store(handle, std::memory_order_release); }

  // False if it was not live: of several callers one gets true, and then owns the object until it calls recycle().
  bool withdraw(std::uint64_t handle) {
    Entry* entry = findEntry(handle);
    return entry != nullptr && entry->live.compare_exchange_strong(handle, 0, std::memory_order_acq_rel);
  }
  void recycle(std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    free_.push_back(indexOf(handle));
  }

  T* find(std::uint64_t handle) {
    Entry* entry = findEntry(handle);
    return entry != nullptr ? &entry->object : nullptr;
  }

  // Every live object, as of some moment during the call.
  template <class F>
  void forEach(F&& f) {
    std::uint32_t used;
    {
      const std::lock_guard lock(mutex_);
      used = used_;
    }
    for (std::uint32_t index = 0; index < used; ++index) {
      if (at(index)->live.load(std::memory_order_acquire) != 0) f(at(index)->object);
    }
  }

 private:
  static constexpr std::uint32_t kChunk = 256;
  static constexpr std::uint32_t kGenerationMask = (1u << 28) - 1;
  struct Entry {
    std::atomic<std::uint64_t> live{0};  // its handle, or 0
    std::uint32_t generation = 0;
    T object{};
  };

  static std::uint32_t indexOf(std::uint64_t handle) { return static_cast<std::uint32_t>(handle & ((1u << 28) - 1)); }
  Entry* at(std::uint32_t index) { return chunks_[index / kChunk].load(std::memory_order_acquire) + index % kChunk; }
  Entry* findEntry(std::uint64_t handle) {
    const std::uint32_t index = indexOf(handle);
    if (handle >> 56 != kKind || index >= kMaxObjects) return nullptr;
    Entry* chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    Entry& entry = chunk[index % kChunk];
    return entry.live.load(std::memory_order_acquire) == handle ? &entry : nullptr;
  }

  std::array<std::atomic<Entry*>, kMaxObjects / kChunk> chunks_{};
  std::mutex mutex_;
  std::uint32_t used_ = 0;
  std::vector<std::uint32_t> free_;
};

}  // namespace rouse::client
