#include "memory/home_store.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <random>
#include <set>

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
  HomeStore store(100);
  REQUIRE(store.promise(1, 60).ok());
  CHECK(store.promise(2, 41).error().message ==
        "host memory: a home for 41 pages was asked for, 40 of 100 are left (0 pages have one, 60 are promised)");
  REQUIRE(store.promise(2, 40).ok());
  REQUIRE(store.promisable() == 0);
  CHECK(store.giveBack(1, 61).error().message == "give back the homes of 61 pages: owner 1 has 60 without one");
  REQUIRE(store.giveBack(1, 60).ok());
  REQUIRE(store.promisable() == 60);
  CHECK(store.acquire(1).error().code == CudaError::notReady);
}

TEST_CASE("pages acquired in a row have homes in a row") {
  HomeStore store(100);
  REQUIRE(store.promise(1, 40).ok());
  REQUIRE(store.promise(2, 40).ok());
  const auto first = writeBack(store, 1, 1000, 20);
  for (std::uint32_t i = 0; i < 20; ++i) REQUIRE(first[i] == i);
}

TEST_CASE("eight instances of one model use one copy, and each may change all of its own at any time") {
  constexpr std::uint32_t kPages = 115;  // ResNet-152
  HomeStore store(8 * kPages);
  std::vector<std::vector<SlotId>> homes(1);
  for (OwnerId owner = 1; owner <= 8; ++owner) {
    REQUIRE(store.promise(owner, kPages).ok());
    homes.push_back(writeBack(store, owner, 5000, kPages));
  }
  CHECK(store.used() == kPages);
  CHECK(store.pages() == 8 * kPages);
  CHECK(store.promisable() == 0);
  for (OwnerId owner = 1; owner <= 8; ++owner) {
    const auto usage = store.usage(owner);
    CHECK(usage.pages == kPages);
    CHECK(usage.shared == kPages);
    CHECK(store.sharedPages(owner) == kPages);
    CHECK(usage.fairBytes == Approx(kPages * double(kGranuleBytes) / 8));
  }
  std::printf("home store: 8 instances of %u pages: %u slots used (1.00 copies)\n", kPages, store.used());
  // The first to come had the slots; the claims that rest with them are whoever's who leaves.
  for (OwnerId owner = 1; owner <= 8; ++owner)
    for (SlotId& home : homes[owner]) home = store.rewrite(owner, home).value();
  CHECK(store.used() == 8 * kPages);
  std::set<SlotId> distinct;
  for (const auto& list : homes) distinct.insert(list.begin(), list.end());
  CHECK(distinct.size() == 8 * kPages);
  CHECK(store.sharedPages(3) == 0);
}

TEST_CASE("who writes a shared page gets its own; the others keep theirs") {
  HomeStore store(2);
  REQUIRE(store.promise(1, 1).ok());
  REQUIRE(store.promise(2, 1).ok());
  const SlotId home = writeBack(store, 1, 7, 1)[0];
  REQUIRE(writeBack(store, 2, 7, 1)[0] == home);
  REQUIRE(store.references(home) == 2);
  const SlotId own = store.rewrite(1, home).value();  // whose it was at first
  CHECK(own != home);
  CHECK(store.references(home) == 1);
  REQUIRE(store.publish(1, own, print(8)).value() == std::nullopt);
  // Alone now: rewritten in its place, and not found meanwhile.
  CHECK(store.rewrite(2, home).value() == home);
  REQUIRE(store.publish(2, home, print(8)).value() == own);
  REQUIRE(store.merge(2, home, own).ok());
  CHECK(store.used() == 1);
  REQUIRE(store.drop(1, own).ok());
  CHECK(store.usage(1).open == 1);
  CHECK(store.sharedPages(2) == 0);
  CHECK(store.promisable() == 0);
}

TEST_CASE("a slot that is held is neither rewritten nor given away") {
  HomeStore store(3);
  REQUIRE(store.promise(1, 3).ok());
  const SlotId a = store.acquire(1).value(), b = store.acquire(1).value();
  store.hold(a);
  const SlotId moved = store.rewrite(1, a).value();
  REQUIRE(moved != a);
  REQUIRE(store.starved());  // the only slot that is left is `a`
  CHECK(store.used() == 2);
  CHECK(store.acquire(1).error().message == "all slots that nobody refers to are held");
  CHECK(store.rewrite(1, b).value() == b);  // needs no other
  store.hold(b);
  CHECK(store.rewrite(1, b).error().code == CudaError::notReady);
  store.letGo(a);
  CHECK_FALSE(store.starved());
  CHECK(store.acquire(1).value() == a);
  store.letGo(b);
  CHECK(store.rewrite(1, b).value() == b);
  // Held twice, and everybody has gone meanwhile.
  store.hold(b);
  store.hold(b);
  store.release(1);
  CHECK(store.used() == 0);
  CHECK(store.promisable() == 3);
  store.letGo(b);
  REQUIRE(store.promise(2, 3).ok());
  for (int i = 0; i < 2; ++i) CHECK(store.acquire(2).value() != b);
  CHECK(store.starved());
  store.letGo(b);
  CHECK(store.acquire(2).value() == b);
}

