#include "memory/chunk_pool.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

namespace rouse::memory {
namespace {

std::vector<Chunk> chunks(std::uint32_t count) {
  std::vector<Chunk> result;
  for (std::uint32_t id = 0; id < count; ++id) result.push_back({id, kGranuleBytes});
  return result;
}

std::size_t runs(const std::vector<Chunk>& taken) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) count += i == 0 || taken[i].id != taken[i - 1].id + 1;
  return count;
}

}  // namespace

TEST_CASE("a pool refuses chunks it cannot promise exactly") {
  auto odd = chunks(3);
  odd[1].bytes = 2 * kGranuleBytes;
  REQUIRE(ChunkPool::create(odd).error().message == "chunk 1 has 4194304 bytes: only chunks of 2097152 are handled");
  odd = chunks(3);
  odd[2].id = 5;
  REQUIRE(ChunkPool::create(odd).error().message == "chunk 2 has id 5: ids count from 0");
}

TEST_CASE("promises are exact") {
  ChunkPool pool = ChunkPool::create(chunks(10)).value();
  REQUIRE(pool.reserve(1, 7 * kGranuleBytes).ok());
  const Status refused = pool.reserve(2, 4 * kGranuleBytes);
  REQUIRE(refused.error().code == CudaError::memoryAllocation);
  REQUIRE(refused.error().message == "reserve 8388608 bytes: 6291456 free of the device's 20971520");
  REQUIRE(pool.reserve(2, 3 * kGranuleBytes).ok());
  REQUIRE(pool.reservableBytes() == 0);
  pool.giveBack(1, 2 * kGranuleBytes);
  REQUIRE(pool.reservableBytes() == 2 * kGranuleBytes);
  REQUIRE_FALSE(pool.reserve(3, ~0ull).ok());
}

TEST_CASE("chunks come in long runs") {
  ChunkPool pool = ChunkPool::create(chunks(64)).value();
  REQUIRE(pool.reserve(1, 64 * kGranuleBytes).ok());
  std::vector<Chunk> all;
  REQUIRE(pool.take(1, 64, all) == 64);
  REQUIRE(runs(all) == 1);
  // 0..7 and 20..39 come back: 8, 12 and 8 in blocks of 32. A demand of 8 fits a run exactly and leaves the longest whole.
  for (std::uint32_t id = 0; id < 64; ++id)
    if (id < 8 || (id >= 20 && id < 40)) pool.put(1, {id, kGranuleBytes});
  while (auto chunk = pool.beginScrub()) pool.scrubbed(*chunk);
  std::vector<Chunk> small, large;
  REQUIRE(pool.take(1, 8, small) == 8);
  REQUIRE(runs(small) == 1);
  REQUIRE(pool.take(1, 20, large) == 20);
  REQUIRE(runs(large) <= 2);
  // Two owners that grow by turns are not laid into each other.
  ChunkPool shared = ChunkPool::create(chunks(6400)).value();
  std::vector<Chunk> mine, theirs;
  REQUIRE(shared.reserve(1, 80 * kGranuleBytes).ok());
  REQUIRE(shared.reserve(2, 80 * kGranuleBytes).ok());
  for (int i = 0; i < 20; ++i) {
    REQUIRE(shared.take(1, 4, mine) == 4);
    REQUIRE(shared.take(2, 4, theirs) == 4);
  }
  REQUIRE(runs(mine) <= 6);
  REQUIRE(runs(theirs) <= 6);
}

