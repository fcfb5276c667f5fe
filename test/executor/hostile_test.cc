// Clients that do not keep to the rules: each is cut off with the reason, and nothing else changes.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "test/executor/session_fixture.h"

namespace rouse::executor {

constexpr wire::Handle kLegacy = wire::kLegacyStream;

namespace {

struct Hostile : SessionFixture {
  Hostile() {
    give(4);
    install(40, true);
    const std::uint64_t addresses[] = {client.window()};
    send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
    REQUIRE(fault() == "");
    device.taken.clear();
  }
  // What was refused, and that nothing of it was done.
  void refused(const std::string& expected) {
    settle();
    CHECK(fault().substr(0, expected.size()) == expected);
    CHECK(device.taken.empty());
    // The ring is dead: later commands are not taken.
    const auto commands = session->usage().commands;
    send(wire::Fence{});
    CHECK(session->usage().commands == commands);
  }
};

}  // namespace

TEST_CASE_METHOD(Hostile, "addresses: outside, unmapped, other functions', wrapping") {
  const std::uint64_t window = client.window(), mapped = 4 * kG;
  struct {
    std::uint64_t destination, source, bytes;
    const char* expected;
  } cases[] = {
      {window, window + mapped, 1, "Copy.source = 0x"},
      {window + mapped - 1, window, 2, "Copy.destination = 0x"},
      {window, 0, 8, "Copy.source = 0x"},
      {window, Client(2).window(), 8, "Copy.source = 0x"},
      {Client(2).staging(), window, 8, "Copy.destination = 0x"},
      {window, reinterpret_cast<std::uint64_t>(&device), 8, "Copy.source = 0x"},
      {window, window, ~0ull, "Copy"},
      {window, window + 8, 0ull - window, "Copy"},
      {window, client.pinned(), 1, "Copy.source = 0x"},
  };
  const auto& chosen = cases[GENERATE(range(0, 9))];
  client.send(
      wire::Copy{.stream = kLegacy, .destination = chosen.destination, .source = chosen.source, .bytes = chosen.bytes});
  refused(chosen.expected);
}

TEST_CASE_METHOD(Hostile, "handles: never made, stale, forged, skipped") {
  SECTION("never made") {
    client.send(wire::Copy{.stream = {1, 0}, .destination = client.window(), .source = client.window(), .bytes = 1});
    refused("Copy.stream = 1 generation 0: no live stream of this session");
  }
  SECTION("a wrong generation") {
    client.send(wire::SlotSignal{.stream = {0, 1}, .value = 1});
    refused("SlotSignal.stream = 0 generation 1: no live stream of this session");
  }
  SECTION("skipped") {
    client.send(wire::StreamCreate{.stream = {2, 0}});
    refused("StreamCreate.stream = 2 generation 0:");
  }
  SECTION("live already") {
    client.send(wire::StreamCreate{.stream = {0, 1}});
    refused("StreamCreate.stream = 0 generation 1:");
  }
  SECTION("a stream for a module") {
    send(wire::StreamCreate{.stream = {1, 1}});
    client.send(wire::ModuleUnbind{.module = {1, 1}});
    refused("ModuleUnbind.module = 1 generation 1: no live module of this session");
  }
  SECTION("the legacy stream is not for destroying") {
    client.send(wire::StreamDestroy{.stream = kLegacy});
    refused("StreamDestroy.stream: the legacy stream cannot be destroyed");
  }
}

TEST_CASE_METHOD(Hostile, "memory: beyond reservation, window, what is mapped") {
  const std::uint64_t window = client.window();
  SECTION("unreserved") {
    client.send(wire::MemMap{.base = window + 8 * kG, .bytes = kG});
    refused("MemMap.bytes: map 2097152 bytes: 0 left of 8388608 reserved");
  }
  SECTION("outside the window") {
    client.send(wire::MemMap{.base = Client(2).window(), .bytes = kG});
    refused("MemMap: range [0x200100000000, +2097152) is not in the device window");
  }
  SECTION("over the window's end") {
    client.send(wire::MemMap{.base = window + Client::kWindowBytes - kG, .bytes = 2 * kG});
    refused("MemMap: range");
  }
  SECTION("twice") {
    send(wire::MemReserve{.bytes = kG, .value = 1, .slot = 1});
    client.send(wire::MemMap{.base = window + 3 * kG, .bytes = kG});
    refused("MemMap: range [0x200080600000, +2097152) is mapped in part already");
  }
  SECTION("a size that wraps") {
    client.send(wire::MemMap{.base = window, .bytes = 0ull - kG});
    refused("MemMap: range");
  }
  SECTION("unmapping what is not mapped") {
    client.send(wire::MemUnmap{.base = window + 3 * kG, .bytes = 2 * kG});
    refused("MemUnmap: range [0x200080600000, +4194304) is not wholly mapped");
  }
  SECTION("giving back what is mapped") {
    client.send(wire::MemReturn{.bytes = kG});
    refused("MemReturn.bytes: return 2097152 bytes: 0 left of 8388608 reserved");
  }
  SECTION("staging is not for unmapping") {
    client.send(wire::HostUnmap{.base = client.staging(), .bytes = wire::kStagingBytes, .value = 1, .slot = 1});
    refused("HostUnmap: range [0x2000c0000000, +8388608) is staging");
  }
  SECTION("another host range than was mapped") {
    send(wire::HostMap{.base = client.pinned(), .bytes = 8192});
    device.taken.clear();
    client.send(wire::HostUnmap{.base = client.pinned(), .bytes = 4096, .value = 1, .slot = 1});
    refused("HostUnmap: range [0x2000c0800000, +4096) is not what a HostMap mapped");
  }
  SECTION("host memory twice") {
    client.send(wire::HostMap{.base = client.staging(), .bytes = 4096});
    refused("HostMap: range [0x2000c0000000, +4096) is mapped in part already");
  }
  SECTION("host memory outside") {
    client.send(wire::HostMap{.base = client.staging() + Client::kHostBytes - 4096, .bytes = 8192});
    refused("HostMap: range [0x2000c27ff000, +8192) is not in the host window");
  }
  SECTION("host ranges without end") {
    for (std::uint64_t i = 0; i < kMaxHostRanges && fault().empty(); ++i)
      send(wire::HostMap{.base = client.pinned() + 2 * i * wire::kPageBytes, .bytes = wire::kPageBytes});
    client.send(wire::HostMap{.base = client.pinned() + wire::kPageBytes, .bytes = wire::kPageBytes});
    device.taken.clear();
    refused("HostMap: range [0x2000c0801000, +4096) is one too many: the limit is 4096");
  }
  SECTION("an unaligned fill") {
    client.send(wire::Fill{.stream = kLegacy, .destination = client.window() + 2, .count = 1, .elementBytes = 4});
    refused("Fill.destination = 35186519572482: not a multiple of 4");
  }
}

TEST_CASE_METHOD(SessionFixture, "variables that the device places: told, usable while bound, and no longer") {
  device.properties_.placesVariables = true;
  give(1);
  install(40, true);
  const std::uint64_t window = client.window();
  const auto copyFrom = [&](std::uint64_t source, std::uint64_t bytes) {
    send(wire::Copy{.stream = kLegacy, .destination = window, .source = source, .bytes = bytes});
  };
  SECTION("before they are bound") {
    copyFrom(kPlacedVariables, 4);
    CHECK(fault().substr(0, 11) == "Copy.source");
  }
  SECTION("with addresses of the client's choice") {
    const std::uint64_t addresses[] = {window};
    send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
    CHECK(fault() == "ModuleBind.variableAddresses = 1: the module has 0 variables that this device does not place itself");
  }
  SECTION("bound") {
    send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>());
    send(wire::VariableAddress{.module = {0, 0}, .value = 5, .slot = 11, .variable = 0});
    REQUIRE(fault() == "");
    CHECK(client.value(11) == 5);
    CHECK(client.result(11) == CudaError::success);
    CHECK(client.payload(11) == kPlacedVariables);
    copyFrom(kPlacedVariables, 64);
    copyFrom(kPlacedVariables + 60, 4);
    CHECK(fault() == "");
    SECTION("beyond the end") {
      copyFrom(kPlacedVariables, 65);
      CHECK(fault().substr(0, 11) == "Copy.source");
    }
    SECTION("no such variable") {
      send(wire::VariableAddress{.module = {0, 0}, .value = 6, .slot = 11, .variable = 1});
      CHECK(fault() == "VariableAddress.variable = 1: the module has 1 variables");
    }
    SECTION("after they are gone") {
      send(wire::ModuleUnbind{.module = {0, 0}});
      copyFrom(kPlacedVariables, 4);
      CHECK(fault().substr(0, 11) == "Copy.source");
    }
    SECTION("after a reset") {
      send(wire::Reset{.value = 1, .slot = 12});
      give(1);
      copyFrom(kPlacedVariables, 4);
      CHECK(fault().substr(0, 11) == "Copy.source");
    }
  }
  SECTION("a module that could not be made") {
    device.failInstantiate = true;
    send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>());
    send(wire::VariableAddress{.module = {0, 0}, .value = 5, .slot = 11, .variable = 0});
    CHECK(fault() == "");
    CHECK(client.result(11) == CudaError::invalidKernelImage);
  }
}

