// Streams of commands through ring, decoder and the model session: the fuzzer's seeds first, then honest random
// clients.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "schemas/wire/decode.h"
#include "schemas/wire/encode.h"
#include "test/wire/fixture.h"
#include "test/wire/model_session.h"

namespace rouse::wire {

TEST_CASE("the fuzzer's seeds are accepted whole, and name every command") {
  std::set<std::uint16_t> seen;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ROUSE_DECODE_CORPUS)) {
    INFO(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    TwoEnds ends;
    std::memcpy(ends.client.data(), bytes.data(), bytes.size());
    ends.client.header().tail = bytes.size();
    RingConsumer consumer = ends.consumer();
    ModelSession session;
    Take take;
    while ((take = consumer.next()) == Take::command) {
      seen.insert(reinterpret_cast<const CommandHeader*>(consumer.command().data())->opcode);
      const DecodeStatus status = decodeAndDispatch(consumer.command(), session, session);
      INFO((status.ok() ? "" : status.message()));
      REQUIRE(status.ok());
    }
    CHECK(take == Take::empty);
    CHECK_FALSE(session.broken());
    ++files;
  }
  CHECK(files > kHighestOpcode);
  CHECK(seen.size() == kHighestOpcode);
}

TEST_CASE("handles: only a session's own, only in its lifetime") {
  ModelSession session;
  alignas(16) std::byte bytes[64];
  const auto sent = [&](const auto& command) {
    const std::size_t size = encode(bytes, command);
    return decodeAndDispatch({bytes, size}, session, session).ok();
  };
  CHECK(sent(SlotSignal{.stream = kLegacyStream, .value = 1, .slot = 0, .flags = 0}));
  CHECK_FALSE(sent(StreamDestroy{.stream = kLegacyStream}));
  CHECK_FALSE(sent(StreamCreate{.stream = {0, 1}, .flags = 0, .priority = 0}));  // the legacy stream lives
  CHECK_FALSE(sent(StreamCreate{.stream = {2, 0}, .flags = 0, .priority = 0}));  // skips an index
  CHECK(sent(StreamCreate{.stream = {1, 5}, .flags = 1, .priority = -1}));
  CHECK_FALSE(sent(StreamCreate{.stream = {1, 6}, .flags = 1, .priority = 0}));  // lives
  CHECK_FALSE(sent(StreamDestroy{.stream = {1, 4}}));                            // stale
  CHECK(sent(StreamDestroy{.stream = {1, 5}}));
  CHECK_FALSE(sent(StreamDestroy{.stream = {1, 5}}));  // twice
  CHECK_FALSE(sent(SlotWait{.stream = {1, 5}, .value = 1, .slot = 0}));
  CHECK_FALSE(sent(StreamCreate{.stream = {1, 5}, .flags = 0, .priority = 0}));  // same generation again
  CHECK(sent(StreamCreate{.stream = {1, 6}, .flags = 0, .priority = 0}));
  CHECK_FALSE(sent(ModuleUnbind{.module = {1, 6}}));  // a stream is no module
  CHECK(sent(Reset{.value = 1, .slot = 0}));
  CHECK_FALSE(sent(StreamDestroy{.stream = {1, 6}}));  // gone with the reset
}

}  // namespace rouse::wire
