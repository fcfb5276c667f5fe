#include "memory/chunk_fit.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

namespace rouse::memory {
namespace {

std::vector<Chunk> chunks(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> runs) {
  std::vector<Chunk> made;
  for (const auto& [first, count] : runs)
    for (std::uint32_t i = 0; i < count; ++i) made.push_back({first + i, kGranuleBytes});
  return made;
}

std::vector<std::uint64_t> addresses(std::initializer_list<std::pair<std::uint64_t, std::uint64_t>> runs) {
  std::vector<std::uint64_t> made;
  for (const auto& [first, count] : runs)
    for (std::uint64_t i = 0; i < count; ++i) made.push_back((first + i) * kGranuleBytes);
  return made;
}

// In how many aligned pieces they are, one behind the other.
std::size_t pieces(const std::vector<Chunk>& chunks, const std::vector<std::uint64_t>& addresses) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < chunks.size(); ++count) {
    std::size_t run = 1;
    while (i + run < chunks.size() && chunks[i + run].id == chunks[i].id + run && addresses[i + run] == addresses[i] + run * kGranuleBytes) ++run;
    const std::uint32_t id = chunks[i].id, aligned = id == 0 ? 32 : std::min(32u, 1u << std::countr_zero(id));
    i += std::min<std::size_t>(aligned, std::bit_floor(run));
  }
  return count;
}

std::vector<std::uint32_t> ids(const std::vector<Chunk>& chunks) {
  std::vector<std::uint32_t> made;
  for (const Chunk& chunk : chunks) made.push_back(chunk.id);
  return made;
}

}  // namespace

TEST_CASE("a run of chunks that does not begin as a block does is not shifted along a run of addresses") {
  auto some = chunks({{28, 1}, {64, 32}});
  const auto there = addresses({{100, 33}});
  fitChunks(some, there);
  CHECK(ids(some) == ids(chunks({{64, 32}, {28, 1}})));
  CHECK(pieces(some, there) == 2);
}

TEST_CASE("large pieces go to long runs, and in halves where none is long enough") {
  auto some = chunks({{0, 16}, {40, 3}, {64, 1}});
  const auto there = addresses({{5, 3}, {11, 8}, {30, 9}});
  fitChunks(some, there);
  CHECK(ids(some) == ids(chunks({{40, 2}, {42, 1}, {8, 8}, {0, 8}, {64, 1}})));
}

TEST_CASE("every chunk has one address, and there are fewer pieces than in the order of their numbers") {
  std::mt19937 random(11);
  std::size_t before = 0, after = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint32_t> all(200);
    std::iota(all.begin(), all.end(), 0u);
    const auto pick = [&](std::size_t count) {
      std::vector<std::uint32_t> picked;
      for (std::uint32_t at = 0; picked.size() < count;) {
        at = (at + 1 + random() % 20) % 200;
        for (std::size_t run = 1 + random() % 40; run != 0 && picked.size() < count && at < 200; --run, ++at)
          if (std::ranges::find(picked, at) == picked.end()) picked.push_back(at);
      }
      std::ranges::sort(picked);
      return picked;
    };
    const std::size_t count = 1 + random() % 64;
    std::vector<Chunk> some;
    std::vector<std::uint64_t> there;
    for (const std::uint32_t id : pick(count)) some.push_back({id, kGranuleBytes});
    for (const std::uint32_t at : pick(count)) there.push_back(at * kGranuleBytes);
    const auto sorted = ids(some);
    before += pieces(some, there);
    fitChunks(some, there);
    after += pieces(some, there);
    auto again = ids(some);
    std::ranges::sort(again);
    REQUIRE(again == sorted);
  }
  CHECK(after < before * 9 / 10);
}

}  // namespace rouse::memory
