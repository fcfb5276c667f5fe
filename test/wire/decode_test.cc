// The generated encoders and decoder against vectors that vectors.py derives from the description by itself.
#include "schemas/wire/decode.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/wire/encode.h"
#include "schemas/wire/mock.h"
#include "schemas/wire/ring_consumer.h"
#include "test/wire/vectors.h"

namespace rouse::wire {
namespace {

// Knows one live and one new handle of each kind and one mapped range; remembers what it was asked.
class ScriptedSession {
 public:
  bool streamLive(Handle h) { return ask("live stream ", h), h == vectors::kLiveStream; }
  bool newStream(Handle h) { return ask("new stream ", h), h == vectors::kNewStream; }
  bool moduleLive(Handle h) { return ask("live module ", h), h == vectors::kLiveModule; }
  bool newModule(Handle h) { return ask("new module ", h), h == vectors::kNewModule; }
  bool rangeMapped(AddressRange range, Access access, Where where) {
    char text[96];
    std::snprintf(text, sizeof(text), "%s %s 0x%llx+%llu", access == Access::read ? "read" : "write",
                  where == Where::any      ? "any"
                  : where == Where::device ? "device"
                                           : "host",
                  static_cast<unsigned long long>(range.base), static_cast<unsigned long long>(range.bytes));
    add(text);
    return AddressRange{vectors::kDeviceBase, vectors::kDeviceBytes}.contains(range);
  }

  std::string queries;

 private:
  void ask(std::string what, Handle h) { add(what + std::to_string(h.index) + '/' + std::to_string(h.generation)); }
  void add(const std::string& text) { queries += (queries.empty() ? "" : "; ") + text; }
};

// One command in aligned memory of its own.
class Bytes {
 public:
  Bytes(std::string_view fixed, std::size_t payloadBytes, bool fixSize) : size_(fixed.size() + payloadBytes) {
    std::memcpy(buffer_->bytes, fixed.data(), fixed.size());
    for (std::size_t i = 0; i < payloadBytes; ++i) {
      buffer_->bytes[fixed.size() + i] = static_cast<std::byte>(i * 7 + 3);
    }
    if (fixSize) reinterpret_cast<CommandHeader*>(buffer_->bytes)->bytes = static_cast<std::uint32_t>(size_);
  }
  std::span<const std::byte> span() const { return {buffer_->bytes, size_}; }

 private:
  std::unique_ptr<CommandBuffer> buffer_ = std::make_unique<CommandBuffer>();
  std::size_t size_;
};

struct ReEncoder {
  std::unique_ptr<CommandBuffer> at = std::make_unique<CommandBuffer>();
  std::size_t bytes = 0, promised = 0;
  int calls = 0;

  template <class Command>
  void on(Command command) {
    command.header = {};
    promised = encodedBytes(command);
    bytes = encode(at->bytes, command);
    ++calls;
  }
  template <class Command, class Element>
  void on(Command command, std::span<const Element> payload) {
    command.header = {};
    promised = encodedBytes(command, payload);
    bytes = encode(at->bytes, command, payload);
    ++calls;
  }
};

struct Refusing {
  DecodeStatus on(const Fence&) { return Rejection{"Fence: not now"}; }
  template <class... Other>
  void on(const Other&...) {}
};

}  // namespace

TEST_CASE("every command decodes to what was encoded") {
  std::vector<bool> seen(kHighestOpcode + 1);
  for (const vectors::Accepted& vector : vectors::kAccepted) {
    INFO(vector.name);
    const Bytes bytes{vector.fixed, vector.payloadBytes, true};

    ScriptedSession session;
    RecordingHandler recorder;
    const DecodeStatus status = decodeAndDispatch(bytes.span(), session, recorder);
    INFO((status.ok() ? "accepted" : status.message()));
    REQUIRE(status.ok());
    CHECK(session.queries == vector.queries);
    REQUIRE(recorder.entries().size() == 1);
    CHECK(recorder.entries()[0].text == vector.text);
    CHECK(recorder.entries()[0].payload.size() == vector.payloadBytes);
    seen[static_cast<std::size_t>(recorder.entries()[0].opcode)] = true;

    ReEncoder again;
    REQUIRE(decodeAndDispatch(bytes.span(), session, again).ok());
    REQUIRE(again.calls == 1);
    CHECK(again.promised == bytes.span().size());
    REQUIRE(again.bytes == bytes.span().size());
    CHECK(std::memcmp(again.at->bytes, bytes.span().data(), again.bytes) == 0);
  }
  for (std::size_t opcode = 1; opcode <= vectors::kCommands; ++opcode) {
    INFO(kCommandShapes[opcode].name);
    CHECK(seen[opcode]);
  }
  CHECK(kHighestOpcode == vectors::kCommands);
}

TEST_CASE("every broken check is refused by name, value and limit, and delivers nothing") {
  for (const vectors::Refused& vector : vectors::kRefused) {
    INFO(vector.message);
    const Bytes bytes{vector.fixed, vector.payloadBytes, false};
    ScriptedSession session;
    RecordingHandler recorder;
    const DecodeStatus status = decodeAndDispatch(bytes.span(), session, recorder);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message() == vector.message);
    CHECK(recorder.entries().empty());
  }
}

