#include "server/device/cuda/allocation_plan.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

using rouse::cuda::AllocationPlan;
using rouse::memory::Extent;

namespace {

using Extents = std::vector<Extent>;

bool isPiece(Extent e) {
  return std::has_single_bit(e.count) && e.count != 2 && e.count <= AllocationPlan::kLargest && e.first % e.count == 0;
}

// What allocations there are, by all of their chunks.
Extents all(const AllocationPlan& plan, std::uint32_t chunks) {
  Extents found;
  for (std::uint32_t id = 0; id < chunks; id += found.back().count) {
    found.push_back(plan.of(id));
    REQUIRE(found.back().first == id);
    REQUIRE(isPiece(found.back()));
    for (std::uint32_t i = 0; i < found.back().count; ++i) REQUIRE(plan.of(id + i) == found.back());
  }
  return found;
}

// Both are of the same chunks, none of them twice.
void checkSameChunks(Extents ends, Extents begins) {
  std::vector<std::uint32_t> left, right;
  for (const Extent& each : ends)
    for (std::uint32_t i = 0; i < each.count; ++i) left.push_back(each.first + i);
  for (const Extent& each : begins)
    for (std::uint32_t i = 0; i < each.count; ++i) right.push_back(each.first + i);
  std::ranges::sort(left);
  std::ranges::sort(right);
  CHECK(left == right);
  CHECK(std::ranges::adjacent_find(left) == left.end());
}

}  // namespace

TEST_CASE("chunks are divided into the fewest pieces") {
  CHECK(AllocationPlan::pieces({0, 0}).empty());
  CHECK(AllocationPlan::pieces({0, 1}) == Extents{{0, 1}});
  CHECK(AllocationPlan::pieces({0, 77}) == Extents{{0, 32}, {32, 32}, {64, 8}, {72, 4}, {76, 1}});
  CHECK(AllocationPlan::pieces({3, 30}) == Extents{{3, 1}, {4, 4}, {8, 8}, {16, 16}, {32, 1}});
  CHECK(AllocationPlan::pieces({96, 32}) == Extents{{96, 32}});
  CHECK(AllocationPlan::pieces({98, 32}) == Extents{{98, 1}, {99, 1}, {100, 4}, {104, 8}, {112, 16}, {128, 1}, {129, 1}});
}

TEST_CASE("a change makes a piece an allocation of smaller ones, or of a part of a larger one") {
  AllocationPlan plan(AllocationPlan::pieces({0, 64}));
  CHECK_FALSE(plan.change({32, 32}).needed());

  auto change = plan.change({40, 8});
  CHECK(change.ends == Extents{{32, 32}});
  CHECK(change.begins == Extents{{32, 8}, {40, 8}, {48, 16}});
  plan.apply(change);
  CHECK(plan.of(33) == Extent{32, 8});
  CHECK(plan.of(47) == Extent{40, 8});
  CHECK(plan.of(63) == Extent{48, 16});
  CHECK(plan.of(31) == Extent{0, 32});

  change = plan.change({32, 32});
  CHECK(change.ends == Extents{{32, 8}, {40, 8}, {48, 16}});
  CHECK(change.begins == Extents{{32, 32}});
  plan.apply(change);
  CHECK(plan.of(63) == Extent{32, 32});
}

TEST_CASE("who takes one granule of a large allocation finds single ones beside it") {
  AllocationPlan plan(AllocationPlan::pieces({0, 32}));
  const auto change = plan.change({13, 1});
  CHECK(change.begins == Extents{{0, 8}, {8, 4}, {12, 1}, {13, 1}, {14, 1}, {15, 1}, {16, 16}});
  plan.apply(change);
  CHECK_FALSE(plan.change({12, 1}).needed());
  CHECK(plan.change({12, 4}).begins == Extents{{12, 4}});
}

TEST_CASE("a cut leaves what is cut out, and what is beside it, in allocations of their own") {
  AllocationPlan plan(AllocationPlan::pieces({0, 32}));
  const auto change = plan.cut({5, 6});
  CHECK(change.ends == Extents{{0, 32}});
  CHECK(change.begins == Extents{{0, 4}, {4, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 1}, {10, 1}, {11, 1}, {12, 4}, {16, 16}});
  plan.apply(change);
  CHECK(all(plan, 32).size() == 11);
  CHECK_FALSE(plan.cut({16, 16}).needed());
}

TEST_CASE("whatever is changed and cut, every chunk is of one allocation, which is a piece") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    const std::uint32_t chunks = 100 + random() % 200;
    AllocationPlan plan(AllocationPlan::pieces({0, chunks}));
    for (int step = 0; step < 2000; ++step) {
      AllocationPlan::Change change;
      if (random() % 2 == 0) {
        const std::uint32_t count = std::array{1u, 4u, 8u, 16u, 32u}[random() % 5];
        const Extent piece{static_cast<std::uint32_t>(random() % (chunks / count)) * count, count};
        change = plan.change(piece);
        // Untouched is what has nothing to do with it.
        for (const Extent& each : change.ends) CHECK((each.first < piece.first + piece.count && piece.first < each.first + each.count));
        plan.apply(change);
        REQUIRE(plan.of(piece.first) == piece);
      } else {
        const Extent around = plan.of(random() % chunks);
        Extent part{around.first + static_cast<std::uint32_t>(random() % around.count), 0};
        part.count = 1 + random() % (around.first + around.count - part.first);
        change = plan.cut(part);
        CHECK(change.needed() == !(part == around));
        plan.apply(change);
        for (const Extent end : {plan.of(part.first), plan.of(part.first + part.count - 1)})
          REQUIRE((end.first >= part.first && end.first + end.count <= part.first + part.count));
      }
      checkSameChunks(change.ends, change.begins);
      if (step % 100 == 0) all(plan, chunks);
    }
  }
}
