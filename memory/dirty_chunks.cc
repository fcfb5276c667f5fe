#include "memory/dirty_chunks.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace rouse::memory {
namespace {

// The bits at which aligned runs of 2^order set bits begin, from those of the order below.
std::uint32_t joined(std::uint32_t runs, unsigned order) {
  constexpr std::array<std::uint32_t, 6> kAligned{0xffffffff, 0x55555555, 0x11111111, 0x01010101, 0x00010001, 0x00000001};
  return order == 0 ? runs : runs & runs >> (1u << (order - 1)) & kAligned[order];
}

// visit(order, where runs of it begin that are no half of a longer one), for each order that has any.
template <class Visit>
void forEachOrder(std::uint32_t chunks, Visit&& visit) {
  std::uint32_t runs = chunks;
  for (unsigned order = 0; runs != 0; ++order) {
    const std::uint32_t longer = order == 5 ? 0 : joined(runs, order + 1);
    if (const std::uint32_t only = order == 5 ? runs : runs & ~(longer | longer << (1u << order)); only != 0) visit(order, only);
    runs = longer;
  }
}

std::uint32_t maskOf(unsigned order) { return order == 5 ? ~std::uint32_t{0} : (1u << (1u << order)) - 1; }

}  // namespace

DirtyChunks::DirtyChunks(std::uint32_t chunks) : blocks_((chunks + Placement::kLargeBlock - 1) / Placement::kLargeBlock) {
  withRun_.fill(BitTree(blocks_.size()));
}

void DirtyChunks::setBlock(std::size_t block, std::uint32_t chunks) {
  unsigned before = 0, after = 0;  // a bit for each order
  forEachOrder(blocks_[block], [&](unsigned order, std::uint32_t) { before |= 1u << order; });
  forEachOrder(chunks, [&](unsigned order, std::uint32_t) { after |= 1u << order; });
  for (unsigned order = 0; order < kOrders; ++order) {
    if ((before & ~after) >> order & 1) withRun_[order].clear(block);
    if ((after & ~before) >> order & 1) withRun_[order].set(block);
  }
  blocks_[block] = chunks;
}

void DirtyChunks::put(std::uint32_t chunk) {
  const std::size_t block = chunk / Placement::kLargeBlock;
  const std::uint32_t bit = 1u << chunk % Placement::kLargeBlock;
  assert((blocks_[block] & bit) == 0);
  setBlock(block, blocks_[block] | bit);
  ++size_;
}

void DirtyChunks::take(std::size_t count, std::vector<Chunk>& to) {
  assert(count <= size_);
  while (count != 0) {
    const auto wanted = static_cast<unsigned>(std::bit_width(std::min<std::size_t>(count, Placement::kLargeBlock))) - 1;
    std::uint32_t first = 0;
    const std::uint32_t run = 1u << takeRun(wanted, first);
    for (std::uint32_t i = 0; i < run; ++i) to.push_back({first + i, kGranuleBytes});
    count -= run;
  }
}

std::uint32_t DirtyChunks::takeOne() {
  std::uint32_t first = 0;
  takeRun(0, first);
  return first;
}

unsigned DirtyChunks::takeRun(unsigned order, std::uint32_t& first) {
  assert(size_ != 0);
  unsigned from = order;
  while (from < kOrders && withRun_[from].empty()) ++from;
  if (from == kOrders) {
    while (withRun_[order].empty()) --order;
    from = order;
  }
  const std::size_t block = withRun_[from].first();
  std::uint32_t at = 0;
  forEachOrder(blocks_[block], [&](unsigned each, std::uint32_t runs) {
    if (each == from) at = static_cast<std::uint32_t>(std::countr_zero(runs));
  });
  setBlock(block, blocks_[block] & ~(maskOf(order) << at));
  size_ -= std::size_t{1} << order;
  first = static_cast<std::uint32_t>(block) * Placement::kLargeBlock + at;
  return order;
}

}  // namespace rouse::memory