TEST_CASE_METHOD(SessionFixture, "tensor maps go into host memory, as far as the device makes them") {
  give(1);
  const wire::TensorMapRequest request{};
  const auto ask = [&](std::uint64_t destination) {
    send(wire::TensorMapEncode{.destination = destination, .value = 5, .slot = 11}, std::as_bytes(std::span(&request, 1)));
  };
  send(wire::HostMap{.base = client.pinned(), .bytes = wire::kPageBytes});
  SECTION("not at all") {
    ask(client.pinned());
    CHECK(fault() == "");
    CHECK(client.value(11) == 5);
    CHECK(client.result(11) == CudaError::notSupported);
  }
  SECTION("elsewhere") {
    // Partly outside, in the device's window, nowhere, and over the end of all addresses.
    const std::uint64_t destination = GENERATE_REF(client.pinned() + wire::kPageBytes - 64, client.window(), std::uint64_t{0}, ~std::uint64_t{0} - 63);
    ask(destination);
    CHECK(fault() == "TensorMapEncode.destination = " + std::to_string(destination) + ": 128 bytes there are not mapped host memory");
  }
}

TEST_CASE_METHOD(SessionFixture, "managed variables lie in host memory, also where the device places the others") {
  device.properties_.placesVariables = true;
  give(1);
  auto image = FakeImage::ofOneKernel(true);
  image->described.variables.push_back({.name = "shared", .bytes = 64, .alignment = 16, .space = memory::VariableSpace::managed});
  session->install(40, image);
  const auto bind = [&](std::vector<std::uint64_t> addresses) {
    send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
  };
  send(wire::HostMap{.base = client.pinned(), .bytes = wire::kPageBytes});
  SECTION("there") {
    bind({client.pinned() + 128});
    for (std::uint32_t i : {0u, 1u}) send(wire::VariableAddress{.module = {0, 0}, .value = i + 1, .slot = 11 + i, .variable = i});
    REQUIRE(fault() == "");
    CHECK(client.payload(11) == kPlacedVariables);
    CHECK(client.payload(12) == client.pinned() + 128);
    // Its module's end is not the end of that memory.
    send(wire::ModuleUnbind{.module = {0, 0}});
    send(wire::Copy{.stream = kLegacy, .destination = client.window(), .source = client.pinned() + 128, .bytes = 64});
    CHECK(fault() == "");
  }
  SECTION("none") {
    bind({});
    CHECK(fault() == "ModuleBind.variableAddresses = 0: the module has 1 variables that this device does not place itself");
  }
  SECTION("in device memory") {
    bind({client.window()});
    CHECK(fault() == "ModuleBind.variableAddresses[0] = " + std::to_string(client.window()) + ": 64 bytes there are not mapped host memory");
  }
  SECTION("beyond what is mapped") {
    bind({client.pinned() + wire::kPageBytes - 48});
    CHECK(fault() == "ModuleBind.variableAddresses[0] = " + std::to_string(client.pinned() + wire::kPageBytes - 48) + ": 64 bytes there are not mapped host memory");
  }
}