TEST_CASE("bytes that are no command are refused") {
  alignas(16) std::byte bytes[64]{};
  ScriptedSession session;
  RecordingHandler recorder;
  const auto decode = [&](std::size_t size, CommandHeader header) {
    std::memcpy(bytes, &header, sizeof(header));
    const DecodeStatus status = decodeAndDispatch({bytes, size}, session, recorder);
    return status.ok() ? "accepted" : status.message();
  };
  const std::string highest = std::to_string(kHighestOpcode);
  CHECK(decode(0, {}) == "command of 0 bytes: shorter than its header, 8");
  CHECK(decode(7, {1, 0, 7}) == "command of 7 bytes: shorter than its header, 8");
  CHECK(decode(8, {0, 0, 8}) == "opcode 0: no such command; the highest is " + highest);
  CHECK(decode(8, {static_cast<std::uint16_t>(kHighestOpcode + 1), 0, 8}) ==
        "opcode " + std::to_string(kHighestOpcode + 1) + ": no such command; the highest is " + highest);
  CHECK(decode(8, {65535, 0, 8}) == "opcode 65535: no such command; the highest is " + highest);
  // Each command one header long, shorter than its fields, unless it has none.
  for (std::uint16_t opcode = 1; opcode <= kHighestOpcode; ++opcode) {
    const CommandShape& shape = kCommandShapes[opcode];
    if (shape.fixedBytes == sizeof(CommandHeader)) continue;
    const std::uint32_t size = shape.fixedBytes - 4;
    std::vector<std::byte> storage(shape.fixedBytes + 16);
    void* at = storage.data();
    std::size_t room = storage.size();
    std::align(16, size, at, room);
    const CommandHeader header{opcode, 0, size};
    std::memcpy(at, &header, sizeof(header));
    const DecodeStatus status = decodeAndDispatch({static_cast<std::byte*>(at), size}, session, recorder);
    REQUIRE_FALSE(status.ok());
    CHECK(status.message() == std::string(shape.name) + ".header.bytes = " + std::to_string(size) + ": below the " +
                                  std::to_string(shape.fixedBytes) + " bytes of its fields");
  }
  CHECK(recorder.entries().empty());
}

TEST_CASE("a handler's own refusal comes back") {
  Refusing handler;
  alignas(16) std::byte bytes[16]{};
  const std::size_t size = encode(bytes, Fence{});
  ScriptedSession session;
  const DecodeStatus status = decodeAndDispatch({bytes, size}, session, handler);
  REQUIRE_FALSE(status.ok());
  CHECK(status.message() == "Fence: not now");
}

TEST_CASE("sizes of extents are right for any numbers") {
  // Against 128-bit arithmetic, over numbers near the powers of two where overflow lives.
  const auto interesting = [](std::uint64_t seed) {
    const std::uint64_t near = std::uint64_t{1} << (seed % 64);
    return near + (seed / 64 % 5) - 2;
  };
  std::uint64_t state = 12345;
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 20; };
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto small = [&] { return next() % 3 == 0 ? next() % 5 : interesting(next()); };
    const Extent e{small() | 1, small() | 1, small() | 1, small(), small()};
    const std::uint64_t base = small();
    __extension__ typedef unsigned __int128 Wide;
    const Wide rows = Wide{e.pitch} * e.height;
    const bool pitchOk = e.height == 1 || (e.pitch >= e.width && rows <= UINT64_MAX);
    const Wide plane = e.height == 1 ? Wide{e.width} : rows;
    const bool sliceOk = e.depth == 1 || e.slicePitch >= plane;
    const Wide last = Wide{e.depth - 1} * e.slicePitch + Wide{e.height - 1} * e.pitch + e.width;
    const bool expected = pitchOk && sliceOk && last <= UINT64_MAX && Wide{base} + last <= Wide{UINT64_MAX} + 1;
    AddressRange range;
    const DecodeStatus status = extentRange("X.y", base, e, range);
    REQUIRE(status.ok() == expected);
    if (expected) {
      ++accepted;
      REQUIRE(range == AddressRange{base, static_cast<std::uint64_t>(last)});
    }
  }
  CHECK(accepted > 1000);
}

}  // namespace rouse::wire
