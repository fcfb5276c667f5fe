// Pinned blocks that the bytes of inline copies wait in until the GPU has read them. Locked, all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/device/cuda/pinned_memory.h"

namespace rouse::cuda {

class Bounce {
 public:
  // Most inline copies are a few words; the largest that a command carries is 32 KiB.
  static constexpr std::uint64_t kSmall = 512, kLarge = std::uint64_t{32} << 10;

  static Result<std::unique_ptr<Bounce>> create(std::shared_ptr<Gpu> gpu);

  // A block for `bytes`, at most kLarge; none: all are in use.
  std::byte* take(std::size_t bytes);
  void give(std::byte* block);

 private:
  explicit Bounce(std::unique_ptr<PinnedMemory> memory);

  std::unique_ptr<PinnedMemory> memory_;
  std::byte* firstLarge_;
  std::vector<std::byte*> small_, large_;
};

}  // namespace rouse::cuda
