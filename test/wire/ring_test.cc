// The ring between an honest producer and an honest consumer: order, bytes, room, wake-ups.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "schemas/wire/encode.h"
#include "test/wire/fixture.h"

namespace rouse::wire {
namespace {

const auto kNoWake = [] {};
const auto kAlive = [] { return true; };

// Command number i of a run: a CopyInline whose size and bytes follow from i.
std::size_t payloadSize(std::uint64_t i) {
  Sequence random{i};
  const std::uint64_t kind = random();
  if (kind % 16 == 0) return 1 + random() % CopyInline::kMaxPayloadBytes;
  return 1 + random() % 200;
}

std::byte payloadByte(std::uint64_t i, std::size_t at) { return static_cast<std::byte>(i * 131 + at * 7); }

template <class Wake, class Alive>
bool send(RingProducer& producer, std::uint64_t i, Wake&& wake, Alive&& alive) {
  std::byte payload[CopyInline::kMaxPayloadBytes];
  const std::size_t size = payloadSize(i);
  for (std::size_t at = 0; at < size; ++at) payload[at] = payloadByte(i, at);
  const CopyInline command{.stream = {}, .destination = i};
  const std::span<const std::byte> bytes{payload, size};
  std::byte* room = producer.reserve(encodedBytes(command, bytes), wake, alive);
  if (room == nullptr) return false;
  producer.publish(encode(room, command, bytes), wake);
  return true;
}

// True when `bytes` is command number i, whole.
bool isCommand(std::span<const std::byte> bytes, std::uint64_t i) {
  CopyInline command;
  const std::size_t size = payloadSize(i);
  if (bytes.size() != sizeof(command) + size) return false;
  std::memcpy(&command, bytes.data(), sizeof(command));
  if (command.header.opcode != static_cast<std::uint16_t>(Opcode::CopyInline) || command.destination != i) return false;
  for (std::size_t at = 0; at < size; ++at) {
    if (bytes[sizeof(command) + at] != payloadByte(i, at)) return false;
  }
  return true;
}

enum class Rest { never, nap, sleep, both };

// Takes `count` commands and rests as an executor does. Returns how many were right; stops at the first wrong one, and
// when nothing came for ten seconds (a lost wake-up).
std::uint64_t consume(const TwoEnds& ends, RingConsumer& consumer, std::uint64_t count, Rest rest) {
  Sequence random{count};
  std::uint64_t i = 0;
  while (i < count) {
    switch (consumer.next()) {
      case Take::command:
        if (!isCommand(consumer.command(), i)) return i;
        ++i;
        continue;
      case Take::rejected:
        return i;
      case Take::empty:
        break;
    }
    const bool nap = rest == Rest::nap || (rest == Rest::both && random() % 2 == 0);
    if (rest == Rest::never) {
      consumer.release();
      std::this_thread::yield();
    } else if (nap) {
      // Longer than a nap may be, so that a missing wake shows as lost time rather than passes unseen.
      if (consumer.prepareNap()) ends.awaitBell(1);
      consumer.awake();
    } else {
      if (consumer.prepareSleep() && !ends.awaitBell(10'000)) return i;
      consumer.awake();
    }
  }
  consumer.release();
  return i;
}

}  // namespace

TEST_CASE("commands of any size arrive whole and in order between threads") {
  for (const Rest rest : {Rest::never, Rest::nap, Rest::sleep, Rest::both}) {
    INFO("rest " << static_cast<int>(rest));
    TwoEnds ends;
    constexpr std::uint64_t kCount = 20'000;
    std::uint64_t right = 0;
    RingConsumer consumer = ends.consumer();
    std::thread server([&] { right = consume(ends, consumer, kCount, rest); });
    RingProducer producer = ends.producer();
    bool sent = true;
    for (std::uint64_t i = 0; i < kCount && sent; ++i) {
      sent = send(producer, i, [&] { ends.ring(); }, kAlive);
    }
    producer.flush([&] { ends.ring(); });
    server.join();
    CHECK(sent);
    CHECK(right == kCount);
    CHECK(consumer.commands() == kCount);
    CHECK(consumer.taken() == producer.tail());
    CHECK(ends.client.header().head == producer.tail());
  }
}

TEST_CASE("commands arrive whole and in order between processes") {
  TwoEnds ends;
  constexpr std::uint64_t kCount = 20'000;
  const pid_t child = ::fork();
  if (child == 0) {
    RingConsumer consumer = ends.consumer();
    ::_exit(consume(ends, consumer, kCount, Rest::both) == kCount ? 0 : 1);
  }
  RingProducer producer = ends.producer();
  bool sent = true;
  for (std::uint64_t i = 0; i < kCount && sent; ++i) {
    sent = send(producer, i, [&] { ends.ring(); }, [&] { return ::waitpid(child, nullptr, WNOHANG) == 0; });
  }
  producer.flush([&] { ends.ring(); });
  CHECK(sent);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("no wake-up is lost, one command at a time") {
  // Ping-pong: each command is sent only when the one before was taken, so that a lost wake-up stops everything. The
  // bell is a word in memory instead of an eventfd: that makes a round so short that both sides often meet within the
  // few nanoseconds in which a missing fence matters. As many rounds as fit in a second or so.
  for (const Rest rest : {Rest::sleep, Rest::both}) {
    INFO("rest " << static_cast<int>(rest));
    TwoEnds ends;
    constexpr std::uint64_t kRounds = 400'000;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
    alignas(64) std::atomic<std::uint64_t> taken{0};
    alignas(64) std::atomic<std::uint64_t> bell{0};
    std::atomic<bool> done{false};
    const auto wake = [&] { bell.fetch_add(1, std::memory_order_release); };
    // False: the condition has not come true for so long that it never will.
    const auto await = [&](auto condition) {
      for (int i = 0; i < 200; ++i) {
        if (condition()) return true;
        cpuRelax();
      }
      const auto lost = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (!condition()) {
        if (std::chrono::steady_clock::now() > lost) return false;
        std::this_thread::yield();
      }
      return true;
    };
    RingConsumer consumer = ends.consumer();
    bool slept = false;
    std::thread server([&] {
      Sequence random{7};
      while (!done.load(std::memory_order_acquire)) {
        const std::uint64_t heard = bell.load(std::memory_order_acquire);
        if (consumer.next() == Take::command) {
          taken.fetch_add(1, std::memory_order_release);
          continue;
        }
        for (std::uint64_t spin = random() % 8; spin != 0; --spin) cpuRelax();
        // The producer flushes, so a napper too must be woken each time: it never relies on its own alarm here.
        const bool nap = rest == Rest::both && random() % 2 == 0;
        if (nap ? consumer.prepareNap() : consumer.prepareSleep()) {
          slept = true;
          if (!await([&] {
                return bell.load(std::memory_order_acquire) != heard || done.load(std::memory_order_acquire);
              })) {
            break;
          }
        }
        consumer.awake();
      }
    });
    RingProducer producer = ends.producer();
    Sequence random{3};
    std::uint64_t i = 0;
    bool lost = false;
    for (; i < kRounds && !lost && std::chrono::steady_clock::now() < end; ++i) {
      std::byte* room = producer.reserve(sizeof(Fence), kNoWake, kAlive);
      producer.publish(encode(room, Fence{}), wake);
      if (rest == Rest::both) producer.flush(wake);
      lost = !await([&] { return taken.load(std::memory_order_acquire) > i; });
      for (std::uint64_t spin = random() % 8; spin != 0; --spin) cpuRelax();
    }
    done = true;
    server.join();
    CHECK_FALSE(lost);
    CHECK(slept);
    CHECK(i > 0);
    CHECK(consumer.commands() == i);
  }
}

TEST_CASE("who must be woken, and when") {
  TwoEnds ends;
  RingProducer producer = ends.producer();
  RingConsumer consumer = ends.consumer();
  int wakes = 0;
  const auto wake = [&] { ++wakes; };
  const auto sendOne = [&] { producer.publish(encode(producer.tryReserve(sizeof(Fence)), Fence{}), wake); };
  const auto takeAll = [&] {
    while (consumer.next() == Take::command) {
    }
  };

  SECTION("nobody, while the consumer polls") {
    for (int i = 0; i < 1000; ++i) sendOne();
    producer.flush(wake);
    CHECK(wakes == 0);
  }
  SECTION("a sleeper at the first command, once, until it rests again") {
    REQUIRE(consumer.prepareSleep());
    sendOne();
    CHECK(wakes == 1);
    sendOne();
    sendOne();
    producer.flush(wake);
    // The sleeper has not come yet. The flush may not rely on anything but the wake for its own commands.
    CHECK(wakes == 2);
    producer.flush(wake);
    CHECK(wakes == 2);
    takeAll();
    REQUIRE(consumer.prepareSleep());
    sendOne();
    CHECK(wakes == 3);
  }
  SECTION("a napper at 64 commands") {
    for (int i = 0; i < 100; ++i) sendOne();  // while polling: these do not count
    takeAll();
    REQUIRE(consumer.prepareNap());
    for (std::uint32_t i = 1; i < kBatchCommands; ++i) sendOne();
    CHECK(wakes == 0);
    sendOne();
    CHECK(wakes == 1);
    for (std::uint32_t i = 0; i < kBatchCommands; ++i) sendOne();
    CHECK(wakes == 2);
  }
  SECTION("a napper at 32 KiB") {
    REQUIRE(consumer.prepareNap());
    const std::vector<std::byte> half(kBatchBytes / 2 - sizeof(CopyInline));
    const CopyInline command{.stream = {}, .destination = 1};
    const auto sendHalf = [&] { producer.publish(encode(producer.tryReserve(kBatchBytes / 2), command, half), wake); };
    sendHalf();
    CHECK(wakes == 0);
    sendHalf();
    CHECK(wakes == 1);
  }
  SECTION("a napper by a flush, once") {
    REQUIRE(consumer.prepareNap());
    producer.flush(wake);
    CHECK(wakes == 0);  // nothing to take
    sendOne();
    producer.flush(wake);
    CHECK(wakes == 1);
    producer.flush(wake);
    CHECK(wakes == 1);
  }
  SECTION("a consumer that sees something does not rest") {
    sendOne();
    CHECK_FALSE(consumer.prepareSleep());
    CHECK(ends.client.header().consumerState == ConsumerState::polling);
    CHECK_FALSE(consumer.prepareNap());
    takeAll();
    CHECK(consumer.prepareNap());
    CHECK(ends.client.header().consumerState == ConsumerState::napping);
    consumer.awake();
    CHECK(ends.client.header().consumerState == ConsumerState::polling);
  }
}

TEST_CASE("a full ring gives no room, and room again when commands are taken") {
  TwoEnds ends;
  RingProducer producer = ends.producer();
  RingConsumer consumer = ends.consumer();
  std::size_t sent = 0;
  const std::vector<std::byte> payload(CopyInline::kMaxPayloadBytes);
  const CopyInline command{.stream = {}, .destination = 1};
  const std::size_t bytes = encodedBytes(command, payload);
  while (std::byte* room = producer.tryReserve(bytes)) {
    producer.publish(encode(room, command, payload), kNoWake);
    ++sent;
  }
  CHECK(sent == kRingBytes / roundUp(bytes, kCommandAlign));
  int asked = 0, wakes = 0;
  // A consumer that sleeps all the same is woken before its producer waits for it.
  ends.server.header().consumerState = ConsumerState::asleep;
  CHECK(producer.reserve(bytes, [&] { ++wakes; }, [&] { return ++asked < 2; }) == nullptr);
  CHECK(asked == 2);
  CHECK(wakes == 1);
  CHECK(ends.client.header().producerWaiting == 0);

  REQUIRE(consumer.next() == Take::command);
  CHECK(producer.tryReserve(bytes) == nullptr);  // taken, but not given back yet
  consumer.release();
  CHECK(producer.tryReserve(bytes) != nullptr);
  for (std::size_t i = 1; i < sent; ++i) REQUIRE(consumer.next() == Take::command);
  CHECK(consumer.next() == Take::empty);
}

TEST_CASE("a producer that waits for room is woken at once") {
  // The longest commands, so that the ring is full nearly always, and a consumer that gives room back one by one.
  // Without the wake, or when it gets lost, the producer sleeps for a liveness interval; a busy machine may do that to
  // a thread too, but not often.
  TwoEnds ends;
  RingProducer producer = ends.producer();
  RingConsumer consumer = ends.consumer();
  constexpr int kCount = 20'000;
  constexpr int kTolerated = 50;
  std::atomic<bool> stop{false};
  std::thread server([&] {
    Sequence random{9};
    for (int i = 0; i < kCount && !stop.load(std::memory_order_relaxed);) {
      if (consumer.next() == Take::command) ++i;
      for (std::uint64_t spin = random() % 16; spin != 0; --spin) cpuRelax();
      consumer.release();
    }
  });
  int slow = 0;
  const CommandHeader header{1, 0, kMaxCommandBytes};
  for (int i = 0; i < kCount && slow < kTolerated; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::byte* room = producer.reserve(kMaxCommandBytes, kNoWake, kAlive);
    if (std::chrono::steady_clock::now() - start >= kLivenessInterval) ++slow;
    std::memcpy(room, &header, sizeof(header));
    producer.publish(kMaxCommandBytes, kNoWake);
  }
  if (slow == kTolerated) stop = true;
  server.join();
  CHECK(slow < kTolerated);
  CHECK(consumer.taken() == producer.tail());
}

TEST_CASE("a second producer object goes on where the first stopped") {
  TwoEnds ends;
  RingConsumer consumer = ends.consumer();
  for (int i = 0; i < 3; ++i) {
    RingProducer producer = ends.producer();
    producer.publish(encode(producer.tryReserve(sizeof(Fence)), Fence{}), kNoWake);
    REQUIRE(consumer.next() == Take::command);
  }
  CHECK(consumer.commands() == 3);
  CHECK(consumer.next() == Take::empty);
}

}  // namespace rouse::wire
