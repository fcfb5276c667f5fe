#include "server/device/cuda/bounce.h"

namespace rouse::cuda {
namespace {

constexpr std::uint64_t kSmallBlocks = 1024, kLargeBlocks = 32;

}  // namespace

Result<std::unique_ptr<Bounce>> Bounce::create(std::shared_ptr<Gpu> gpu) {
  auto memory =
      PinnedMemory::create(std::move(gpu), kSmallBlocks * kSmall + kLargeBlocks * kLarge, "buffers for inline copies");
  if (!memory) return std::move(memory).error();
  return std::unique_ptr<Bounce>(new Bounce(std::move(*memory)));
}

Bounce::Bounce(std::unique_ptr<PinnedMemory> memory)
    : memory_(std::move(memory)), firstLarge_(memory_->data() + kSmallBlocks * kSmall) {
  for (std::uint64_t i = 0; i < kSmallBlocks; ++i) small_.push_back(memory_->data() + i * kSmall);
  for (std::uint64_t i = 0; i < kLargeBlocks; ++i) large_.push_back(firstLarge_ + i * kLarge);
}

std::byte* Bounce::take(std::size_t bytes) {
  std::vector<std::byte*>& free = bytes <= kSmall && !small_.empty() ? small_ : large_;
  if (free.empty()) return nullptr;
  std::byte* block = free.back();
  free.pop_back();
  return block;
}

void Bounce::give(std::byte* block) { (block < firstLarge_ ? small_ : large_).push_back(block); }

}  // namespace rouse::cuda
