#include "memory/placement.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <string>

namespace rouse::memory {
namespace {

constexpr std::uint32_t kAll = ~std::uint32_t{0};
constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

constexpr std::uint32_t lowBits(std::uint32_t count) { return count >= 32 ? kAll : (std::uint32_t{1} << count) - 1; }
std::uint32_t floorLog2(std::uint32_t value) { return static_cast<std::uint32_t>(std::bit_width(value)) - 1; }

// Bit p: bits p … p + count - 1 are set.
std::uint32_t runsOf(std::uint32_t bits, std::uint32_t count) {
  std::uint32_t have = 1;
  while (have < count) {
    const std::uint32_t step = std::min(have, count - have);
    bits &= bits >> step;
    have += step;
  }
  return bits;
}

std::uint8_t longestRun(std::uint32_t bits) {
  std::uint8_t length = 0;
  for (; bits != 0; bits &= bits >> 1) ++length;
  return length;
}

void joinNeighbours(std::vector<Extent>& extents, std::size_t from) {
  if (extents.size() - from < 2) return;
  std::size_t last = from;
  for (std::size_t i = from + 1; i < extents.size(); ++i) {
    if (extents[last].first + extents[last].count == extents[i].first) {
      extents[last].count += extents[i].count;
    } else {
      extents[++last] = extents[i];
    }
  }
  extents.resize(last + 1);
}

}  // namespace

// The first `taken` are not free.
Placement::Placement(std::uint32_t granules, std::uint32_t taken)
    : granules_(granules),
      free_(granules - taken),
      ownerOf_(granules),
      bits_((granules + kLargeBlock - 1) / kLargeBlock),
      longest_(bits_.size()),
      accounts_(1) {
  holes_.fill(BitTree(bits_.size()));
  const std::uint32_t whole = granules / kLargeBlock;
  for (std::uint32_t order = 0; order == 0 || whole >> order != 0; ++order)
    orders_.emplace_back((whole >> order) + 2);  // a buddy may lie behind the end
  for (std::uint32_t block = taken / kLargeBlock; block < bits_.size(); ++block) {
    const std::uint32_t there = block < whole ? kAll : lowBits(granules % kLargeBlock);
    setFree(block, block == taken / kLargeBlock ? there & ~lowBits(taken % kLargeBlock) : there);
  }
}

void Placement::takeFirst(OwnerId owner, std::uint32_t count) {
  assert(free_ == granules_ && count <= granules_);
  if (count == 0) return;
  *this = Placement(granules_, count);
  const std::uint32_t handle = owners_.findOrAdd(owner);
  if (handle >= accounts_.size()) accounts_.resize(handle + 1);
  accounts_[handle].recent.fill(kNoBlock);
  accounts_[handle].granules = count;
  std::fill_n(ownerOf_.begin(), count, handle);
}

bool Placement::allocate(OwnerId owner, std::uint32_t count, std::vector<Extent>& out) {
  if (count > free_) return false;
  if (count == 0) return true;
  const std::uint32_t handle = owners_.findOrAdd(owner);
  if (handle >= accounts_.size()) accounts_.resize(handle + 1);
  if (accounts_[handle].granules == 0) accounts_[handle].recent.fill(kNoBlock);
  const bool growing = accounts_[handle].granules != 0;
  accounts_[handle].granules += count;

  const std::size_t before = out.size();
  const std::uint32_t partly = free_ - freeLarge_ * kLargeBlock, bound = (free_ - count) / kPackShare;
  if (count >= kLargeBlock && partly > bound) {
    const std::uint32_t packed = std::min(count, partly - bound);
    takeFromHoles(handle, packed, growing, out);
    count -= packed;
  }
  const std::uint32_t blocks = std::min(count / kLargeBlock, freeLarge_);
  std::uint32_t rest = count - blocks * kLargeBlock;
  if (rest != 0 && rest < kLargeBlock && takeBesideOwn(handle, rest, out)) rest = 0;
  const bool open = rest != 0 && rest < kLargeBlock && blocks < freeLarge_ && mayOpenBlock(blocks * kLargeBlock, rest);
  if (blocks != 0 || open) takeBlocks(handle, blocks, open ? rest : 0, out);
  if (rest != 0 && !open) takeFromHoles(handle, rest, growing, out);
  joinNeighbours(out, before);
  return true;
}

bool Placement::mayOpenBlock(std::uint32_t count, std::uint32_t rest) const {
  const std::uint64_t partly = free_ - freeLarge_ * kLargeBlock + (kLargeBlock - rest);
  return partly * kPartlyUsedShare <= free_ - count - rest;
}

void Placement::takeBlocks(std::uint32_t handle, std::uint32_t blocks, std::uint32_t rest, std::vector<Extent>& out) {
  for (std::uint32_t left = blocks + (rest != 0); left != 0;) {
    const Extent cut = cutBlocks(left);
    left -= cut.count;
    for (std::uint32_t block = cut.first; block < cut.first + cut.count; ++block) bits_[block] = 0, longest_[block] = 0;
    const bool partly = left == 0 && rest != 0;
    const std::uint32_t last = cut.first + cut.count - 1;
    give(handle, {cut.first * kLargeBlock, cut.count * kLargeBlock - (partly ? kLargeBlock - rest : 0)}, out);
    if (partly) {
      setFree(last, kAll << rest);
      remember(handle, last);
    }
  }
}

bool Placement::takeBesideOwn(std::uint32_t handle, std::uint32_t count, std::vector<Extent>& out) {
  for (const std::uint32_t block : accounts_[handle].recent) {
    if (block == kNoBlock || longest_[block] < count || longest_[block] == kLargeBlock || !hasPart(handle, block)) continue;
    takeFromBlock(handle, block, count, out);
    return true;
  }
  return false;
}

void Placement::takeFromHoles(std::uint32_t handle, std::uint32_t count, bool growing, std::vector<Extent>& out) {
  while (count != 0) {
    const std::uint32_t fitting = count < kLargeBlock ? holeSizes_ >> count << count : 0;
    if (holeSizes_ == 0 || (fitting == 0 && free_ - freeLarge_ * kLargeBlock < count && freeLarge_ != 0))
      return takeBlocks(handle, 0, count, out);  // at most a block is missing: whole ones were taken before
    const auto best = static_cast<std::uint32_t>(std::countr_zero(fitting));
    const bool bestFits = fitting != 0 && (best == count || !growing);
    const std::uint32_t size = bestFits ? best : floorLog2(holeSizes_);
    const std::uint32_t taken = std::min(size, count);
    takeFromBlock(handle, static_cast<std::uint32_t>(holes_[size].first()), taken, out);
    count -= taken;
  }
}

void Placement::takeFromBlock(std::uint32_t handle, std::uint32_t block, std::uint32_t count, std::vector<Extent>& out) {
  const std::uint32_t bits = bits_[block], fitting = runsOf(bits, count);
  const std::uint32_t exact = fitting & ~(bits << 1) & (count < 32 ? ~(bits >> count) : kAll);
  const auto at = static_cast<std::uint32_t>(std::countr_zero(exact != 0 ? exact : fitting));
  setFree(block, bits & ~(lowBits(count) << at));
  give(handle, {block * kLargeBlock + at, count}, out);
  remember(handle, block);
}

bool Placement::hasPart(std::uint32_t handle, std::uint32_t block) const {
  const auto from = ownerOf_.begin() + block * kLargeBlock;
  const auto to = ownerOf_.begin() + std::min<std::ptrdiff_t>((block + 1) * kLargeBlock, granules_);
  return std::find(from, to, handle) != to;
}

void Placement::remember(std::uint32_t handle, std::uint32_t block) {
  auto& recent = accounts_[handle].recent;
  if (recent[0] == block) return;
  recent[1] = recent[0];
  recent[0] = block;
}

void Placement::give(std::uint32_t handle, Extent extent, std::vector<Extent>& out) {
  std::fill_n(ownerOf_.begin() + extent.first, extent.count, handle);
  free_ -= extent.count;
  out.push_back(extent);
}

// Neither free_ nor the owner is changed here.
void Placement::setFree(std::uint32_t block, std::uint32_t bits) {
  if (const std::uint8_t before = longest_[block]; before != 0) {
    assert(before < kLargeBlock);
    holes_[before].clear(block);
    if (holes_[before].empty()) holeSizes_ &= ~(std::uint32_t{1} << before);
  }
  bits_[block] = bits;
  longest_[block] = longestRun(bits);
  if (bits == kAll) return insertBlock(block);
  if (bits == 0) return;
  holes_[longest_[block]].set(block);
  holeSizes_ |= std::uint32_t{1} << longest_[block];
}

Status Placement::free(OwnerId owner, Extent extent) {
  const auto refused = [&](const std::string& why) {
    return Error{CudaError::invalidValue, "free of " + std::to_string(extent.count) + " granules from " +
                                              std::to_string(extent.first) + " by owner " + std::to_string(owner) + ": " + why};
  };
  if (extent.first > granules_ || extent.count > granules_ - extent.first)
    return refused("the device has " + std::to_string(granules_));
  if (extent.count == 0) return {};
  const std::uint32_t handle = owners_.find(owner);
  const auto from = ownerOf_.begin() + extent.first, to = from + extent.count;
  const auto wrong = handle == 0 ? from : std::find_if(from, to, [&](std::uint32_t of) { return of != handle; });
  if (handle == 0 || wrong != to)
    return refused("granule " + std::to_string(wrong - ownerOf_.begin()) + (*wrong == 0 ? " is free" : " belongs to another"));
  release(extent);
  if ((accounts_[handle].granules -= extent.count) == 0) owners_.remove(owner);
  return {};
}

std::uint32_t Placement::freeAll(OwnerId owner) {
  const std::uint32_t handle = owners_.find(owner);
  if (handle == 0) return 0;
  const std::uint32_t count = accounts_[handle].granules;
  for (std::uint32_t at = 0, left = count; left != 0;) {
    while (ownerOf_[at] != handle) ++at;
    std::uint32_t end = at;
    while (end < granules_ && ownerOf_[end] == handle) ++end;
    release({at, end - at});
    left -= end - at;
    at = end;
  }
  accounts_[handle].granules = 0;
  owners_.remove(owner);
  return count;
}

void Placement::release(Extent extent) {
  std::fill_n(ownerOf_.begin() + extent.first, extent.count, 0u);
  free_ += extent.count;
  for (std::uint32_t at = extent.first, end = extent.first + extent.count; at != end;) {
    const std::uint32_t block = at / kLargeBlock, within = at % kLargeBlock;
    const std::uint32_t count = std::min(kLargeBlock - within, end - at);
    setFree(block, bits_[block] | lowBits(count) << within);
    at += count;
  }
}

std::uint32_t Placement::ownedBy(OwnerId owner) const {
  const std::uint32_t handle = owners_.find(owner);
  return handle == 0 ? 0 : accounts_[handle].granules;
}

void Placement::insertBlock(std::uint32_t block) {
  ++freeLarge_;
  std::uint32_t order = 0;
  for (; order + 1 < orders_.size(); ++order) {
    const std::uint32_t buddy = block ^ (1u << order);
    if (!orders_[order].test(buddy >> order)) break;
    eraseOrder(buddy, order);
    block &= ~(1u << order);
  }
  insertOrder(block, order);
}

void Placement::insertOrder(std::uint32_t block, std::uint32_t order) {
  orders_[order].set(block >> order);
  orderSizes_ |= 1u << order;
}

void Placement::eraseOrder(std::uint32_t block, std::uint32_t order) {
  orders_[order].clear(block >> order);
  if (orders_[order].empty()) orderSizes_ &= ~(1u << order);
}

// Takes up to `wanted` consecutive free large blocks out of the buddy system: all of them if one run of it has so many,
// else the longest run. There is at least one.
Extent Placement::cutBlocks(std::uint32_t wanted) {
  const std::uint32_t fit = floorLog2(wanted) + !std::has_single_bit(wanted);
  const std::uint32_t fitting = fit < 32 ? orderSizes_ >> fit << fit : 0;
  const std::uint32_t order =
      fitting != 0 ? static_cast<std::uint32_t>(std::countr_zero(fitting)) : floorLog2(orderSizes_);
  const auto first = static_cast<std::uint32_t>(orders_[order].first()) << order;
  eraseOrder(first, order);
  const std::uint32_t taken = std::min(wanted, 1u << order), end = first + (1u << order);
  for (std::uint32_t at = first + taken; at != end;) {  // what is left, in aligned pieces
    const std::uint32_t piece = std::min(static_cast<std::uint32_t>(std::countr_zero(at)), floorLog2(end - at));
    insertOrder(at, piece);
    at += 1u << piece;
  }
  freeLarge_ -= taken;
  return {first, taken};
}

std::uint32_t Placement::largestFreeBlock() const {
  const auto blocks = freeBlocks();
  for (std::uint32_t order = kOrders; order-- > 0;)
    if (blocks[order] != 0) return 1u << order;
  return 0;
}

std::array<std::uint32_t, Placement::kOrders> Placement::freeBlocks() const {
  constexpr std::uint32_t kLargeOrder = std::countr_zero(kLargeBlock);
  std::array<std::uint32_t, kOrders> count{};
  for (std::uint32_t order = 0; order < orders_.size(); ++order)
    for (auto at = orders_[order].next(0); at; at = orders_[order].next(*at + 1)) ++count[order + kLargeOrder];
  for (const std::uint32_t bits : bits_) {
    if (bits == kAll) continue;
    for (std::uint32_t at = 0; at < kLargeBlock;) {
      std::uint32_t order = at == 0 ? kLargeOrder - 1 : static_cast<std::uint32_t>(std::countr_zero(at));
      while (order > 0 && (bits >> at & lowBits(1u << order)) != lowBits(1u << order)) --order;
      count[order] += bits >> at & 1;
      at += 1u << order;
    }
  }
  return count;
}

double Placement::fragmentation() const {
  return free_ == 0 ? 0 : static_cast<double>(free_ - freeLarge_ * kLargeBlock) / free_;
}

}  // namespace rouse::memory