TEST_CASE_METHOD(Hostile, "modules: unknown, with wrong addresses, launches with wrong parameters") {
  const std::byte bytes[64] = {};
  SECTION("not installed for this session") {
    client.send(wire::ModuleBind{.module = {1, 0}, .moduleId = 41}, std::span<const std::uint64_t>());
    refused("ModuleBind.moduleId = 41: no such module is loaded for this session");
  }
  SECTION("too few addresses") {
    client.send(wire::ModuleBind{.module = {1, 0}, .moduleId = 40}, std::span<const std::uint64_t>());
    refused("ModuleBind.variableAddresses = 0: the module has 1 variables");
  }
  SECTION("an address that is not mapped to its end") {
    const std::uint64_t addresses[] = {client.window() + 4 * kG - 48};
    client.send(wire::ModuleBind{.module = {1, 0}, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
    refused("ModuleBind.variableAddresses[0] = 35186527961040: 64 bytes there are not mapped");
  }
  SECTION("an unaligned address") {
    const std::uint64_t addresses[] = {client.window() + 8};
    client.send(wire::ModuleBind{.module = {1, 0}, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
    refused("ModuleBind.variableAddresses[0] = 35186519572488: not a multiple of 16");
  }
  SECTION("no such kernel") {
    client.send(wire::Launch{.stream = kLegacy, .function = 1, .grid = {1, 1, 1}, .block = {1, 1, 1}},
                std::span<const std::byte>(bytes, 12));
    refused("Launch.function = 1: the module has 1 kernels");
  }
  SECTION("too many parameter bytes") {
    client.send(wire::Launch{.stream = kLegacy, .grid = {1, 1, 1}, .block = {1, 1, 1}},
                std::span<const std::byte>(bytes, 16));
    refused("Launch.parameters = 16: kernel takes exactly 12 bytes");
  }
  SECTION("a grid beyond the limits") {
    client.send(wire::Launch{.stream = kLegacy, .grid = {1, 65536, 1}, .block = {1, 1, 1}},
                std::span<const std::byte>(bytes, 12));
    refused("Launch.grid.y = 65536: above the limit 65535");
  }
  SECTION("clusters that are none") {
    const std::uint32_t cluster = GENERATE(0x000200u, 0x010110u & ~0xffu, 0x020310u);  // no blocks in x, or in z, and too many
    client.send(wire::Launch{.stream = kLegacy, .grid = {16, 6, 2}, .block = {1, 1, 1}, .cluster = cluster}, std::span<const std::byte>(bytes, 12));
    refused("Launch.cluster = " + std::to_string(cluster) + ": at most 16 blocks, and none or all of the dimensions");
  }
  SECTION("clusters that are too large in a dimension") {
    client.send(wire::Launch{.stream = kLegacy, .grid = {16, 1, 1}, .block = {1, 1, 1}, .cluster = 0xff010101}, std::span<const std::byte>(bytes, 12));
    refused("Launch.cluster = 4278255873: above the limit 1052688");
  }
}

TEST_CASE_METHOD(Hostile, "command sizes") {
  wire::CommandHeader header{};
  SECTION("no command at all") {
    client.sendRaw(&header, sizeof header);
    refused("command of 0 bytes at");
  }
  SECTION("oversized") {
    header = {static_cast<std::uint16_t>(wire::Opcode::CopyInline), 0, 0xffff'fff0};
    client.sendRaw(&header, sizeof header);
    refused("command of 4294967280 bytes at");
  }
  SECTION("longer than what is published") {
    header = {static_cast<std::uint16_t>(wire::Opcode::CopyInline), 0, 4096};
    client.sendRaw(&header, sizeof header);
    refused("command of 4096 bytes at");
  }
  SECTION("truncated") {
    header = {static_cast<std::uint16_t>(wire::Opcode::Copy), 0, sizeof(wire::Copy) - 8};
    std::byte bytes[sizeof(wire::Copy)] = {};
    std::memcpy(bytes, &header, sizeof header);
    client.sendRaw(bytes, sizeof bytes - 8);
    refused("Copy.header.bytes = 32: below the 40 bytes of its fields");
  }
  SECTION("an unknown opcode") {
    header = {999, 0, 8};
    client.sendRaw(&header, sizeof header);
    refused("opcode 999: no such command");
  }
  SECTION("a tail that runs ahead") {
    client.ring.header().tail.store(client.producer.tail() + 2 * wire::kRingBytes);
    settle();
    CHECK(fault().substr(0, 9) == "ring tail");
    CHECK(session->usage().commands == 3);
  }
  SECTION("a tail that runs back") {
    client.ring.header().tail.store(16);
    settle();
    CHECK(fault().substr(0, 10) == "ring tail ");
  }
}

TEST_CASE_METHOD(SessionFixture, "streams without end are refused, also when their work never ends") {
  device.hold = true;
  SECTION("live") {
    std::uint32_t index = 1;
    for (; index < kMaxStreams + 10 && fault().empty(); ++index) send(wire::StreamCreate{.stream = {index, 0}});
    REQUIRE(fault() == "StreamCreate.stream: 4096 streams are live, the limit is 4096");
  }
  SECTION("destroyed and busy: the ring waits") {
    give(1);
    for (std::uint32_t i = 0; i < kMaxStreams + 10; ++i) {
      client.send(wire::StreamCreate{.stream = {1, i}});
      client.send(wire::Fill{.stream = {1, i}, .destination = client.window(), .count = 1, .elementBytes = 1});
      client.send(wire::StreamDestroy{.stream = {1, i}});
      if (i % 64 == 0) settle();
    }
    settle();
    REQUIRE(session->awaitsProgress());
    REQUIRE(session->usage().commands < 3 * kMaxStreams + 10);
    device.release();
    settle();
    REQUIRE(session->usage().commands == 3 * (kMaxStreams + 10) + 2);
    REQUIRE(fault() == "");
  }
}

TEST_CASE("garbage in the ring ends in a rejection, whatever it is") {
  const auto seed = GENERATE(range(0u, 200u));
  std::mt19937_64 random(seed);
  SessionFixture fixture;
  fixture.give(2);
  auto& client = fixture.client;
  for (int i = 0; i < 200 && fixture.fault().empty(); ++i) {
    alignas(8) std::byte bytes[256];
    for (std::size_t at = 0; at < sizeof bytes; at += 8) {
      // Mostly numbers that have a meaning somewhere.
      const std::uint64_t choices[] = {random(),
                                       random() % 4,
                                       client.window() + random() % (3 * SessionFixture::kG),
                                       client.staging(),
                                       SessionFixture::kG * (random() % 3),
                                       0};
      const std::uint64_t word = choices[random() % 6];
      std::memcpy(bytes + at, &word, 8);
    }
    const std::uint32_t length =
        random() % 4 == 0 ? static_cast<std::uint32_t>(random() % 300) : 8 + 8 * (random() % 12);
    const std::uint16_t opcode = static_cast<std::uint16_t>(random() % (wire::kHighestOpcode + 2));
    const wire::CommandHeader header{opcode, 0, length};
    std::memcpy(bytes, &header, sizeof header);
    client.sendRaw(bytes, std::min<std::size_t>(sizeof bytes, std::max(8u, length)));
    fixture.settle();
  }
  REQUIRE(fixture.fault() != "");
}

TEST_CASE("commands rewritten while they are taken: what is checked is what is done") {
  SessionFixture fixture;
  fixture.give(4);
  auto& client = fixture.client;
  // The writer is another process, as in life: it turns sizes and addresses of published commands over and over.
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto ring = wire::RingSegment::map(client.ringFd.get(), wire::ForkedChild::without);
    if (!ring) ::_exit(1);
    volatile std::uint64_t* words = reinterpret_cast<volatile std::uint64_t*>(ring->data());
    for (std::uint64_t i = 0;; ++i) {
      const std::uint64_t word = i * 2862933555777941757u % (4096 / 8);
      const std::uint64_t was = words[word];
      words[word] = i % 3 == 0 ? ~0ull : i % 3 == 1 ? client.window() + 4 * SessionFixture::kG : 64 + (i % 64);
      words[word] = was;
    }
  }
  REQUIRE(writer > 0);
  int sessions = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::size_t before = fixture.device.taken.size();
    client.send(wire::Copy{.stream = kLegacy, .destination = client.window(), .source = client.staging(), .bytes = 64});
    fixture.settle();
    for (std::size_t at = before; at < fixture.device.taken.size(); ++at) {
      const std::string& line = fixture.device.taken[at];
      if (line.rfind("copy ", 0) != 0) continue;
      // Whatever size got through was checked against what is mapped.
      const unsigned long long bytes = std::stoull(line.substr(5));
      if (bytes > 4 * SessionFixture::kG) FAIL("copied " << bytes);
    }
    if (!fixture.fault().empty()) {
      ++sessions;
      break;
    }
  }
  ::kill(writer, SIGKILL);
  int status = 0;
  ::waitpid(writer, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  INFO("cut off: " << fixture.fault());
  SUCCEED(sessions);
}

}  // namespace rouse::executor
