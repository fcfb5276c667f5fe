// Stacks for fibers: memory with a guard region below, kept for the next block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rouse::cpu {

inline constexpr std::size_t kMinStackBytes = std::size_t{64} << 10;
inline constexpr std::size_t kMaxStackBytes = std::size_t{64} << 20;
inline constexpr std::size_t kStackGuardBytes = 4096;

struct Stack {
  std::byte* base = nullptr;  // lowest usable byte; kStackGuardBytes below it fault
  std::size_t bytes = 0;

  std::byte* top() const { return base + bytes; }
  bool guards(std::uint64_t address) const {
    const auto low = reinterpret_cast<std::uint64_t>(base) - kStackGuardBytes;
    return address - low < kStackGuardBytes;
  }
};

// Belongs to one worker: not thread-safe. Sizes are powers of two.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  ~StackPool();

  // The smallest size class that holds `needed`; 0 when none does.
  static std::size_t classFor(std::size_t needed);

  // A null base when the system gives no more memory or mappings.
  Stack take(std::size_t bytes);
  void give(Stack);

 private:
  struct Slab {
    void* base;
    std::size_t bytes;
  };
  bool grow(std::size_t bytes);

  std::vector<Stack> free_[16];  // by log2(bytes / kMinStackBytes)
  std::vector<Slab> slabs_;
};

}  // namespace rouse::cpu
