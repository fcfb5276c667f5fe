#include "memory/home_store.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <random>

#include "schemas/base/range.h"

namespace rouse::memory {
namespace {

Fingerprint print(std::uint64_t content) { return {content, ~content}; }

// Writes back `pages` pages with contents first, first + 1, … as a program's allocations are, and merges equal ones.
std::vector<SlotId> writeBack(HomeStore& store, OwnerId owner, std::uint64_t first, std::uint32_t pages) {
  std::vector<SlotId> homes;
  for (std::uint32_t page = 0; page < pages; ++page) {
    const SlotId slot = store.acquire(owner).value();
    const auto equal = store.publish(owner, slot, print(first + page)).value();
    if (equal) REQUIRE(store.merge(owner, slot, *equal).ok());
    homes.push_back(equal.value_or(slot));
  }
  return homes;
}

}  // namespace

TEST_CASE("promises are exact, and errors say what is left of what") {
  HomeStore store(100, 10);
  REQUIRE(store.promise(1, 60).ok());
  CHECK(store.promise(2, 31).error().message ==
        "host memory: a home for 31 pages was asked for, 30 of 100 are left (0 used, 60 promised, 10 for pages on devices)");
  REQUIRE(store.promise(2, 30).ok());
  REQUIRE(store.promisable() == 0);
  REQUIRE(store.coverable() == 10);
  CHECK(store.cover(2, 11).error().message ==
        "host memory: cover for 11 pages of owner 2 that may be written was asked for, 10 of 100 are left (0 used, 90 promised, 0 cover others)");
  REQUIRE(store.cover(2, 10).ok());
  REQUIRE(store.cover(2, 4).ok());
  REQUIRE(store.usage(2).cover == 10);
  CHECK(store.giveBack(1, 61).error().message == "give back the homes of 61 pages: owner 1 has 60 without one");
  REQUIRE(store.giveBack(1, 60).ok());
  REQUIRE(store.promisable() == 60);
  CHECK(store.acquire(1).error().code == CudaError::notReady);
  CHECK(store.acquireReplacement(1).error().message == "owner 1 has no cover left to replace a home");
}

TEST_CASE("pages acquired in a row have homes in a row") {
  HomeStore store(100);
  REQUIRE(store.promise(1, 40).ok());
  REQUIRE(store.promise(2, 40).ok());
  const auto first = writeBack(store, 1, 1000, 20);
  for (std::uint32_t i = 0; i < 20; ++i) REQUIRE(first[i] == i);
}

TEST_CASE("eight instances of one model cost the host one copy while they rest") {
  constexpr std::uint32_t kPages = 115;  // ResNet-152
  HomeStore store(3 * kPages, kPages);
  for (OwnerId owner = 1; owner <= 8; ++owner) {
    REQUIRE(store.promise(owner, kPages).ok());
    writeBack(store, owner, 5000, kPages);
    store.settle(owner);  // else two instances would have filled the store with cover
  }
  CHECK(store.used() == kPages);
  CHECK(store.pages() == 8 * kPages);
  CHECK(store.openClaims() + store.coverClaims() == 0);
  for (OwnerId owner = 1; owner <= 8; ++owner) {
    const auto usage = store.usage(owner);
    CHECK(usage.shared == kPages);
    CHECK(usage.alone == 0);
    CHECK(usage.fairBytes == Approx(kPages * double(kGranuleBytes) / 8));
  }
  std::printf("home store: 8 instances of %u pages, all at rest: %u slots used (1.00 copies), %u claimed\n", kPages, store.used(),
              store.openClaims() + store.coverClaims());
  // One is on a device and may write all it has: a second copy is set aside. Two of them fit; the third is told so before.
  REQUIRE(store.cover(1, kPages).ok());
  REQUIRE(store.cover(2, kPages).ok());
  CHECK_FALSE(store.cover(3, kPages).ok());
  store.settle(1);
  CHECK(store.cover(3, kPages).ok());
}

TEST_CASE("who writes a shared page gets its own; the others keep theirs") {
  HomeStore store(4, 0);
  REQUIRE(store.promise(1, 1).ok());
  REQUIRE(store.promise(2, 1).ok());
  const SlotId home = writeBack(store, 1, 7, 1)[0];
  REQUIRE(writeBack(store, 2, 7, 1)[0] == home);
  REQUIRE(store.references(home) == 2);
  REQUIRE(store.usage(2).cover == 1);  // the promise it made a page with: still its own
  const SlotId own = store.acquireReplacement(2).value();
  REQUIRE(store.publish(2, own, print(8)).value() == std::nullopt);
  REQUIRE(store.dropReplaced(2, home).ok());
  CHECK(store.usage(2).cover == 0);
  CHECK(store.references(home) == 1);
  // A page's own home is freed by its replacement, and the cover is there for the next.
  REQUIRE(store.cover(2, 1).ok());
  const SlotId again = store.acquireReplacement(2).value();
  REQUIRE(store.publish(2, again, print(7)).value() == home);
  REQUIRE(store.merge(2, again, home).ok());
  REQUIRE(store.dropReplaced(2, own).ok());
  CHECK(store.usage(2).cover == 2);
  CHECK(store.used() == 1);
}

TEST_CASE("misuse is refused by name") {
  HomeStore store(8);
  REQUIRE(store.promise(1, 3).ok());
  const SlotId slot = store.acquire(1).value();
  CHECK(store.share(2, slot).error().message == "share slot 0: it is not published");
  CHECK(store.publish(2, slot, print(1)).error().message == "publish slot 0 of owner 2: the owner does not refer to it");
  CHECK(store.drop(1, 99).error().message == "drop slot 99 of owner 1: there are 8");
  REQUIRE(store.publish(1, slot, print(1)).ok());
  CHECK(store.publish(1, slot, print(1)).error().message == "publish slot 0 of owner 1: it is published");
  CHECK(store.merge(1, slot, slot).error().message == "merge slot 0 into 0: that is not its equal");
  CHECK(store.merge(1, slot, 5).error().message == "merge slot 0 into 5: that is not published");
  const SlotId other = store.acquire(1).value();
  CHECK(store.merge(1, other, slot).error().message == "merge slot 1 of owner 1: it is not published");
  REQUIRE(store.publish(1, other, print(2)).value() == std::nullopt);
  CHECK(store.merge(1, other, slot).error().message == "merge slot 1 into 0: that is not its equal");
  CHECK(store.dropReplaced(2, slot).error().message == "replace slot 0 of owner 2: the owner does not refer to it");
}

TEST_CASE("equal fingerprints of unequal pages: both stay, the first is found") {
  HomeStore store(8);
  REQUIRE(store.promise(1, 3).ok());
  const SlotId first = store.acquire(1).value(), second = store.acquire(1).value(), third = store.acquire(1).value();
  REQUIRE(store.publish(1, first, print(1)).value() == std::nullopt);
  REQUIRE(store.publish(1, second, print(1)).value() == first);
  REQUIRE(store.drop(1, second).ok());
  REQUIRE(store.publish(1, third, print(1)).value() == first);
}

TEST_CASE("random owners: claims never fail, contents never change under a page, accounts add up") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  constexpr std::uint32_t kSlots = 300, kHeadroom = 40;
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  HomeStore store(kSlots, kHeadroom);
  struct Owner {
    std::uint32_t open = 0, cover = 0;
    std::vector<std::pair<SlotId, std::uint64_t>> pages;  // home, content it must have
  };
  std::map<OwnerId, Owner> owners;
  std::map<SlotId, std::pair<std::uint32_t, std::uint64_t>> slots;  // references, content
  const auto drop = [&](SlotId slot) {
    if (--slots.at(slot).first != 0) return false;
    slots.erase(slot);
    return true;
  };
  const auto home = [&](OwnerId id, SlotId slot, std::uint64_t content, bool mayMerge) {  // the page's home in the end
    if (!slots.emplace(slot, std::pair{1u, content}).second) FAIL("slot " << slot << " given twice");
    const auto equal = store.publish(id, slot, print(content)).value();
    if (!equal) return slot;
    if (slots.at(*equal).second != content) FAIL("found other content");
    if (!mayMerge) return slot;
    REQUIRE(store.merge(id, slot, *equal).ok());
    slots.erase(slot);
    ++slots.at(*equal).first;
    ++owners[id].cover;
    return *equal;
  };
  for (int step = 0; step < 200'000; ++step) {
    const OwnerId id = random() % 12;
    Owner& owner = owners[id];
    const auto count = static_cast<std::uint32_t>(random() % 20);
    std::uint32_t open = 0, cover = 0, used = static_cast<std::uint32_t>(slots.size());
    for (const auto& [_, one] : owners) open += one.open, cover += one.cover;
    switch (random() % 9) {
      case 0: {
        const bool fits = used + open + std::max(cover, kHeadroom) + count <= kSlots;
        if (store.promise(id, count).ok() != (fits || count == 0)) FAIL("promise at step " << step);
        if (fits) owner.open += count;
        break;
      }
      case 1: {
        const bool has = count <= owner.open;
        if (store.giveBack(id, count).ok() != has) FAIL("giveBack at step " << step);
        if (has) owner.open -= count;
        break;
      }
      case 2: {
        const bool fits = count <= owner.cover || used + open + cover + (count - owner.cover) <= kSlots;
        if (store.cover(id, count).ok() != fits) FAIL("cover at step " << step);
        if (fits) owner.cover = std::max(owner.cover, count);
        break;
      }
      case 3:
        if (random() % 8 == 0) REQUIRE(store.settle(id) == std::exchange(owner.cover, 0));
        break;
      case 4: case 5: {
        const auto slot = store.acquire(id);
        if (slot.ok() != (owner.open != 0)) FAIL("acquire at step " << step);
        if (!slot) break;
        --owner.open;
        const std::uint64_t content = random() % 60;
        owner.pages.emplace_back(home(id, *slot, content, random() % 8 != 0), content);
        break;
      }
      case 6: {  // a page is written on a device and written back
        if (owner.pages.empty()) break;
        auto& [old, content] = owner.pages[random() % owner.pages.size()];
        const auto slot = store.acquireReplacement(id);
        if (slot.ok() != (owner.cover != 0)) FAIL("replacement at step " << step);
        if (!slot) break;
        --owner.cover;
        content = random() % 60;
        const SlotId before = std::exchange(old, home(id, *slot, content, true));
        REQUIRE(store.dropReplaced(id, before).ok());
        if (drop(before)) ++owner.cover;
        break;
      }
      case 7: {
        if (owner.pages.empty()) break;
        const std::size_t which = random() % owner.pages.size();
        REQUIRE(store.drop(id, owner.pages[which].first).ok());
        if (drop(owner.pages[which].first)) ++owner.open;
        owner.pages.erase(owner.pages.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      }
      case 8:
        if (random() % 200 == 0) {  // gone
          store.release(id);
          for (const auto& page : owner.pages) drop(page.first);
          owners.erase(id);
        } else if (!slots.empty() && owner.pages.size() < 60) {  // an instance is forked from another
          const auto other = std::next(slots.begin(), static_cast<std::ptrdiff_t>(random() % slots.size()));
          REQUIRE(store.share(id, other->first).ok());
          ++other->second.first;
          owner.pages.emplace_back(other->first, other->second.second);
        }
        break;
    }
    if (store.used() != slots.size()) FAIL("used at step " << step);
    if (step % 64 != 0) continue;
    double fair = 0;
    std::uint64_t pages = 0;
    open = cover = 0;
    for (const auto& [owned, one] : owners) {
      const auto usage = store.usage(owned);
      REQUIRE(usage.open == one.open);
      REQUIRE(usage.cover == one.cover);
      REQUIRE(usage.pages == one.pages.size());
      for (const auto& [slot, content] : one.pages)
        if (slots.at(slot).second != content) FAIL("a page's content changed at step " << step);
      std::map<SlotId, std::uint32_t> mine;
      for (const auto& page : one.pages) ++mine[page.first];
      std::uint32_t alone = 0;
      for (const auto& [slot, references] : mine) alone += slots.at(slot).first == references;
      REQUIRE(usage.alone == alone);
      REQUIRE(usage.shared == mine.size() - alone);
      fair += usage.fairBytes;
      pages += one.pages.size(), open += one.open, cover += one.cover;
    }
    REQUIRE(store.pages() == pages);
    REQUIRE(fair == Approx(double(store.usedBytes())));
    REQUIRE(store.openClaims() == open);
    REQUIRE(store.coverClaims() == cover);
    REQUIRE(store.used() + open + cover <= kSlots);
    for (const auto& [slot, entry] : slots) REQUIRE(store.references(slot) == entry.first);
  }
}

}  // namespace rouse::memory