TEST_CASE("what has been somebody's since before are the first chunks, and they come back like others") {
  for (const std::uint32_t count : {0u, 1u, 31u, 32u, 33u, 64u, 77u, 96u, 97u, 100u}) {
    ChunkPool pool = ChunkPool::create(chunks(100)).value();
    std::vector<Chunk> first, rest;
    REQUIRE(pool.reserve(1, count * kGranuleBytes).ok());
    pool.takeFirst(1, count, first);
    REQUIRE(first.size() == count);
    for (std::uint32_t id = 0; id < count; ++id) REQUIRE(first[id].id == id);
    REQUIRE(pool.cleanChunks() == 100 - count);
    REQUIRE(pool.reserve(2, (100 - count) * kGranuleBytes).ok());
    REQUIRE(pool.take(2, 100 - count, rest) == 100 - count);
    for (std::uint32_t i = 0; i < rest.size(); ++i) REQUIRE(rest[i].id == count + i);
    for (const Chunk& chunk : first) pool.put(1, chunk);
    while (auto chunk = pool.beginScrub()) pool.scrubbed(*chunk);
    pool.giveBack(1, count * kGranuleBytes);
    REQUIRE(pool.reserve(3, count * kGranuleBytes).ok());
    std::vector<Chunk> again;
    REQUIRE(pool.take(3, count, again) == count);
    for (std::uint32_t id = 0; id < count; ++id) REQUIRE(again[id].id == id);
  }
}

TEST_CASE("visitors are promised more than there is, each of them what can be there at once") {
  ChunkPool pool = ChunkPool::create(chunks(10)).value();
  for (OwnerId owner = 1; owner <= 5; ++owner) {
    REQUIRE(pool.enroll(owner, Tenure::visits).ok());
    REQUIRE(pool.reserve(owner, (owner + 1) * kGranuleBytes).ok());
  }
  REQUIRE(pool.reservedBytes() == 6 * kGranuleBytes);
  REQUIRE(pool.reservableBytes(1) == 8 * kGranuleBytes);
  // One that stays leaves the largest visitor its room.
  REQUIRE(pool.reserve(9, 5 * kGranuleBytes).error().message ==
          "reserve 10485760 bytes: 8388608 free of the device's 20971520");
  REQUIRE(pool.reserve(9, 4 * kGranuleBytes).ok());
  REQUIRE(pool.reservableBytes(5) == 0);
  REQUIRE_FALSE(pool.reserve(5, kGranuleBytes).ok());
  REQUIRE(pool.reserve(1, 4 * kGranuleBytes).ok());
  // Nor can a visitor stay that leaves too little.
  REQUIRE(pool.enroll(5, Tenure::stays).error().message ==
          "keep 12582912 bytes on the device: 0 can be kept of its 20971520");
  REQUIRE(pool.reservedBytes() == 10 * kGranuleBytes);
  for (const OwnerId gone : {1, 2, 3, 4}) pool.release(gone);
  REQUIRE(pool.enroll(5, Tenure::stays).ok());
  REQUIRE(pool.reservableBytes() == 0);
  REQUIRE(pool.enroll(5, Tenure::visits).ok());
  REQUIRE(pool.reservedBytes() == 10 * kGranuleBytes);
}

TEST_CASE("who overwrites takes dirty chunks as they are") {
  ChunkPool pool = ChunkPool::create(chunks(6)).value();
  REQUIRE(pool.enroll(1, Tenure::visits).ok());
  REQUIRE(pool.enroll(2, Tenure::visits).ok());
  REQUIRE(pool.reserve(1, 6 * kGranuleBytes).ok());
  REQUIRE(pool.reserve(2, 6 * kGranuleBytes).ok());
  std::vector<Chunk> first, second;
  REQUIRE(pool.take(1, 4, first) == 4);
  pool.put(1, first[3]);
  pool.put(1, first[1]);
  REQUIRE(pool.freeChunks() == 4);
  REQUIRE(pool.take(2, 3, second, Content::any) == 3);
  REQUIRE(second[0].id == 1);
  REQUIRE(second[1].id == 3);
  REQUIRE(pool.dirtyChunks() == 0);
  REQUIRE(pool.take(2, 3, second, Content::any) == 1);
  REQUIRE(pool.freeChunks() == 0);
}

