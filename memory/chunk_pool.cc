#include "memory/chunk_pool.h"

#include <algorithm>
#include <cassert>

namespace rouse::memory {

Result<ChunkPool> ChunkPool::create(std::span<const Chunk> chunks) {
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].id != i)
      return Error{CudaError::invalidValue,
                   "chunk " + std::to_string(i) + " has id " + std::to_string(chunks[i].id) + ": ids count from 0"};
    if (chunks[i].bytes != kGranuleBytes)
      return Error{CudaError::notSupported, "chunk " + std::to_string(i) + " has " + std::to_string(chunks[i].bytes) +
                                                " bytes: only chunks of " + std::to_string(kGranuleBytes) +
                                                " are handled"};
  }
  if (chunks.size() > std::uint32_t(-1)) return Error{CudaError::invalidValue, "more than 4294967295 chunks"};
  return ChunkPool(static_cast<std::uint32_t>(chunks.size()));
}

ChunkPool::ChunkPool(std::uint32_t count) : chunkCount_(count), clean_(count), cleanFor_(count), dirty_(count), owners_(count) {}

Status ChunkPool::enroll(OwnerId owner, Tenure tenure) {
  Account& account = accounts_[owner];
  if (account.tenure == tenure) return {};
  account.tenure = tenure;
  findLargestVisitor();
  if (tenure == Tenure::visits) {
    stayingBytes_ -= account.reserved;
    findLargestVisitor();
    return {};
  }
  if (account.reserved > reservableBytes()) {
    account.tenure = Tenure::visits;
    const std::uint64_t room = reservableBytes();
    findLargestVisitor();
    return Error{CudaError::memoryAllocation, "keep " + std::to_string(account.reserved) + " bytes on the device: " +
                                                  std::to_string(room) + " can be kept of its " +
                                                  std::to_string(capacityBytes())};
  }
  stayingBytes_ += account.reserved;
  return {};
}

void ChunkPool::findLargestVisitor() {
  largestVisitor_ = 0;
  for (const auto& [owner, account] : accounts_)
    if (account.tenure == Tenure::visits) largestVisitor_ = std::max(largestVisitor_, account.reserved);
}

std::uint64_t ChunkPool::reservableBytes(OwnerId owner) const {
  const auto account = accounts_.find(owner);
  if (account == accounts_.end() || account->second.tenure == Tenure::stays) return reservableBytes();
  return capacityBytes() - stayingBytes_ - account->second.reserved;
}

Status ChunkPool::reserve(OwnerId owner, std::uint64_t bytes) {
  Account& account = accounts_[owner];
  const std::uint64_t room = reservableBytes(owner);
  if (bytes > room)
    return Error{CudaError::memoryAllocation, "reserve " + std::to_string(bytes) + " bytes: " + std::to_string(room) +
                                                  " free of the device's " + std::to_string(capacityBytes())};
  account.reserved += bytes;
  if (account.tenure == Tenure::stays)
    stayingBytes_ += bytes;
  else
    largestVisitor_ = std::max(largestVisitor_, account.reserved);
  return {};
}

void ChunkPool::giveBack(OwnerId owner, std::uint64_t bytes) {
  Account& account = accounts_[owner];
  assert(bytes <= account.reserved - account.taken);
  account.reserved -= bytes;
  if (account.tenure == Tenure::stays)
    stayingBytes_ -= bytes;
  else
    findLargestVisitor();
}

std::size_t ChunkPool::take(OwnerId owner, std::size_t count, std::vector<Chunk>& to, Content content) {
  Account& account = accounts_[owner];
  assert(count * kGranuleBytes <= account.reserved - account.taken && account.restingSince == 0);
  const std::size_t first = to.size();
  count = std::min(count, freeChunks());
  // Dirty ones first where it does not matter: each saves a scrub.
  if (content == Content::any) dirty_.take(std::min(count, dirty_.size()), to);
  takeClean(owner, std::min(count - (to.size() - first), cleanChunks()), to);
  std::sort(to.begin() + static_cast<std::ptrdiff_t>(first), to.end(),
            [](const Chunk& a, const Chunk& b) { return a.id < b.id; });
  for (std::size_t i = first; i < to.size(); ++i) owners_[to[i].id] = 1;
  account.taken += (to.size() - first) * kGranuleBytes;
  presentCount_ += to.size() - first;
  return to.size() - first;
}

