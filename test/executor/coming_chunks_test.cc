#include "server/executor/coming_chunks.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <set>

#include "test/executor/fake_device.h"
#include "test/executor/sharing_fixture.h"

namespace rouse::executor {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
constexpr memory::OwnerId kOwner = 1;

// A group for each of these runs of granules.
swap::TransferPlan plan(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& runs) {
  swap::TransferPlan plan;
  for (const auto& [first, count] : runs) {
    plan.groups.push_back({static_cast<std::uint32_t>(plan.pieces.size()), 1, count * kG});
    plan.pieces.push_back({kBase + first * kG, count * kG});
  }
  return plan;
}

struct ComingFixture {
  ComingFixture(std::uint32_t chunks, std::uint64_t granules, std::uint32_t mapsTogether = 32) : device(chunks), coming(kOwner, memory, mapsTogether) {
    REQUIRE(memory.enroll(kOwner, memory::Tenure::visits).ok());
    REQUIRE(memory.reserve(kOwner, granules * kG).ok());
  }
  FakeDevice device;
  PhysicalMemory memory = PhysicalMemory::create(device).value();
  ComingChunks coming;
};

}  // namespace

TEST_CASE("the first group gets its own chunks, those behind it a run") {
  ComingFixture arrival(256, 101);
  arrival.coming.begin(plan({{7, 1}, {8, 4}, {12, 96}}));
  CHECK(arrival.coming.left() == 101);
  REQUIRE(arrival.coming.take(1));
  CHECK(arrival.memory.freeChunks() == 255);
  std::vector<ComingChunks::Granule> ready;
  arrival.coming.ready(1, ready);
  REQUIRE(ready.size() == 1);
  CHECK(ready[0].address == kBase + 7 * kG);
  CHECK(arrival.coming.go().address == kBase + 7 * kG);

  REQUIRE(arrival.coming.take(4));
  CHECK(arrival.memory.freeChunks() == 155);  // all of it
  ready.clear();
  arrival.coming.ready(4, ready);
  // A block at least, and whole pieces: more than the four, and not yet all.
  CHECK(ready.size() >= 32);
  CHECK(ready.size() < 100);
  for (std::size_t i = 0; i < ready.size(); ++i) CHECK(ready[i].address == kBase + (8 + i) * kG);
  const std::size_t before = ready.size();
  arrival.coming.ready(4, ready);
  CHECK(ready.size() == before);
  arrival.coming.end();
  CHECK(arrival.memory.freeChunks() == 255);  // one has gone
}

TEST_CASE("where each granule is mapped by itself, a block is taken at once") {
  ComingFixture arrival(256, 101, 1);
  arrival.coming.begin(plan({{7, 1}, {8, 4}, {12, 96}}));
  REQUIRE(arrival.coming.take(1));
  arrival.coming.go();
  REQUIRE(arrival.coming.take(4));
  CHECK(arrival.memory.freeChunks() == 255 - 32);
  arrival.coming.end();
}

TEST_CASE("each granule goes once, in the plan's order, with a chunk that was made ready for it, whatever the order of the addresses") {
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
    std::uint64_t at = 0, granules = 0;
    while (granules < 700) {
      const std::uint64_t count = 1 + random() % 50;
      runs.push_back({at, count});
      at += count + random() % 2;
      granules += count;
    }
    std::shuffle(runs.begin(), runs.end(), random);
    ComingFixture arrival(1024, granules, seed % 2 == 0 ? 1 : 32);
    arrival.coming.begin(plan(runs));
    std::map<std::uint64_t, std::uint32_t> ready;
    std::set<std::uint32_t> used;
    for (const auto& [first, count] : runs) {
      REQUIRE(arrival.coming.take(count));
      std::vector<ComingChunks::Granule> next;
      arrival.coming.ready(count, next);
      for (std::size_t i = 0; i < next.size(); ++i) {
        REQUIRE((i == 0 || next[i].address > next[i - 1].address));
        REQUIRE(ready.emplace(next[i].address, next[i].chunk.id).second);
      }
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto [address, chunk] = arrival.coming.go();
        REQUIRE(address == kBase + (first + i) * kG);
        REQUIRE((ready.contains(address) && ready.at(address) == chunk.id));
        REQUIRE(used.insert(chunk.id).second);
      }
    }
    CHECK(arrival.coming.left() == 0);
    CHECK(ready.size() == granules);
    for (const std::uint32_t id : used) arrival.memory.put(kOwner, {id, kG});
    arrival.memory.release(kOwner);
  }
}

TEST_CASE("where fewer chunks are to be had than the next group needs, none of it goes, and those that were taken wait") {
  ComingFixture arrival(8, 8);
  REQUIRE(arrival.memory.enroll(2, memory::Tenure::visits).ok());
  REQUIRE(arrival.memory.reserve(2, 4 * kG).ok());
  std::vector<memory::Chunk> others;
  arrival.memory.takeAny(2, 4, others);
  arrival.coming.begin(plan({{0, 2}, {2, 6}}));
  REQUIRE(arrival.coming.take(2));
  arrival.coming.go();
  arrival.coming.go();
  CHECK_FALSE(arrival.coming.take(6));
  CHECK(arrival.memory.freeChunks() == 0);
  for (const memory::Chunk& chunk : others) arrival.memory.put(2, chunk);
  CHECK(arrival.coming.take(6));
  arrival.coming.end();
  CHECK(arrival.memory.freeChunks() == 6);  // two have gone
}

}  // namespace rouse::executor
