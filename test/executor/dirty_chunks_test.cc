#include "memory/dirty_chunks.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <set>

using namespace rouse::memory;

namespace {

std::vector<std::uint32_t> take(DirtyChunks& dirty, std::size_t count) {
  std::vector<Chunk> chunks;
  dirty.take(count, chunks);
  std::vector<std::uint32_t> ids;
  for (const Chunk& chunk : chunks) ids.push_back(chunk.id);
  std::ranges::sort(ids);
  return ids;
}

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

void put(DirtyChunks& dirty, std::uint32_t first, std::uint32_t count) {
  for (const std::uint32_t id : range(first, count)) dirty.put(id);
}

// The longest aligned run of 2^n among them, no longer than a block.
std::size_t longest(const std::set<std::uint32_t>& ids) {
  for (std::uint32_t size = 32; size != 1; size /= 2)
    for (const std::uint32_t id : ids) {
      if (id % size != 0) continue;
      std::uint32_t run = 0;
      while (run < size && ids.contains(id + run)) ++run;
      if (run == size) return size;
    }
  return ids.empty() ? 0 : 1;
}

}  // namespace

TEST_CASE("whole blocks are taken before parts, and parts from where they leave least in pieces") {
  DirtyChunks dirty(200);
  put(dirty, 3, 1);     // alone
  put(dirty, 16, 16);   // half a block
  put(dirty, 64, 32);   // one
  put(dirty, 100, 28);  // 4 + 8 + 16
  put(dirty, 128, 32);  // one
  REQUIRE(dirty.size() == 109);
  CHECK(take(dirty, 1) == range(3, 1));
  CHECK(take(dirty, 4) == range(100, 4));
  CHECK(take(dirty, 64) == [] {
    auto both = range(64, 32);
    std::ranges::copy(range(128, 32), std::back_inserter(both));
    return both;
  }());
  CHECK(take(dirty, 24) == [] {
    auto both = range(16, 16);  // the first of two halves
    std::ranges::copy(range(104, 8), std::back_inserter(both));
    return both;
  }());
  CHECK(take(dirty, 16) == range(112, 16));
  CHECK(dirty.empty());
}

TEST_CASE("where there is no run as long, shorter ones are taken, the longest first; neighbours that come one by one are one run") {
  DirtyChunks dirty(64);
  for (const std::uint32_t id : {40, 41, 42, 43, 8, 9, 20}) dirty.put(static_cast<std::uint32_t>(id));
  CHECK(take(dirty, 6) == std::vector<std::uint32_t>{8, 9, 40, 41, 42, 43});
  for (std::uint32_t id = 31; id != ~std::uint32_t{0}; --id)
    if (id != 20) dirty.put(id);
  CHECK(dirty.size() == 32);
  CHECK(take(dirty, 32) == range(0, 32));
}

TEST_CASE("what is put is taken once, and a run is never shorter than it had to be") {
  constexpr std::uint32_t kChunks = 333;
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    DirtyChunks dirty(kChunks);
    std::set<std::uint32_t> model;
    for (int step = 0; step < 3000; ++step) {
      if (random() % 3 != 0) {
        const std::uint32_t first = random() % kChunks, count = 1 + random() % 40;
        for (std::uint32_t id = first; id < std::min(kChunks, first + count); ++id)
          if (model.insert(id).second) dirty.put(id);
      } else if (!model.empty() && random() % 4 == 0) {
        REQUIRE(model.erase(dirty.takeOne()) == 1);
      } else {
        std::size_t count = random() % (std::min<std::size_t>(model.size(), 100) + 1);
        const std::size_t best = std::min(longest(model), std::bit_floor(std::min<std::size_t>(count, 32)));
        const auto taken = take(dirty, count);
        REQUIRE(taken.size() == count);
        const std::set<std::uint32_t> ids(taken.begin(), taken.end());
        REQUIRE(ids.size() == count);
        REQUIRE(longest(ids) >= best);
        for (const std::uint32_t id : taken) REQUIRE(model.erase(id) == 1);
      }
      REQUIRE(dirty.size() == model.size());
    }
    CHECK(take(dirty, dirty.size()) == std::vector<std::uint32_t>(model.begin(), model.end()));
  }
}
