#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "schemas/wire/output_ring.h"
#include "test/wire/fixture.h"

namespace rouse::wire {
namespace {

struct Text {
  std::string out, err;
  void operator()(std::string_view piece, bool toStderr) { (toStderr ? err : out) += piece; }
};

struct Ends : TwoEnds {
  OutputProducer executor{server.header(), server.output()};
  OutputConsumer program{client.header(), client.output()};
};

}  // namespace

TEST_CASE("text arrives in order, each on its own stream") {
  Ends ends;
  CHECK(ends.executor.write("one ", false));
  CHECK(ends.executor.write("", false));
  CHECK(ends.executor.write("error", true));
  CHECK(ends.executor.write("two\n", false));
  Text text;
  CHECK(ends.program.drain(text));
  CHECK(text.out == "one two\n");
  CHECK(text.err == "error");
  CHECK(ends.program.drain(text));
  CHECK(text.out == "one two\n");
}

TEST_CASE("text of any length survives the end of the ring, also between threads") {
  Ends ends;
  constexpr int kRecords = 20'000;
  const auto record = [](int i) {
    Sequence random{static_cast<std::uint64_t>(i)};
    return std::string(random() % 700, static_cast<char>('a' + i % 26)) + (i % 50 == 0 ? std::string(9000, '#') : "");
  };
  std::string expected;
  for (int i = 0; i < kRecords; ++i) expected += record(i);
  std::uint64_t retries = 0;
  std::thread executor([&] {
    for (int i = 0; i < kRecords; ++i) {
      while (!ends.executor.write(record(i), false)) {
        ++retries;
        std::this_thread::yield();
      }
    }
  });
  Text text;
  bool sound = true;
  while (text.out.size() < expected.size() && sound) {
    sound = ends.program.drain(text);
    std::this_thread::yield();
  }
  executor.join();
  CHECK(sound);
  CHECK(text.out == expected);
  CHECK(ends.program.takeDropped() == retries);
}

TEST_CASE("text that does not fit is dropped and counted") {
  Ends ends;
  const std::string large(kOutputBytes / 4, 'x');
  CHECK(ends.executor.write(large, false));
  CHECK(ends.executor.write(large, false));
  CHECK(ends.executor.write(large, false));
  CHECK_FALSE(ends.executor.write(large, false));  // the records' own words take the room of the fourth
  CHECK_FALSE(ends.executor.write(std::string(kOutputBytes, 'y'), false));
  CHECK(ends.program.takeDropped() == 2);
  CHECK(ends.program.takeDropped() == 0);
  Text text;
  CHECK(ends.program.drain(text));
  CHECK(text.out.size() == 3 * large.size());
  // The longest record there can be.
  CHECK(ends.executor.write(std::string(kOutputBytes - 4, 'z'), true));
  CHECK(ends.program.drain(text));
  CHECK(text.err.size() == kOutputBytes - 4);
}

TEST_CASE("an executor never writes beyond the ring, whatever the client's cursor says") {
  Ends ends;
  const std::string text(1000, 'x');
  for (const std::uint64_t head : {std::uint64_t{16}, UINT64_MAX / 2, std::uint64_t{kOutputBytes} * 7 + 3}) {
    ends.client.header().outputHead = head;
    CHECK_FALSE(ends.executor.write(text, false));  // ahead of the tail
  }
  ends.client.header().outputHead = 0;
  for (int i = 0; i < 5000; ++i) {
    // A client that always claims to have read everything gets the executor to go round and round inside the ring.
    ends.client.header().outputHead = ends.server.header().outputTail.load();
    CHECK(ends.executor.write(text, false));
  }
}

TEST_CASE("a client never reads beyond the ring, whatever the executor's cursor and lengths say") {
  Ends ends;
  Text text;
  auto& header = ends.server.header();
  const auto put = [&](std::uint64_t at, std::uint32_t word) { std::memcpy(ends.server.output() + at, &word, 4); };
  SECTION("tail too far") {
    header.outputTail = kOutputBytes + 4;
    CHECK_FALSE(ends.program.drain(text));
  }
  SECTION("tail backwards") {
    CHECK(ends.executor.write("abc", false));
    CHECK(ends.program.drain(text));
    header.outputTail = 0;
    CHECK_FALSE(ends.program.drain(text));
  }
  SECTION("tail in the middle of a word") {
    header.outputTail = 5;
    CHECK_FALSE(ends.program.drain(text));
  }
  SECTION("length beyond the tail") {
    put(0, 100);
    header.outputTail = 64;
    CHECK_FALSE(ends.program.drain(text));
  }
  SECTION("length of all ones") {
    put(0, 0xffff'ffff);
    header.outputTail = kOutputBytes;
    CHECK_FALSE(ends.program.drain(text));
  }
  const std::string before = text.out;
  CHECK(text.out.size() <= 3);
  // It has skipped what made no sense and is in step again with a cursor that makes some.
  header.outputTail = header.outputTail & ~std::uint64_t{3};
  CHECK(ends.program.drain(text));
  CHECK(text.out == before);
}

}  // namespace rouse::wire