TEST_CASE("what rests is free, is had last, and is its owner's again if it is there") {
  ChunkPool pool = ChunkPool::create(chunks(10)).value();
  std::vector<Chunk> held[3];
  for (const OwnerId owner : {1, 2}) {
    REQUIRE(pool.enroll(owner, Tenure::visits).ok());
    REQUIRE(pool.reserve(owner, 10 * kGranuleBytes).ok());
    REQUIRE(pool.take(owner, 3, held[owner]) == 3);
    pool.rest(owner);
  }
  REQUIRE(pool.freeChunks() == 10);
  REQUIRE(pool.unusedChunks() == 4);
  REQUIRE(pool.restingChunks() == 6);
  REQUIRE(pool.longestResting() == OwnerId{1});
  REQUIRE(pool.takenBytes(1) == 3 * kGranuleBytes);
  REQUIRE_FALSE(pool.beginScrub());  // nobody may look into them
  // All others first.
  std::vector<Chunk> taken;
  REQUIRE(pool.enroll(3, Tenure::visits).ok());
  REQUIRE(pool.reserve(3, 10 * kGranuleBytes).ok());
  REQUIRE(pool.take(3, 6, taken, Content::any) == 4);
  pool.put(1, held[1][2]);
  REQUIRE(pool.restingChunks() == 5);
  REQUIRE(pool.take(3, 2, taken, Content::any) == 1);
  REQUIRE(pool.take(3, 1, taken) == 0);
  REQUIRE(taken.back().id == held[1][2].id);
  pool.wake(1);
  REQUIRE(pool.takenBytes(1) == 2 * kGranuleBytes);
  REQUIRE(pool.freeChunks() == 3);
  REQUIRE(pool.longestResting() == OwnerId{2});
  // Who left last comes last, whoever came first.
  pool.rest(1);
  REQUIRE(pool.longestResting() == OwnerId{2});
  for (const Chunk& chunk : held[2]) pool.put(2, chunk);
  REQUIRE(pool.longestResting() == OwnerId{1});
  pool.wake(2);
  pool.release(2);
  pool.put(1, held[1][0]);
  pool.put(1, held[1][1]);
  REQUIRE_FALSE(pool.longestResting());
  pool.rest(1);  // with nothing
  REQUIRE_FALSE(pool.longestResting());
  REQUIRE(pool.dirtyChunks() == 5);
}

TEST_CASE("random owners: no chunk has two owners, none goes from one to another unscrubbed, none is lost") {
  constexpr std::uint32_t kCount = 97;
  std::mt19937_64 random(4);
  ChunkPool pool = ChunkPool::create(chunks(kCount)).value();
  struct Owner {
    std::uint64_t reserved = 0;
    std::vector<Chunk> held;
    bool rests = false;
  };
  std::map<OwnerId, Owner> owners;
  std::vector<OwnerId> resting;  // who has rested longest in front
  const auto wake = [&](OwnerId id) {
    pool.wake(id);
    owners[id].rests = false;
    std::erase(resting, id);
  };
  std::set<std::uint32_t> taken, dirty;
  std::uint64_t reserved = 0;
  for (int i = 0; i < 40000; ++i) {
    const OwnerId id = random() % 5;
    Owner& owner = owners[id];
    const std::uint64_t count = 1 + random() % 30;
    switch (random() % 8) {
      case 0: {
        const bool fits = reserved + count <= kCount;
        REQUIRE(pool.reserve(id, count * kGranuleBytes).ok() == fits);
        if (fits) owner.reserved += count, reserved += count;
        break;
      }
      case 1: {
        const std::uint64_t back = std::min(count, owner.reserved - owner.held.size());
        pool.giveBack(id, back * kGranuleBytes);
        owner.reserved -= back, reserved -= back;
        break;
      }
      case 2: {
        if (owner.rests) break;
        const std::uint64_t wanted = std::min(count, owner.reserved - owner.held.size());
        const std::size_t clean = kCount - taken.size() - dirty.size(), before = owner.held.size();
        REQUIRE(pool.take(id, wanted, owner.held) == std::min<std::size_t>(wanted, clean));
        REQUIRE(owner.held.size() - before == std::min<std::size_t>(wanted, clean));
        for (std::size_t c = before; c < owner.held.size(); ++c) {
          REQUIRE(owner.held[c].id < kCount);
          REQUIRE(dirty.count(owner.held[c].id) == 0);
          REQUIRE(taken.insert(owner.held[c].id).second);
          REQUIRE((c == before || owner.held[c - 1].id < owner.held[c].id));
        }
        break;
      }
      case 3:
        for (std::uint64_t c = 0; c < count && !owner.held.empty(); ++c) {
          const Chunk chunk = owner.held.back();
          owner.held.pop_back();
          pool.put(id, chunk);
          taken.erase(chunk.id);
          dirty.insert(chunk.id);
        }
        if (owner.held.empty()) wake(id);
        break;
      case 4:
        for (std::uint64_t c = 0; c < count; ++c) {
          const auto chunk = pool.beginScrub();
          REQUIRE(chunk.has_value() == !dirty.empty());
          if (!chunk) break;
          REQUIRE(dirty.erase(chunk->id) == 1);
          pool.scrubbed(*chunk);
        }
        break;
      case 5:
        if (owner.rests || owner.held.empty()) break;
        pool.rest(id);
        owner.rests = true;
        resting.push_back(id);
        break;
      case 6:
        if (random() % 3 == 0) wake(id);
        break;
      default:
        if (random() % 20 != 0) break;
        wake(id);
        for (const Chunk& chunk : owner.held) {
          pool.put(id, chunk);
          taken.erase(chunk.id);
          dirty.insert(chunk.id);
        }
        pool.release(id);
        reserved -= owner.reserved;
        owner = {};
    }
    REQUIRE(pool.reservedBytes(id) == owner.reserved * kGranuleBytes);
    REQUIRE(pool.takenBytes(id) == owner.held.size() * kGranuleBytes);
    REQUIRE(pool.reservedBytes() == reserved * kGranuleBytes);
    REQUIRE(pool.dirtyChunks() == dirty.size());
    REQUIRE(pool.cleanChunks() == kCount - dirty.size() - taken.size());
    std::size_t rest = 0;
    for (const OwnerId each : resting) rest += owners[each].held.size();
    REQUIRE(pool.restingChunks() == rest);
    REQUIRE(pool.freeChunks() == kCount - taken.size() + rest);
    REQUIRE(pool.longestResting() == (resting.empty() ? std::nullopt : std::optional(resting.front())));
  }
}

