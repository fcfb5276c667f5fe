#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "schemas/wire/futex.h"
#include "schemas/wire/slot_wait.h"
#include "test/wire/fixture.h"

namespace rouse::wire {
namespace {

using namespace std::chrono_literals;

struct Session {
  OwnedFd fd = mustHave(SessionSegment::create(1, 1));
  SessionSegment client = mustHave(SessionSegment::map(fd.get(), ForkedChild::inherits));
  SessionSegment server = mustHave(SessionSegment::map(fd.get(), ForkedChild::inherits));
};

const auto kAlive = [] { return true; };

}  // namespace

TEST_CASE("a reached value costs no waiting and brings its result and time") {
  Session session;
  SpinBudget spin;
  signal(session.server.slot(9), 5, CudaError::launchFailure, 1234);
  Slot& slot = session.client.slot(9);
  CHECK(waitUntil(slot, 5, spin, [] { return false; }) == WaitResult::reached);
  CHECK(waitUntil(slot, 1, spin, [] { return false; }) == WaitResult::reached);
  CHECK(slot.result == static_cast<std::uint32_t>(CudaError::launchFailure));
  CHECK(slot.timestampNs == 1234);
  signal(session.server.slot(9), 6);
  CHECK(slot.result == 0);
  CHECK(slot.timestampNs == 1234);
}

TEST_CASE("a value is only ever raised") {
  Session session;
  Slot& slot = session.client.slot(9);
  signal(slot, 5, CudaError::success, 100);
  signal(slot, 4, CudaError::launchFailure, 200);
  CHECK(slot.value == 5);
  CHECK(slot.result == 0);
  CHECK(slot.timestampNs == 100);
  signal(slot, 5, CudaError::launchFailure);
  CHECK(slot.value == 5);
  CHECK(slot.result == static_cast<std::uint32_t>(CudaError::launchFailure));
}

TEST_CASE("a wait ends when the peer is gone") {
  Session session;
  for (const bool scarce : {false, true}) {
    SpinBudget spin{scarce};
    int asked = 0;
    CHECK(waitUntil(session.client.slot(0), 1, spin, [&] { return ++asked < 3; }) == WaitResult::abandoned);
    CHECK(asked == 3);
    CHECK(session.client.slot(0).waiters == 0);
  }
}

TEST_CASE("no wake-up is lost between threads") {
  // Two slots, ping and pong; each side sleeps at once (no spinning) or spins a little. A lost wake-up would cost a
  // liveness interval and is counted as one.
  for (const bool scarce : {true, false}) {
    Session session;
    constexpr std::uint64_t kRounds = 20'000;
    std::atomic<int> lost{0};
    // A machine that is busy may deschedule a thread for that long; a protocol that loses wake-ups does it all the
    // time.
    constexpr int kTolerated = 50;
    const auto alive = [&] { return lost < kTolerated; };
    const auto waitTimed = [&](Slot& slot, std::uint64_t value, SpinBudget& spin) {
      const auto start = std::chrono::steady_clock::now();
      if (waitUntil(slot, value, spin, alive) != WaitResult::reached) ++lost;
      if (std::chrono::steady_clock::now() - start >= kLivenessInterval) ++lost;
    };
    std::thread server([&] {
      SpinBudget spin{scarce};
      Sequence random{5};
      for (std::uint64_t i = 1; i <= kRounds && alive(); ++i) {
        waitTimed(session.server.slot(1), i, spin);
        for (std::uint64_t n = random() % 50; n != 0; --n) cpuRelax();
        signal(session.server.slot(2), i);
      }
    });
    SpinBudget spin{scarce};
    Sequence random{6};
    for (std::uint64_t i = 1; i <= kRounds && alive(); ++i) {
      signal(session.client.slot(1), i);
      for (std::uint64_t n = random() % 50; n != 0; --n) cpuRelax();
      waitTimed(session.client.slot(2), i, spin);
    }
    server.join();
    CHECK(lost < kTolerated);
    CHECK(session.client.slot(1).waiters == 0);
    CHECK(session.client.slot(2).waiters == 0);
  }
}

TEST_CASE("no wake-up is lost between processes") {
  Session session;
  constexpr std::uint64_t kRounds = 5'000;
  const pid_t child = ::fork();
  if (child == 0) {
    SpinBudget spin{true};
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      if (waitUntil(session.server.slot(1), i, spin, [] { return ::getppid() != 1; }) != WaitResult::reached)
        ::_exit(1);
      signal(session.server.slot(2), i, CudaError::success, i);
    }
    ::_exit(0);
  }
  SpinBudget spin{true};
  int slow = 0;
  for (std::uint64_t i = 1; i <= kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    signal(session.client.slot(1), i);
    REQUIRE(waitUntil(session.client.slot(2), i, spin, [&] { return ::waitpid(child, nullptr, WNOHANG) == 0; }) ==
            WaitResult::reached);
    REQUIRE(session.client.slot(2).timestampNs == i);
    if (std::chrono::steady_clock::now() - start >= kLivenessInterval && ++slow == 50) break;
  }
  if (slow == 50) ::kill(child, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(slow < 50);
}

TEST_CASE("all threads that wait for one slot are woken") {
  Session session;
  std::vector<std::thread> waiters;
  std::atomic<int> reached{0};
  for (int i = 0; i < 8; ++i) {
    waiters.emplace_back([&, i] {
      SpinBudget spin{true};
      // Of different values of the same slot.
      if (waitUntil(session.client.slot(0), static_cast<std::uint64_t>(1 + i % 4), spin, kAlive) ==
          WaitResult::reached) {
        ++reached;
      }
    });
  }
  while (session.client.slot(0).waiters < 8) std::this_thread::yield();
  for (std::uint64_t value = 1; value <= 4; ++value) signal(session.server.slot(0), value);
  for (std::thread& waiter : waiters) waiter.join();
  CHECK(reached == 8);
}

TEST_CASE("values beyond 32 bits are compared whole") {
  Session session;
  const std::uint64_t big = (std::uint64_t{1} << 32) + 5;
  signal(session.server.slot(0), 6);
  std::thread writer([&] {
    std::this_thread::sleep_for(5ms);
    signal(session.server.slot(0), big);
  });
  SpinBudget spin{true};
  CHECK(waitUntil(session.client.slot(0), big, spin, kAlive) == WaitResult::reached);
  writer.join();
}

TEST_CASE("the spin budget learns") {
  SECTION("scarce cores never spin") {
    SpinBudget spin{true};
    CHECK(spin.current() == 0ns);
    spin.learn(1us);
    CHECK(spin.current() == 0ns);
  }
  SECTION("short waits are worth twice their length") {
    SpinBudget spin;
    spin.learn(10us);
    CHECK(spin.current() == 20us);
    spin.learn(40us);
    CHECK(spin.current() == SpinBudget::kMost);
    spin.learn(100ns);
    CHECK(spin.current() == SpinBudget::kLeast);
  }
  SECTION("a greater limit is learnt up to") {
    SpinBudget spin{false, SpinBudget::kMostBesideDevice};
    spin.learn(300us);
    CHECK(spin.current() == 600us);
    spin.learn(1900us);
    CHECK(spin.current() == SpinBudget::kMostBesideDevice);
    spin.learn(3ms);
    CHECK(spin.current() == SpinBudget::kMostBesideDevice / 2);
  }
  SECTION("long waits make it give up, short ones bring it back") {
    SpinBudget spin;
    for (int i = 0; i < 10; ++i) spin.learn(1s);
    CHECK(spin.current() == SpinBudget::kLeast);
    spin.learn(20us);
    CHECK(spin.current() == 40us);
  }
}

}  // namespace rouse::wire
