#include "client-shim/core/range_allocator.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace rouse::client {
namespace {

constexpr AddressRange kWhole{0x10000000, 1 << 20};

// Every byte's owner, kept the slow way.
class Model {
 public:
  bool add(AddressRange range) {
    for (const auto& [base, bytes] : taken_) {
      if (range.overlaps({base, bytes})) return false;
    }
    taken_[range.base] = range.bytes;
    used_ += range.bytes;
    return kWhole.contains(range);
  }
  AddressRange removeAny(std::mt19937_64& random) {
    auto it = std::next(taken_.begin(), static_cast<std::ptrdiff_t>(random() % taken_.size()));
    const AddressRange range{it->first, it->second};
    used_ -= range.bytes;
    taken_.erase(it);
    return range;
  }
  // The best that any allocator could do.
  std::uint64_t largestHole(std::uint64_t alignment) const {
    std::uint64_t largest = 0, next = kWhole.base;
    auto consider = [&](std::uint64_t end) {
      const std::uint64_t begin = roundUp(next, alignment);
      if (begin < end) largest = std::max(largest, end - begin);
    };
    for (const auto& [base, bytes] : taken_) {
      consider(base);
      next = base + bytes;
    }
    consider(kWhole.end());
    return largest;
  }
  std::size_t size() const { return taken_.size(); }
  std::uint64_t freeBytes() const { return kWhole.bytes - used_; }

 private:
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::uint64_t used_ = 0;
};

TEST_CASE("ranges never overlap, fail only when no hole fits, and merge when freed") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    RangeAllocator allocator(kWhole, 256);
    Model model;
    std::uint64_t epoch = 0;
    bool sound = true;
    for (int step = 0; step < 4000 && sound; ++step) {
      if (model.size() != 0 && random() % 100 < 45) {
        allocator.give(model.removeAny(random), ++epoch);
      } else {
        const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << (4 + random() % 14));
        const std::uint64_t alignment = std::uint64_t{256} << (random() % 4 == 0 ? random() % 6 : 0);
        if (random() % 8 == 0) {
          // Exactly there, or not at all.
          const AddressRange wanted{kWhole.base + random() % kWhole.bytes / 256 * 256, roundUp(bytes, 256)};
          Model with = model;
          const bool possible = with.add(wanted);
          const auto there = allocator.takeAt(wanted);
          sound &= there.has_value() == possible && (!there || there->range == wanted);
          if (there) model.add(wanted);
          continue;
        }
        const auto taken = allocator.take(bytes, alignment);
        if (taken) {
          sound &= model.add(taken->range) && taken->range.bytes == roundUp(bytes, 256) &&
                   isAligned(taken->range.base, alignment) && taken->epoch <= epoch;
        } else {
          sound &= model.largestHole(alignment) < roundUp(bytes, 256);
        }
      }
      sound &= allocator.freeBytes() == model.freeBytes();
    }
    REQUIRE(sound);
    while (model.size() != 0) allocator.give(model.removeAny(random), ++epoch);
    REQUIRE(allocator.holes() == 1);
    REQUIRE(allocator.freeBytes() == kWhole.bytes);
    const auto everything = allocator.take(kWhole.bytes, 256);
    REQUIRE(everything);
    REQUIRE(everything->range == kWhole);
    REQUIRE(everything->epoch == epoch);
  }
}

TEST_CASE("the smallest hole that fits is taken") {
  RangeAllocator allocator(kWhole, 256);
  AddressRange pieces[6];
  for (auto& piece : pieces) piece = allocator.take(4096, 256)->range;
  const AddressRange small = allocator.take(512, 256)->range;
  (void)allocator.take(256, 256);
  allocator.give(pieces[1], 1);
  allocator.give(pieces[2], 2);
  allocator.give(pieces[4], 3);
  allocator.give(small, 4);
  CHECK(allocator.take(300, 256)->range.base == small.base);
  const auto single = allocator.take(4000, 256);
  CHECK(single->range.base == pieces[4].base);
  CHECK(single->epoch == 3);
  const auto pair = allocator.take(8192, 256);
  CHECK(pair->range.base == pieces[1].base);
  CHECK(pair->epoch == 2);
}

TEST_CASE("memory that was never used has epoch 0") {
  RangeAllocator allocator(kWhole, 256);
  const auto first = allocator.take(1000, 256);
  CHECK(first->epoch == 0);
  allocator.give(first->range, 9);
  CHECK(allocator.take(1000, 256)->epoch == 9);
}

TEST_CASE("an aligned range is found among many unaligned holes") {
  RangeAllocator allocator(kWhole, 256);
  std::vector<AddressRange> all;
  while (auto taken = allocator.take(4096, 256)) all.push_back(taken->range);
  // Holes of 4096 bytes that are not aligned to 4096, and one that is.
  std::vector<AddressRange> given;
  for (std::size_t i = 3; i + 2 < all.size() && given.size() < 40; i += 3) {
    allocator.give({all[i].base + 256, 3840}, 1);
    allocator.give({all[i + 1].base, 256}, 1);
    given.push_back(all[i]);
  }
  allocator.give(all[1], 1);
  const auto taken = allocator.take(4096, 4096);
  REQUIRE(taken);
  CHECK(taken->range == all[1]);
  CHECK_FALSE(allocator.take(4096, 4096));
}

TEST_CASE("requests that no range can hold are refused") {
  RangeAllocator allocator(kWhole, 256);
  CHECK_FALSE(allocator.take(kWhole.bytes + 1, 256));
  CHECK_FALSE(allocator.take(~std::uint64_t{0}, 256));
  RangeAllocator empty({}, 256);
  CHECK_FALSE(empty.take(1, 256));
}

}  // namespace
}  // namespace rouse::client