TEST_CASE("a slot that holds a page already can be had by number, unless it is somebody's") {
  HomeStore store(4);
  REQUIRE(store.promise(1, 3).ok());
  REQUIRE(store.acquireAt(1, 2).value());
  REQUIRE_FALSE(store.acquireAt(1, 2).value());
  REQUIRE_FALSE(store.acquireAt(1, 4).value());
  REQUIRE_FALSE(store.acquireAt(2, 3).ok());  // promised nothing
  REQUIRE(store.usage(1).pages == 1);
  store.hold(2);
  REQUIRE(store.drop(1, 2).ok());
  REQUIRE_FALSE(store.acquireAt(1, 2).value());  // being read
  store.letGo(2);
  REQUIRE(store.acquireAt(1, 2).value());
  REQUIRE(store.openClaims() == 2);
  store.release(1);
  REQUIRE(store.used() == 0);
}

TEST_CASE("misuse is refused by name") {
  HomeStore store(8);
  REQUIRE(store.promise(1, 3).ok());
  const SlotId slot = store.acquire(1).value();
  CHECK(store.share(1, slot).error().message == "share slot 0: it is not published");
  CHECK(store.publish(2, slot, print(1)).error().message == "publish slot 0 of owner 2: the owner does not refer to it");
  CHECK(store.rewrite(2, slot).error().message == "rewrite slot 0 of owner 2: the owner does not refer to it");
  CHECK(store.drop(1, 99).error().message == "drop slot 99 of owner 1: there are 8");
  REQUIRE(store.publish(1, slot, print(1)).ok());
  REQUIRE(store.publish(1, slot, print(1)).value() == std::nullopt);
  CHECK(store.publish(1, slot, print(2)).error().message == "publish slot 0 of owner 1: it is published, as another page");
  CHECK(store.share(2, slot).error().message == "owner 2 has no promise of a home left");
  CHECK(store.merge(1, slot, slot).error().message == "merge slot 0 into 0: they are not equal");
  CHECK(store.merge(1, slot, 5).error().message == "merge slot 0 into 5: the second is not published");
  const SlotId other = store.acquire(1).value();
  CHECK(store.merge(1, other, slot).error().message == "merge slot 1 into 0: the first is not published");
  REQUIRE(store.publish(1, other, print(2)).value() == std::nullopt);
  CHECK(store.merge(1, other, slot).error().message == "merge slot 1 into 0: they are not equal");
}

TEST_CASE("equal fingerprints of unequal pages: both stay, the first is found, and then the next") {
  HomeStore store(8);
  REQUIRE(store.promise(1, 4).ok());
  const SlotId first = store.acquire(1).value(), second = store.acquire(1).value(), third = store.acquire(1).value();
  REQUIRE(store.publish(1, first, print(1)).value() == std::nullopt);
  REQUIRE(store.publish(1, second, print(1)).value() == first);
  REQUIRE(store.drop(1, second).ok());
  REQUIRE(store.publish(1, third, print(1)).value() == first);
  REQUIRE(store.drop(1, first).ok());
  REQUIRE(store.publish(1, third, print(1)).value() == std::nullopt);
  const SlotId fourth = store.acquire(1).value();
  REQUIRE(store.publish(1, fourth, print(1)).value() == third);
}