void ChunkPool::takeFirst(OwnerId owner, std::size_t count, std::vector<Chunk>& to) {
  Account& account = accounts_[owner];
  assert(count * kGranuleBytes <= account.reserved - account.taken && account.restingSince == 0 && presentCount_ == 0);
  clean_.takeFirst(owner, static_cast<std::uint32_t>(count));
  for (std::uint32_t id = 0; id != count; ++id) {
    cleanFor_[id] = owner;
    owners_[id] = 1;
    to.push_back(Chunk{id, kGranuleBytes});
  }
  account.taken += count * kGranuleBytes;
  presentCount_ += count;
}

void ChunkPool::share(OwnerId owner, Chunk chunk) {
  Account& account = accounts_[owner];
  assert(account.taken <= account.reserved && owners_[chunk.id] != 0);
  account.taken += kGranuleBytes;
  ++(account.restingSince == 0 ? presentCount_ : restingCount_);
  ++owners_[chunk.id];
}

void ChunkPool::takeClean(OwnerId owner, std::size_t count, std::vector<Chunk>& to) {
  extents_.clear();
  [[maybe_unused]] const bool taken = clean_.allocate(owner, static_cast<std::uint32_t>(count), extents_);
  assert(taken);
  for (const Extent& extent : extents_) {
    for (std::uint32_t id = extent.first; id != extent.first + extent.count; ++id) {
      cleanFor_[id] = owner;
      to.push_back(Chunk{id, kGranuleBytes});
    }
  }
}

void ChunkPool::put(OwnerId owner, Chunk chunk) {
  Account& account = accounts_[owner];
  assert(account.taken >= chunk.bytes);
  account.taken -= chunk.bytes;
  assert(owners_[chunk.id] != 0);
  if (--owners_[chunk.id] == 0) dirty_.put(chunk.id);
  --(account.restingSince == 0 ? presentCount_ : restingCount_);
  if (account.restingSince != 0 && account.taken == 0) wake(owner);
}

void ChunkPool::rest(OwnerId owner) {
  Account& account = accounts_[owner];
  assert(account.restingSince == 0);
  if (account.taken == 0) return;
  account.restingSince = ++rests_;
  resting_.emplace(account.restingSince, owner);
  restingCount_ += account.taken / kGranuleBytes;
  presentCount_ -= account.taken / kGranuleBytes;
}

void ChunkPool::wake(OwnerId owner) {
  const auto account = accounts_.find(owner);
  if (account == accounts_.end() || account->second.restingSince == 0) return;
  resting_.erase(account->second.restingSince);
  account->second.restingSince = 0;
  restingCount_ -= account->second.taken / kGranuleBytes;
  presentCount_ += account->second.taken / kGranuleBytes;
}

std::uint64_t ChunkPool::restingSince(OwnerId owner) const {
  const auto account = accounts_.find(owner);
  return account == accounts_.end() ? 0 : account->second.restingSince;
}

std::optional<OwnerId> ChunkPool::longestResting(std::uint64_t after) const {
  const auto next = resting_.upper_bound(after);
  if (next == resting_.end()) return std::nullopt;
  return next->second;
}

std::optional<Chunk> ChunkPool::beginScrub() {
  if (dirty_.empty()) return std::nullopt;
  return Chunk{dirty_.takeOne(), kGranuleBytes};
}

void ChunkPool::scrubbed(Chunk chunk) {
  [[maybe_unused]] const Status freed = clean_.free(cleanFor_[chunk.id], {chunk.id, 1});
  assert(freed.ok());
}

void ChunkPool::release(OwnerId owner) {
  const auto account = accounts_.find(owner);
  if (account == accounts_.end()) return;
  assert(account->second.taken == 0);
  if (account->second.tenure == Tenure::stays) stayingBytes_ -= account->second.reserved;
  accounts_.erase(account);
  findLargestVisitor();
}

std::uint64_t ChunkPool::reservedBytes(OwnerId owner) const {
  const auto account = accounts_.find(owner);
  return account == accounts_.end() ? 0 : account->second.reserved;
}

std::uint64_t ChunkPool::takenBytes(OwnerId owner) const {
  const auto account = accounts_.find(owner);
  return account == accounts_.end() ? 0 : account->second.taken;
}

}  // namespace rouse::memory
