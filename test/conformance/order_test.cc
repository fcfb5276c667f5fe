// Streams, events, slots: what is ordered and what is not, and who is told.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "test/conformance/backend.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

memory::FillShape fillOf(std::uint64_t to, std::uint64_t bytes, std::uint8_t value) {
  memory::FillShape shape;
  shape.destination = to;
  shape.width = bytes;
  shape.value = value;
  return shape;
}

std::uint64_t nowNs() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

TEST_CASE("an idle stream signals at once, with time and result") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  CHECK(stream->idle());
  CHECK(bench.context->idle());
  const std::uint64_t before = nowNs();
  bench.context->signal(*stream, bench.slots[1], 7, true);
  bench.await(1, 7);
  CHECK(bench.slots[1].value.load() == 7);
  CHECK(bench.slots[1].result.load() == 0);
  CHECK(bench.slots[1].timestampNs.load() >= before);
  CHECK(bench.slots[1].timestampNs.load() <= nowNs());
  bench.context->signal(*stream, bench.slots[2], 1, false);
  bench.await(2);
  CHECK(bench.slots[2].timestampNs.load() == 0);
}

TEST_CASE("a stream is in order") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(16 << 20);
  for (int round = 1; round <= 20; ++round) {
    const std::uint64_t bytes = round % 2 == 0 ? 16 << 20 : 5000;
    bench.context->fill(*stream, fillOf(a, bytes, static_cast<std::uint8_t>(round)));
    bench.context->signal(*stream, bench.slots[0], static_cast<std::uint64_t>(round), false);
  }
  bench.await(0, 20);
  CHECK(bench.read(*stream, a, 16 << 20) == std::vector<std::uint8_t>(16 << 20, 20));
  CHECK(bench.becomesIdle(*stream));
}

TEST_CASE("a waiting process is woken through the slot's futex word") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(64 << 20);
  bench.context->fill(*stream, fillOf(a, 64 << 20, 1));
  bench.context->signal(*stream, bench.slots[0], 1, false);
  std::thread waiter([&] {
    // As layout.h says: a shared futex on the low half of `value`.
    wire::Slot& slot = bench.slots[0];
    slot.waiters.fetch_add(1);
    const timespec limit{10, 0};
    while (slot.value.load() < 1) {
      if (syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&slot.value), FUTEX_WAIT, 0, &limit, nullptr, 0) != 0 &&
          errno == ETIMEDOUT) {
        break;
      }
    }
    slot.waiters.fetch_sub(1);
  });
  waiter.join();
  CHECK(bench.slots[0].value.load() == 1);
}

TEST_CASE("a slot wait holds its stream, and no other, until anyone writes the slot") {
  Bench bench(EACH_BACKEND(), 1);
  auto held = bench.context->createStream(0);
  auto other = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(4 << 20);
  bench.context->waitFor(*held, bench.slots[0], 5);
  bench.context->fill(*held, fillOf(a, 4 << 20, 1));
  bench.context->signal(*held, bench.slots[1], 1, false);
  bench.context->fill(*other, fillOf(a, 4 << 20, 2));
  CHECK(bench.finish(*other) == CudaError::success);
  CHECK(bench.slots[1].value.load() == 0);
  CHECK_FALSE(held->idle());
  CHECK_FALSE(bench.context->idle());
  bool waiting = false;
  bench.device->poll(waiting);
  CHECK(waiting);
  bench.slots[0].value.store(4);
  bench.device->poll(waiting);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(bench.slots[1].value.load() == 0);
  bench.slots[0].value.store(5);
  bench.await(1);
  CHECK(bench.read(*other, a, 4) == std::vector<std::uint8_t>(4, 1));
  bench.device->poll(waiting);
  CHECK_FALSE(waiting);
}