TEST_CASE("a chunk that several have counts for each of them, and is dirty when the last has put it back") {
  ChunkPool pool = ChunkPool::create(chunks(4)).value();
  std::vector<Chunk> held;
  for (const OwnerId owner : {1, 2, 3}) {
    REQUIRE(pool.enroll(owner, Tenure::visits).ok());
    REQUIRE(pool.reserve(owner, 2 * kGranuleBytes).ok());
  }
  REQUIRE(pool.take(1, 2, held) == 2);
  for (const Chunk& chunk : held) pool.share(2, chunk);
  REQUIRE(pool.freeChunks() == 0);
  REQUIRE(pool.unusedChunks() == 2);
  std::vector<Chunk> more;
  REQUIRE(pool.take(3, 1, more) == 0);  // 1 and 2 may need chunks of their own at any time
  pool.rest(1);
  REQUIRE(pool.freeChunks() == 2);
  REQUIRE(pool.restingSince(1) != 0);
  pool.share(3, held[0]);
  REQUIRE(pool.freeChunks() == 1);
  REQUIRE(pool.take(3, 2 - 1, more, Content::any) == 1);
  pool.put(1, held[0]);
  pool.put(1, held[1]);
  REQUIRE_FALSE(pool.longestResting());
  REQUIRE(pool.dirtyChunks() == 0);
  REQUIRE(pool.owners(held[0]) == 2);
  pool.put(2, held[0]);
  pool.put(3, held[0]);
  REQUIRE(pool.dirtyChunks() == 1);
  REQUIRE(pool.beginScrub()->id == held[0].id);
}

