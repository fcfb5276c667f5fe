#include "schemas/wire/shared_event.h"

#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

#include "schemas/wire/slot_wait.h"

namespace rouse::wire {
namespace {

struct Page {
  Page() : slots(new Slot[kSharedEventSlots]()), event(slots.get()) {}
  void reach(std::uint64_t record) { signal(slots[SharedEvent::slotOf(record)], record); }
  std::unique_ptr<Slot[]> slots;
  SharedEvent event;
};

}  // namespace

TEST_CASE("records are numbered from 1, each in the slot after the one before") {
  Page page;
  CHECK(page.event.latest() == 0);
  CHECK(page.event.allReached());
  for (std::uint64_t record = 1; record <= 3 * SharedEvent::kRecords; ++record) {
    REQUIRE(page.event.claim(7) == record);
    REQUIRE(page.event.latest() == record);
    REQUIRE(SharedEvent::slotOf(record) != 0);
    REQUIRE(SharedEvent::slotOf(record) < kSharedEventSlots);
    REQUIRE_FALSE(page.event.reached(record));
    REQUIRE_FALSE(page.event.allReached());
    page.reach(record);
    REQUIRE(page.event.reached(record));
    REQUIRE(page.event.allReached());
  }
}

TEST_CASE("what one has claimed and cannot keep is kept for it, and nothing else") {
  Page page;
  const auto a = page.event.claim(1), b = page.event.claim(2), c = page.event.claim(1), d = page.event.claim(2);
  page.reach(a);
  page.event.abandon(1, CudaError::devicesUnavailable);
  CHECK(page.event.reached(c));
  CHECK(page.slots[SharedEvent::slotOf(c)].result.load() == static_cast<std::uint32_t>(CudaError::devicesUnavailable));
  CHECK(page.slots[SharedEvent::slotOf(a)].result.load() == 0);
  CHECK_FALSE(page.event.reached(b));
  CHECK_FALSE(page.event.reached(d));
  page.event.abandon(2, CudaError::devicesUnavailable);
  CHECK(page.event.allReached());
  CHECK(page.event.claim(3) == d + 1);
}

TEST_CASE("a process that ends between its claim and its entry leaves nobody waiting") {
  // As claim() leaves the page there: the latest is told in the first slot, and nowhere else.
  Page page;
  const std::uint64_t latest = page.event.claim(5);
  page.slots[SharedEvent::slotOf(latest)].payload = 0;
  SECTION("it is the latest") { page.event.abandon(5, CudaError::devicesUnavailable); }
  SECTION("another has been claimed since") {
    const std::uint64_t other = page.event.claim(6);
    page.event.abandon(5, CudaError::devicesUnavailable);
    CHECK_FALSE(page.event.reached(other));
  }
  CHECK(page.event.reached(latest));
}

TEST_CASE("a slot is claimed again only once it has what it was claimed for") {
  Page page;
  const auto first = page.event.claim(1);
  CHECK(page.event.blocking() == 0);
  for (std::uint64_t i = 1; i < SharedEvent::kRecords; ++i) REQUIRE(page.event.claim(2) == first + i);
  CHECK(page.event.claim(2) == 0);
  CHECK(page.event.claim(1) == 0);
  CHECK(page.event.blocking() == first);
  CHECK(page.event.latest() == SharedEvent::kRecords);
  SECTION("which it has from its owner") { page.reach(first); }
  SECTION("which it has though its owner has ended") { page.event.abandon(1, CudaError::devicesUnavailable); }
  CHECK(page.event.reached(first));
  const auto next = page.event.claim(2);
  CHECK(next == first + SharedEvent::kRecords);
  CHECK(SharedEvent::slotOf(next) == SharedEvent::slotOf(first));
  // Whoever claims it now, and whatever has become of the others: nobody waits for the dead, and nothing goes back.
  page.event.abandon(2, CudaError::devicesUnavailable);
  CHECK(page.event.reached(next));
  CHECK(page.event.allReached());
  page.reach(first);
  CHECK(page.event.reached(next));
}

TEST_CASE("claims of many at once are all different, and each has its place") {
  Page page;
  constexpr int kThreads = 4, kEach = 20'000;
  std::array<std::vector<std::uint64_t>, kThreads> claimed;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      while (claimed[i].size() < kEach) {
        const std::uint64_t record = page.event.claim(100 + i);
        if (record == 0) {
          std::this_thread::yield();
          continue;
        }
        claimed[i].push_back(record);
        // By itself, or as its executor would.
        record % 7 != 0 ? page.reach(record) : page.event.abandon(100 + i, CudaError::success);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& each : claimed) {
    CHECK(std::ranges::is_sorted(each));
    all.insert(each.begin(), each.end());
  }
  CHECK(all.size() == kThreads * kEach);
  CHECK(*all.rbegin() == kThreads * kEach);
  CHECK(page.event.allReached());
}

TEST_CASE("a page of anything at all is read within its bounds") {
  Page page;
  std::uint64_t word = 0x9e3779b97f4a7c15;
  for (int round = 0; round < 1000; ++round) {
    for (std::uint32_t i = 0; i < kSharedEventSlots; ++i) {
      for (auto* field : {&page.slots[i].value, &page.slots[i].payload}) field->store(word = word * 6364136223846793005 + 1442695040888963407);
    }
    page.event.claim(word);
    (void)page.event.allReached();
    (void)page.event.reached(word);
    page.event.abandon(word, CudaError::devicesUnavailable);
    REQUIRE(SharedEvent::slotOf(page.event.latest()) < kSharedEventSlots);
  }
}

}  // namespace rouse::wire
