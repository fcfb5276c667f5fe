#include "server/executor/physical_memory.h"

#include <algorithm>
#include <cstdlib>

namespace rouse::executor {

Result<PhysicalMemory> PhysicalMemory::create(memory::Device& device) {
  Result<memory::ChunkPool> pool = memory::ChunkPool::create(device.chunks());
  if (!pool) return std::move(pool).error();
  return PhysicalMemory(device, std::move(*pool));
}

Status PhysicalMemory::enroll(memory::OwnerId owner, memory::Tenure tenure) {
  ++version_;
  return pool_.enroll(owner, promisedElsewhere_ ? memory::Tenure::visits : tenure);
}

Status PhysicalMemory::reserve(memory::OwnerId owner, std::uint64_t bytes) {
  ++version_;
  return pool_.reserve(owner, bytes);
}

void PhysicalMemory::giveBack(memory::OwnerId owner, std::uint64_t bytes) {
  ++version_;
  pool_.giveBack(owner, bytes);
}

Result<std::vector<memory::Chunk>> PhysicalMemory::take(memory::OwnerId owner, std::size_t count) {
  std::vector<memory::Chunk> chunks;
  if (pool_.take(owner, count, chunks) == 0 && pool_.freeChunks() != 0) {
    while (pool_.dirtyChunks() == 0 && clearAway(1)) {
    }
    if (Result<bool> scrubbed = scrubOne(); !scrubbed) return std::move(scrubbed).error();
    pool_.take(owner, 1, chunks);
  }
  return chunks;
}

void PhysicalMemory::takeAny(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to) {
  while (pool_.unusedChunks() < count && clearAway(count - pool_.unusedChunks())) {
  }
  pool_.take(owner, count, to, memory::Content::any);
}

Status PhysicalMemory::withdraw(memory::OwnerId owner, std::size_t count, std::vector<memory::Chunk>& to) {
  const std::size_t before = to.size();
  takeAny(owner, count, to);
  return device_->withdraw(std::span(to).subspan(before));
}

Result<std::size_t> PhysicalMemory::supply(memory::OwnerId owner, std::span<const memory::Chunk> chunks) {
  auto supplied = device_->supply(chunks);
  if (supplied)
    for (const memory::Chunk& chunk : chunks.first(*supplied)) put(owner, chunk);
  return supplied;
}

void PhysicalMemory::handOver(memory::OwnerId from, memory::OwnerId to, memory::Chunk chunk) {
  pool_.share(to, chunk);
  pool_.put(from, chunk);
}

void PhysicalMemory::rest(memory::OwnerId owner, RestingOwner& guest) {
  resting_[owner] = &guest;
  pool_.rest(owner);
}

void PhysicalMemory::wake(memory::OwnerId owner) {
  resting_.erase(owner);
  pool_.wake(owner);
}

bool PhysicalMemory::clearAway(std::size_t count) {
  const std::size_t before = pool_.unusedChunks();
  struct Round {
    bool again, beyondOffers;
  };
  for (const auto [again, beyondOffers] : {Round{false, false}, Round{true, false}, Round{true, true}}) {
    for (std::uint64_t since = 0;;) {
      const auto owner = pool_.longestResting(since);
      if (!owner) break;
      since = pool_.restingSince(*owner);
      RestingOwner& guest = *resting_.at(*owner);
      const auto most = static_cast<std::size_t>(beyondOffers ? count : std::min<std::uint64_t>(count, guest.offered()));
      if (most == 0) continue;
      if (again) guest.reconsider();
      if (!guest.giveUp(most)) {
        wake(*owner);  // its session ends with that error, and then the chunks are free
        return true;
      }
      if (pool_.unusedChunks() != before) return true;
    }
  }
  return false;
}

void PhysicalMemory::put(memory::OwnerId owner, memory::Chunk chunk) {
  if (contents_.leave(chunk.id, owner) == 1) {
    const memory::ChunkContents::Holder last = contents_.holders(chunk.id).front();
    holders_.at(last.owner)->own(last.address);
  }
  pool_.put(owner, chunk);
}

void PhysicalMemory::surrender(memory::OwnerId owner, memory::Chunk chunk) {
  contents_.leave(chunk.id, owner);
  pool_.put(owner, chunk);
  for (std::vector<memory::ChunkContents::Holder> others(contents_.holders(chunk.id).begin(), contents_.holders(chunk.id).end());
       const memory::ChunkContents::Holder& other : others)
    if (!resting_.at(other.owner)->lose(other.address)) wake(other.owner);
}

bool PhysicalMemory::kept(memory::OwnerId owner, memory::Chunk chunk) const {
  const auto holders = contents_.holders(chunk.id);
  if (holders.size() < 2) return false;
  const std::uint64_t since = pool_.restingSince(owner);
  return std::ranges::any_of(holders, [&](const memory::ChunkContents::Holder& other) {
    const std::uint64_t others = pool_.restingSince(other.owner);
    return other.owner != owner && (others == 0 || others > since);
  });
}

std::uint32_t PhysicalMemory::unusedOf(std::uint32_t block) const {
  const std::uint32_t first = block * memory::Placement::kLargeBlock, end = std::min(first + memory::Placement::kLargeBlock, static_cast<std::uint32_t>(device_->chunks().size()));
  std::uint32_t unused = 0;
  for (std::uint32_t id = first; id < end; ++id) unused += pool_.owners({id, kGranuleBytes}) == 0;
  return unused;
}

void PhysicalMemory::name(memory::OwnerId owner, std::uint64_t address, memory::Chunk chunk, memory::ContentId content) {
  if (holders_.contains(owner)) contents_.name(chunk.id, {owner, address}, content);
}

std::optional<memory::Chunk> PhysicalMemory::join(memory::OwnerId owner, std::uint64_t address, memory::ContentId content) {
  const auto named = contents_.find(content);
  for (const std::uint32_t id : std::vector<std::uint32_t>(named.begin(), named.end())) {
    if (contents_.holds(id, owner)) continue;
    const memory::Chunk chunk{id, kGranuleBytes};
    if (const auto holders = contents_.holders(id); holders.size() == 1) {
      ChunkHolder& holder = *holders_.at(holders.front().owner);
      if (holder.coming(holders.front().address)) continue;
      if (!holder.letJoin(holders.front().address, chunk)) {
        contents_.unname(id);
        continue;
      }
    }
    contents_.share(id, {owner, address});
    pool_.share(owner, chunk);
    return chunk;
  }
  return std::nullopt;
}

PhysicalMemory::Elsewhere PhysicalMemory::elsewhere(memory::OwnerId owner, memory::ContentId content) const {
  auto found = Elsewhere::nowhere;
  for (const std::uint32_t id : contents_.find(content)) {
    const auto holders = contents_.holders(id);
    if (contents_.holds(id, owner)) continue;
    if (holders.size() != 1 || !holders_.at(holders.front().owner)->coming(holders.front().address)) return Elsewhere::there;
    found = Elsewhere::coming;
  }
  return found;
}

std::optional<memory::Chunk> PhysicalMemory::exchange(memory::OwnerId owner, memory::Chunk chunk) {
  if (pool_.presentChunks() * kGranuleBytes > pool_.capacityBytes()) return std::nullopt;  // until somebody who failed has ended
  if (pool_.owners(chunk) == 1) {
    contents_.unname(chunk.id);  // nobody else's any more, and to be overwritten as well as any
    return chunk;
  }
  const auto holders = contents_.holders(chunk.id);
  const memory::ChunkContents::Holder holder = *std::ranges::find(holders, owner, &memory::ChunkContents::Holder::owner);
  const bool lastOther = contents_.leave(chunk.id, owner) == 1;
  pool_.put(owner, chunk);
  // One is free by count now: nobody has it, or those who have it rest, if only because this owner had it as well.
  while (pool_.unusedChunks() == 0 && clearAway(1)) {
  }
  std::vector<memory::Chunk> other;
  if (pool_.take(owner, 1, other, memory::Content::any) == 0) {  // somebody who rests has failed, and is to end
    contents_.share(chunk.id, holder);
    pool_.share(owner, chunk);
    return std::nullopt;
  }
  if (const auto left = contents_.holders(chunk.id); lastOther && !left.empty()) holders_.at(left.front().owner)->own(left.front().address);
  return other.front();
}

std::uint64_t PhysicalMemory::heldBytes() const {
  std::uint64_t chunks = pool_.presentChunks();
  for (const std::uint32_t id : contents_.shared()) {
    const auto present = std::ranges::count_if(contents_.holders(id), [this](const auto& each) { return pool_.restingSince(each.owner) == 0; });
    if (present > 1) chunks -= static_cast<std::uint64_t>(present) - 1;
  }
  return chunks * kGranuleBytes;
}

void PhysicalMemory::release(memory::OwnerId owner) {
  ++version_;
  holders_.erase(owner);
  pool_.release(owner);
}

Result<bool> PhysicalMemory::scrubOne() {
  const auto chunk = pool_.beginScrub();
  if (!chunk) return false;
  if (Status status = device_->scrub(*chunk); !status) return status.error();
  pool_.scrubbed(*chunk);
  return true;
}

}  // namespace rouse::executor