TEST_CASE("random owners of shared chunks: as a simple model has it") {
  constexpr std::uint32_t kCount = 61;
  std::mt19937_64 random(6);
  ChunkPool pool = ChunkPool::create(chunks(kCount)).value();
  struct Owner {
    std::set<std::uint32_t> held;
    std::uint64_t since = 0;
  };
  std::map<OwnerId, Owner> owners;
  std::set<std::uint32_t> dirty;
  std::uint64_t rests = 0;
  for (OwnerId id = 1; id <= 6; ++id) {
    REQUIRE(pool.enroll(id, Tenure::visits).ok());
    REQUIRE(pool.reserve(id, kCount * kGranuleBytes).ok());
    owners[id];
  }
  const auto has = [&](std::uint32_t chunk) {
    return static_cast<std::uint32_t>(std::count_if(owners.begin(), owners.end(), [&](const auto& each) { return each.second.held.contains(chunk); }));
  };
  const auto present = [&] {
    std::size_t count = 0;
    for (const auto& [id, owner] : owners) count += owner.since == 0 ? owner.held.size() : 0;
    return count;
  };
  for (int i = 0; i < 30'000; ++i) {
    const OwnerId id = 1 + random() % 6;
    Owner& owner = owners[id];
    const std::size_t count = 1 + random() % 9;
    switch (random() % 6) {
      case 0: {
        if (owner.since != 0) break;
        std::size_t unused = 0;
        for (std::uint32_t chunk = 0; chunk < kCount; ++chunk) unused += has(chunk) == 0;
        std::vector<Chunk> taken;
        const std::size_t free = present() < kCount ? kCount - present() : 0;
        const std::size_t got = pool.take(id, std::min(count, kCount - owner.held.size()), taken, Content::any);
        REQUIRE(got == std::min({count, kCount - owner.held.size(), free, unused}));
        for (const Chunk& chunk : taken) {
          REQUIRE(has(chunk.id) == 0);
          dirty.erase(chunk.id);
          owner.held.insert(chunk.id);
        }
        break;
      }
      case 1: {
        const auto chunk = static_cast<std::uint32_t>(random() % kCount);
        if (has(chunk) == 0 || owner.held.contains(chunk) || owner.held.size() >= kCount) break;
        if (owner.since == 0 && present() >= kCount) break;
        if (owner.since != 0 && owner.held.empty()) break;
        pool.share(id, {chunk, kGranuleBytes});
        owner.held.insert(chunk);
        break;
      }
      case 2:
        for (std::size_t c = 0; c < count && !owner.held.empty(); ++c) {
          auto it = owner.held.begin();
          std::advance(it, random() % owner.held.size());
          const std::uint32_t chunk = *it;
          owner.held.erase(it);
          pool.put(id, {chunk, kGranuleBytes});
          if (has(chunk) == 0) dirty.insert(chunk);
        }
        if (owner.held.empty()) owner.since = 0;
        break;
      case 3:
        if (owner.since != 0 || owner.held.empty()) break;
        pool.rest(id);
        owner.since = ++rests;
        break;
      case 4:
        if (owner.since != 0 && present() + owner.held.size() > kCount) break;
        pool.wake(id);
        owner.since = 0;
        break;
      default:
        if (const auto chunk = pool.beginScrub()) {
          REQUIRE(dirty.erase(chunk->id) == 1);
          pool.scrubbed(*chunk);
        }
    }
    std::size_t used = 0, resting = 0;
    for (std::uint32_t chunk = 0; chunk < kCount; ++chunk) {
      used += has(chunk) != 0;
      REQUIRE(pool.owners({chunk, kGranuleBytes}) == has(chunk));
    }
    std::optional<OwnerId> longest;
    for (const auto& [each, state] : owners) {
      REQUIRE(pool.takenBytes(each) == state.held.size() * kGranuleBytes);
      REQUIRE((pool.restingSince(each) != 0) == (state.since != 0));
      resting += state.since != 0 ? state.held.size() : 0;
      if (state.since != 0 && (!longest || state.since < owners[*longest].since)) longest = each;
    }
    REQUIRE(pool.longestResting() == longest);
    REQUIRE(pool.unusedChunks() == kCount - used);
    REQUIRE(pool.dirtyChunks() == dirty.size());
    REQUIRE(pool.presentChunks() == present());
    REQUIRE(pool.restingChunks() == resting);
    REQUIRE(pool.freeChunks() == kCount - present());
  }
}

}  // namespace rouse::memory