TEST_CASE("a slot wait is satisfied by another stream's signal without polling") {
  Bench bench(EACH_BACKEND());
  auto first = bench.context->createStream(0);
  auto second = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(32 << 20);
  for (std::uint64_t round = 1; round <= 50; ++round) {
    bench.context->waitFor(*second, bench.slots[0], round);
    bench.context->signal(*second, bench.slots[1], round, false);
    bench.context->fill(*first, fillOf(a, round % 5 == 0 ? 32 << 20 : 1 << 10, 3));
    bench.context->signal(*first, bench.slots[0], round, false);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (bench.slots[1].value.load() < round && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    REQUIRE(bench.slots[1].value.load() == round);
  }
}

TEST_CASE("a parked stream tells the executor, which must poll for it") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(16 << 20);
  int seen = bench.observer.progress.load();
  bench.context->fill(*stream, fillOf(a, 16 << 20, 1));
  bench.context->waitFor(*stream, bench.slots[0], 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  // It may be told of the fill first. Nobody polls who has not been told.
  bool waiting = false;
  while (!waiting && std::chrono::steady_clock::now() < end) {
    if (const int now = bench.observer.progress.load(); now != std::exchange(seen, now))
      bench.device->poll(waiting);
    else
      std::this_thread::yield();
  }
  CHECK(waiting);
  bench.slots[0].value.store(1);
  CHECK(bench.finish(*stream) == CudaError::success);
}

TEST_CASE("events order streams; a wait refers to the latest record before it") {
  Bench bench(EACH_BACKEND());
  auto producer = bench.context->createStream(0);
  auto consumer = bench.context->createStream(0);
  auto event = bench.context->createEvent();
  bench.context->wait(*consumer, *event);  // never recorded: no wait
  CHECK(bench.finish(*consumer) == CudaError::success);
  constexpr std::uint64_t kBytes = 4 << 20;
  const std::uint64_t a = bench.allocate(kBytes);
  const std::uint64_t b = bench.allocate(kBytes);
  for (std::uint8_t round = 1; round <= 30; ++round) {
    bench.context->fill(*producer, fillOf(a, kBytes, round));
    bench.context->record(*producer, *event);
    bench.context->wait(*consumer, *event);
    bench.context->copy(*consumer, linear(b, a, kBytes));
    auto done = bench.context->createEvent();
    bench.context->record(*consumer, *done);
    bench.context->wait(*producer, *done);  // the event dies here, the wait does not
  }
  REQUIRE(bench.finish(*producer) == CudaError::success);
  CHECK(bench.read(*consumer, b, kBytes) == std::vector<std::uint8_t>(kBytes, 30));
}

TEST_CASE("recording again does not move a wait that was made before") {
  Bench bench(EACH_BACKEND());
  auto first = bench.context->createStream(0);
  auto second = bench.context->createStream(0);
  auto event = bench.context->createEvent();
  bench.context->waitFor(*first, bench.slots[0], 1);
  bench.context->record(*first, *event);
  bench.context->wait(*second, *event);
  bench.context->signal(*second, bench.slots[1], 1, false);
  bench.context->waitFor(*first, bench.slots[2], 1);
  bench.context->record(*first, *event);  // a later point
  bench.slots[0].value.store(1);
  bench.await(1);
  CHECK_FALSE(first->idle());
  bench.slots[2].value.store(1);
  CHECK(bench.finish(*first) == CudaError::success);
}

TEST_CASE("destroying a stream completes what is queued, without waiting for it") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  auto reader = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(4 << 20);
  bench.context->waitFor(*stream, bench.slots[0], 1);
  bench.context->fill(*stream, fillOf(a, 4 << 20, 9));
  bench.context->signal(*stream, bench.slots[1], 1, false);
  stream.reset();
  CHECK(bench.slots[1].value.load() == 0);
  bench.slots[0].value.store(1);
  bench.await(1);
  CHECK(bench.read(*reader, a, 16) == std::vector<std::uint8_t>(16, 9));
}

TEST_CASE("destroying a context cancels what has not begun and waits for nothing else") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t a = bench.allocate(32 << 20);
  bench.context->fill(*stream, fillOf(a, 32 << 20, 1));
  bench.context->waitFor(*stream, bench.slots[0], 1);
  bench.context->fill(*stream, fillOf(a, 32 << 20, 2));
  bench.context->signal(*stream, bench.slots[1], 1, false);
  stream.reset();
  bench.context.reset();
  // Nobody waits for ever: cancelled signals are delivered with an error.
  CHECK(bench.slots[1].value.load() == 1);
  CHECK(bench.slots[1].result.load() != 0);
}

TEST_CASE("many streams on few workers all come to an end") {
  Bench bench(EACH_BACKEND(), 1);
  std::vector<std::unique_ptr<memory::Stream>> streams;
  const std::uint64_t a = bench.allocate(8 << 20);
  for (int i = 0; i < 64; ++i) {
    streams.push_back(bench.context->createStream(i % 3 - 1));
    if (i % 4 == 0) bench.context->waitFor(*streams.back(), bench.slots[500], 1);
    bench.context->fill(*streams.back(),
                        fillOf(a + static_cast<std::uint64_t>(i) * 131072, 131072, static_cast<std::uint8_t>(i)));
    bench.context->signal(*streams.back(), bench.slots[static_cast<std::size_t>(i)], 1, false);
  }
  for (int i = 0; i < 64; ++i) {
    if (i % 4 != 0) bench.await(static_cast<std::size_t>(i));
  }
  bench.slots[500].value.store(1);
  for (int i = 0; i < 64; ++i) bench.await(static_cast<std::size_t>(i));
  const auto bytes = bench.read(*streams[0], a, 8 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != i / 131072) FAIL("byte " << i);
  }
}