TEST_CASE("random owners: claims never fail, contents never change under a page or a reader, accounts add up") {
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  constexpr std::uint32_t kSlots = 300;
  const std::uint64_t contents = seed % 2 == 0 ? 60 : 1'000'000;  // much is shared, or nothing and slots are scarce
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  HomeStore store(kSlots);
  struct Owner {
    std::uint32_t open = 0;
    std::vector<std::pair<SlotId, std::uint64_t>> pages;  // home, content it must have
  };
  std::map<OwnerId, Owner> owners;
  std::map<SlotId, std::pair<std::uint32_t, std::uint64_t>> slots;  // references, content
  std::vector<SlotId> held;
  const auto isHeld = [&](SlotId slot) { return std::find(held.begin(), held.end(), slot) != held.end(); };
  const auto letGo = [&] {
    const std::size_t which = random() % held.size();
    store.letGo(held[which]);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
  };
  const auto drop = [&](SlotId slot) {
    if (--slots.at(slot).first == 0) slots.erase(slot);
  };
  // As a caller does who must have a slot.
  const auto feed = [&] {
    while (store.starved()) letGo();
  };
  const auto home = [&](OwnerId id, SlotId slot, std::uint64_t content, bool mayMerge) {  // the page's home in the end
    if (!slots.emplace(slot, std::pair{1u, content}).second) FAIL("slot " << slot << " given twice");
    if (isHeld(slot)) FAIL("slot " << slot << " given to be written while it is read");
    if (random() % 8 == 0) return slot;  // not looked at
    const auto equal = store.publish(id, slot, print(content)).value();
    if (!equal) return slot;
    if (slots.at(*equal).second != content) FAIL("found other content");
    if (!mayMerge) return slot;
    REQUIRE(store.merge(id, slot, *equal).ok());
    slots.erase(slot);
    ++slots.at(*equal).first;
    return *equal;
  };
  std::uint64_t starved = 0;
  for (int step = 0; step < 200'000; ++step) {
    const OwnerId id = random() % 12;
    Owner& owner = owners[id];
    const auto count = static_cast<std::uint32_t>(random() % 20);
    std::uint32_t open = 0, pages = 0;
    for (const auto& [_, one] : owners) open += one.open, pages += static_cast<std::uint32_t>(one.pages.size());
    switch (random() % 9) {
      case 0: {
        const bool fits = pages + open + count <= kSlots;
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
      case 2:
        if (slots.empty() || held.size() >= 32) break;
        held.push_back(std::next(slots.begin(), static_cast<std::ptrdiff_t>(random() % slots.size()))->first);
        store.hold(held.back());
        break;
      case 3:
        if (!held.empty() && random() % 3 == 0) letGo();
        break;
      case 4: case 5: {
        if (owner.open != 0) starved += store.starved(), feed();
        const auto slot = store.acquire(id);
        if (slot.ok() != (owner.open != 0)) FAIL("acquire at step " << step);
        if (!slot) break;
        --owner.open;
        const std::uint64_t content = random() % contents;
        owner.pages.emplace_back(home(id, *slot, content, random() % 8 != 0), content);
        break;
      }
      case 6: {  // a page is written on a device and written back
        if (owner.pages.empty()) break;
        auto& [old, content] = owner.pages[random() % owner.pages.size()];
        starved += store.starved(), feed();
        const auto slot = store.rewrite(id, old);
        if (!slot) FAIL("rewrite at step " << step << ": " << slot.error().message);
        if ((*slot == old) != (slots.at(old).first == 1 && !isHeld(old))) FAIL("another or not at step " << step);
        drop(old);
        content = random() % contents;
        old = home(id, *slot, content, true);
        break;
      }
      case 7: {
        if (owner.pages.empty()) break;
        const std::size_t which = random() % owner.pages.size();
        REQUIRE(store.drop(id, owner.pages[which].first).ok());
        drop(owner.pages[which].first);
        ++owner.open;
        owner.pages.erase(owner.pages.begin() + static_cast<std::ptrdiff_t>(which));
        break;
      }
      case 8:
        if (random() % 200 == 0) {  // gone
          store.release(id);
          for (const auto& page : owner.pages) drop(page.first);
          owners.erase(id);
        } else if (!slots.empty() && contents < kSlots) {  // an instance is forked from another
          const auto other = std::next(slots.begin(), static_cast<std::ptrdiff_t>(random() % slots.size()));
          if (!store.share(id, other->first)) break;  // private, or nothing promised
          ++other->second.first;
          --owner.open;
          owner.pages.emplace_back(other->first, other->second.second);
        }
        break;
    }
    if (store.used() != slots.size()) FAIL("used at step " << step);
    if (step % 64 != 0) continue;
    double fair = 0;
    std::uint64_t referred = 0;
    open = 0;
    for (const auto& [owned, one] : owners) {
      const auto usage = store.usage(owned);
      REQUIRE(usage.open == one.open);
      REQUIRE(usage.pages == one.pages.size());
      std::uint32_t shared = 0;
      for (const auto& [slot, content] : one.pages) {
        if (slots.at(slot).second != content) FAIL("a page's content changed at step " << step);
        shared += slots.at(slot).first > 1;
      }
      REQUIRE(usage.shared == shared);
      REQUIRE(store.sharedPages(owned) == shared);
      fair += usage.fairBytes;
      referred += one.pages.size(), open += one.open;
    }
    REQUIRE(store.pages() == referred);
    REQUIRE(fair == Approx(double(store.usedBytes())));
    REQUIRE(store.openClaims() == open);
    REQUIRE(store.promisable() == kSlots - referred - open);
    for (const auto& [slot, entry] : slots) REQUIRE(store.references(slot) == entry.first);
  }
  CHECK((starved != 0) == (contents > kSlots));  // it has been tried
}

}  // namespace rouse::memory
