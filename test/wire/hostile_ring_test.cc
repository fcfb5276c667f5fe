// The consumer against a producer that writes whatever it likes.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>

#include "schemas/wire/encode.h"
#include "test/wire/fixture.h"

namespace rouse::wire {
namespace {

void putHeader(const TwoEnds& ends, std::uint64_t at, CommandHeader header) {
  std::memcpy(ends.client.data() + (at & (kRingBytes - 1)), &header, sizeof(header));
}

std::string rejectionOf(TwoEnds& ends, RingConsumer& consumer) {
  if (consumer.next() != Take::rejected) return "not rejected";
  const std::string message = consumer.rejection().message;
  // It stays dead, and it may rest.
  CHECK(consumer.next() == Take::rejected);
  CHECK(consumer.prepareSleep());
  return message;
}

}  // namespace

TEST_CASE("tails that cannot be are refused") {
  TwoEnds ends;
  RingConsumer consumer = ends.consumer();
  putHeader(ends, 0, {1, 0, 16});
  auto& tail = ends.client.header().tail;
  SECTION("further ahead than the ring is long") {
    tail = kRingBytes + 16;
    CHECK(rejectionOf(ends, consumer) ==
          "ring tail 1048592: too far ahead of 0, what was taken; a ring holds 1048576 bytes");
  }
  SECTION("exactly full is fine") {
    tail = kRingBytes;
    CHECK(consumer.next() == Take::command);
  }
  SECTION("at the end of all numbers") {
    tail = UINT64_MAX;
    CHECK(rejectionOf(ends, consumer).find("too far ahead") != std::string::npos);
  }
  SECTION("backwards") {
    tail = 16;
    REQUIRE(consumer.next() == Take::command);
    tail = 0;
    CHECK(rejectionOf(ends, consumer) == "ring tail 0: behind 16, what was taken; a ring holds 1048576 bytes");
  }
  SECTION("between commands") {
    for (std::uint64_t bad : {1, 8, 15, 17}) {
      RingConsumer fresh = ends.consumer();
      tail = bad;
      CHECK(rejectionOf(ends, fresh) == "ring tail " + std::to_string(bad) + ": not a multiple of 16");
    }
  }
}

TEST_CASE("command sizes that cannot be are refused") {
  TwoEnds ends;
  RingConsumer consumer = ends.consumer();
  auto& tail = ends.client.header().tail;
  tail = kRingBytes;
  SECTION("shorter than a header") {
    for (std::uint32_t bytes : {0u, 1u, 7u}) {
      RingConsumer fresh = ends.consumer();
      putHeader(ends, 0, {1, 0, bytes});
      CHECK(rejectionOf(ends, fresh) ==
            "command of " + std::to_string(bytes) + " bytes at 0: shorter than its header, 8");
    }
  }
  SECTION("longer than any command") {
    for (std::uint32_t bytes : {65537u, 1u << 20, 0xffff'fff0u, 0xffff'ffffu}) {
      RingConsumer fresh = ends.consumer();
      putHeader(ends, 0, {1, 0, bytes});
      CHECK(rejectionOf(ends, fresh) == "command of " + std::to_string(bytes) + " bytes at 0: above the limit 65536");
    }
  }
  SECTION("longer than what is published") {
    tail = 32;
    putHeader(ends, 0, {1, 0, 33});
    CHECK(rejectionOf(ends, consumer) == "command of 33 bytes at 0: only 32 are published");
  }
  SECTION("the longest is taken, also across the end of the ring") {
    const std::uint64_t step = kMaxCommandBytes - 16;
    for (std::uint64_t at = 0; at < 3 * kRingBytes; at += step) {
      putHeader(ends, at, {1, 0, static_cast<std::uint32_t>(step - 3)});
      tail = at + step;
      REQUIRE(consumer.next() == Take::command);
      CHECK(consumer.command().size() == step - 3);
    }
  }
}

TEST_CASE("a consumer believes neither head nor state nor what changes behind its back") {
  TwoEnds ends;
  RingConsumer consumer = ends.consumer();
  RingProducer producer = ends.producer();
  const auto sendOne = [&] { producer.publish(encode(producer.tryReserve(sizeof(Fence)), Fence{}), [] {}); };
  sendOne();
  sendOne();
  REQUIRE(consumer.next() == Take::command);
  // What the consumer has published itself is not read back.
  ends.client.header().head = 12345;
  ends.client.header().consumerState = static_cast<ConsumerState>(77);
  // The private copy does not change with the ring.
  const std::span<const std::byte> command = consumer.command();
  std::memset(ends.client.data(), 0xff, 16);
  CommandHeader header;
  std::memcpy(&header, command.data(), sizeof(header));
  CHECK(header.opcode == static_cast<std::uint16_t>(Opcode::Fence));
  CHECK(header.bytes == sizeof(Fence));
  REQUIRE(consumer.next() == Take::command);
  CHECK(consumer.next() == Take::empty);
  consumer.release();
  CHECK(ends.client.header().head == consumer.taken());
}

TEST_CASE("a producer survives any head") {
  TwoEnds ends;
  RingProducer producer = ends.producer();
  const auto fill = [&] {
    std::size_t count = 0;
    while (count < 100 && producer.tryReserve(kMaxCommandBytes) != nullptr) {
      producer.publish(kMaxCommandBytes, [] {});
      ++count;
    }
    return count;
  };
  CHECK(fill() == kRingBytes / kMaxCommandBytes);
  for (const std::uint64_t head : {producer.tail() + 16, UINT64_MAX, producer.tail() - kRingBytes - 16}) {
    ends.server.header().head = head;
    CHECK(producer.tryReserve(16) == nullptr);
  }
}

TEST_CASE("a ring that is scribbled over while it is read never yields a malformed command") {
  TwoEnds ends;
  std::atomic<bool> stop{false};
  std::thread scribbler([&] {
    Sequence random{11};
    while (!stop.load(std::memory_order_relaxed)) {
      // Word by word through atomics: this is a data race by design, and only ours to make well defined.
      const std::uint64_t at = random() % (kRingBytes / 8) * 8;
      const std::uint64_t header = 1 + random() % 30 | (random() % 300) << 32;
      __atomic_store_n(reinterpret_cast<std::uint64_t*>(ends.client.data() + at), header, __ATOMIC_RELAXED);
      if (random() % 8 == 0)
        ends.client.header().tail.store(random() % (2 * kRingBytes) & ~15ull, std::memory_order_release);
    }
  });
  std::uint64_t commands = 0, rejections = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) {
    RingConsumer consumer = ends.consumer();
    Take take;
    while ((take = consumer.next()) == Take::command) {
      ++commands;
      CommandHeader header;
      std::memcpy(&header, consumer.command().data(), sizeof(header));
      if (header.bytes != consumer.command().size()) FAIL("size changed under the consumer");
    }
    if (take == Take::rejected) {
      ++rejections;
      if (consumer.rejection().message.empty()) FAIL("rejected without a word");
    }
  }
  stop = true;
  scribbler.join();
  CHECK(commands > 0);
  CHECK(rejections > 0);
}

}  // namespace rouse::wire
