#include "server/device/cpu/runtime/grace_periods.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace rouse::test {

TEST_CASE("a grace period is over when all who were inside have left or entered anew, and nobody else") {
  cpu::GracePeriods periods;
  CHECK(periods.isOver(periods.begin()));
  const std::uint32_t first = periods.enter();
  const std::uint64_t begun = periods.begin();
  CHECK_FALSE(periods.isOver(begun));
  const std::uint32_t again = periods.enter();
  CHECK_FALSE(periods.isOver(begun));
  const std::uint64_t later = periods.begin();
  periods.leave(first);
  CHECK(periods.isOver(begun));
  CHECK_FALSE(periods.isOver(later));
  const std::uint32_t behind = periods.enter();
  periods.leave(again);
  CHECK(periods.isOver(later));
  periods.leave(behind);
  CHECK(periods.isOver(periods.begin()));
}

// As barriers go: a value that stands until everybody has been let go, though it is changed as soon as one may.
TEST_CASE("whoever polls sees each value that stands for a grace period") {
  cpu::GracePeriods periods;
  constexpr std::uint32_t kValues = 2000, kReaders = 3;
  std::atomic<std::uint32_t> place{0};
  std::vector<std::uint32_t> seen(kReaders);
  std::atomic<std::uint32_t> ready{0};
  std::vector<std::thread> readers;
  for (std::uint32_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] {
      std::uint32_t inside = periods.enter(), last = 0;
      ++ready;
      while (last != kValues) {
        const std::uint32_t next = periods.enter(), value = place.load();
        periods.leave(inside);
        inside = next;
        if (value != last) ++seen[reader];
        last = value;
        std::this_thread::yield();
      }
      periods.leave(inside);
    });
  }
  while (ready != kReaders) std::this_thread::yield();
  for (std::uint32_t value = 1; value <= kValues; ++value) {
    place = value;
    for (const std::uint64_t begun = periods.begin(); !periods.isOver(begun);) std::this_thread::yield();
  }
  for (std::thread& reader : readers) reader.join();
  for (const std::uint32_t count : seen) CHECK(count == kValues);
}

}  // namespace rouse::test
