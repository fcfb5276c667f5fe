// Graphs in a session: what a definition may be, what a launch does, and that both survive a change of device.
#include <cstring>

#include "schemas/blas/check.h"
#include "schemas/wire/encode.h"
#include "test/executor/session_fixture.h"
#include "test/executor/two_devices.h"

namespace rouse::executor {
namespace {

// A definition, node by node.
struct Definition {
  std::vector<std::byte> bytes;

  template <class Command, class... Payload>
  Definition& node(wire::GraphNode header, std::vector<std::uint32_t> waits, const Command& command, const Payload&... payload) {
    std::vector<std::byte> encoded(wire::encodedBytes(command, payload...));
    wire::encode(encoded.data(), command, payload...);
    header.waits = static_cast<std::uint32_t>(waits.size());
    header.commandBytes = static_cast<std::uint32_t>(encoded.size());
    append(&header, sizeof header);
    append(waits.data(), waits.size() * sizeof(std::uint32_t));
    append(encoded.data(), encoded.size());
    return *this;
  }
  void append(const void* from, std::size_t size) {
    const auto* at = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), at, at + size);
    bytes.resize((bytes.size() + wire::kCommandAlign - 1) / wire::kCommandAlign * wire::kCommandAlign);
  }
  wire::GraphDefine command(std::uint64_t graph) const { return {.graph = graph, .offset = 0, .bytes = bytes.size()}; }
};

wire::GraphNode on(std::uint32_t lane, std::uint32_t flags = 0) { return {lane, 0, 0, flags}; }

// A fill, then two copies side by side, then a signal behind both.
Definition diamond(std::uint64_t at) {
  Definition definition;
  definition.node(on(0, wire::kGraphNodeAwaited), {}, wire::Fill{.destination = at, .count = 64, .value = 1, .elementBytes = 1});
  definition.node(on(0), {}, wire::Copy{.destination = at + 64, .source = at, .bytes = 11});
  definition.node(on(1, wire::kGraphNodeAwaited), {0}, wire::Copy{.destination = at + 128, .source = at, .bytes = 22});
  definition.node(on(0), {2}, wire::SlotSignal{.value = 1});
  return definition;
}

}  // namespace

TEST_CASE_METHOD(SessionFixture, "a graph's nodes are submitted in its order, and signal the slots of each launch") {
  give(1);
  const Definition definition = diamond(client.window());
  send(definition.command(5), definition.bytes);
  REQUIRE(fault() == "");
  for (std::uint64_t launch = 1; launch <= 3; ++launch) {
    device.taken.clear();
    send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 5}, std::vector<std::uint64_t>{40, launch});
    REQUIRE(fault() == "");
    REQUIRE(client.value(40) == launch);
    const auto count = [&](const std::string& what) {
      return std::count_if(device.taken.begin(), device.taken.end(), [&](const std::string& line) { return line.starts_with(what); });
    };
    REQUIRE(count("fill 64") == 1);
    REQUIRE(count("copy 11") == 1);
    REQUIRE(count("copy 22") == 1);
  }
  send(wire::GraphDestroy{.graph = 5});
  REQUIRE(fault() == "");
  send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 5}, std::vector<std::uint64_t>{40, 9});
  REQUIRE(fault().find("no such graph") != std::string::npos);
}

TEST_CASE_METHOD(SessionFixture, "a long graph is launched over several turns, and what comes behind it comes behind it") {
  give(1);
  Definition definition;
  for (int i = 0; i < 1000; ++i)
    definition.node(on(static_cast<std::uint32_t>(i % 3)), {}, wire::Copy{.destination = client.window() + 64, .source = client.window(), .bytes = 11});
  for (std::size_t at = 0; at < definition.bytes.size(); at += 16384) {
    wire::GraphDefine command = definition.command(2);
    command.offset = at;
    send(command, std::span<const std::byte>(definition.bytes).subspan(at, std::min<std::size_t>(16384, definition.bytes.size() - at)));
  }
  REQUIRE(fault() == "");
  device.taken.clear();
  client.send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 2}, std::vector<std::uint64_t>{});
  client.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 41});
  device.hold = true;
  session->poll();
  REQUIRE(device.taken.size() < 600);
  device.hold = false;
  settle();
  REQUIRE(client.value(41) == 1);
  REQUIRE(std::count_if(device.taken.begin(), device.taken.end(), [](const std::string& line) { return line.starts_with("copy 11"); }) == 1000);
}

TEST_CASE_METHOD(SessionFixture, "a node whose memory is gone is an error of the program's, and others wait for nothing") {
  give(1);
  const Definition definition = diamond(client.window());
  send(definition.command(5), definition.bytes);
  send(wire::MemUnmap{.base = client.window(), .bytes = kG});
  send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 5}, std::vector<std::uint64_t>{40, 1});
  REQUIRE(fault() == "");
  REQUIRE(client.value(40) == 1);
  REQUIRE(client.segment.header().devices[0].error.load() == static_cast<std::uint32_t>(CudaError::illegalAddress));
}

TEST_CASE_METHOD(SessionFixture, "a library's call in a graph is made at each launch, and what it names is looked at then") {
  give(1);
  blas::Call call;
  call.m = call.n = call.k = 8;
  call.a = {.address = client.window(), .spacing = 8};
  call.b = {.address = client.window() + 256, .spacing = 8};
  call.c = {.address = client.window() + 512, .spacing = 8};
  const auto gemm = static_cast<std::uint32_t>(blas::Function::cublasSgemm_v2);
  const std::string name = "call 1." + std::to_string(gemm);
  const auto define = [&](std::uint64_t graph, std::span<const std::byte> parameters) {
    Definition definition;
    definition.node(on(0), {}, wire::LibraryCall{.stream = wire::kLegacyStream, .library = blas::kLibrary, .function = gemm}, parameters);
    definition.node(on(0), {}, wire::SlotSignal{.value = 1});
    send(definition.command(graph), definition.bytes);
    REQUIRE(fault() == "");
  };
  const auto launch = [&](std::uint64_t graph, std::uint64_t value) {
    device.taken.clear();
    send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = graph}, std::vector<std::uint64_t>{40, value});
    REQUIRE(fault() == "");
    REQUIRE(client.value(40) == value);
    return std::count_if(device.taken.begin(), device.taken.end(), [&](const std::string& line) { return line.starts_with(name); });
  };
  define(5, std::as_bytes(std::span(&call, 1)));
  REQUIRE(launch(5, 1) == 1);
  REQUIRE(launch(5, 2) == 1);
  REQUIRE(session->usage().launches == 2);
  REQUIRE(client.latched() == CudaError::success);
  SECTION("memory that is gone") { send(wire::MemUnmap{.base = client.window(), .bytes = kG}); }
  SECTION("what no client of ours sends") { define(5, std::as_bytes(std::span(&call, 1)).first(16)); }
  REQUIRE(launch(5, 3) == 0);
  REQUIRE(client.latched() == CudaError::illegalAddress);
}

TEST_CASE_METHOD(SessionFixture, "what is no definition ends the connection") {
  give(1);
  const std::uint64_t at = client.window();
  Definition definition;
  const wire::Copy copy{.destination = at + 64, .source = at, .bytes = 11};
  std::string expected;
  wire::GraphDefine command;
  const auto whole = [&] { command = definition.command(1); };
  SECTION("a lane beyond the limit") {
    definition.node(on(wire::kMaxGraphLanes), {}, copy);
    expected = "lane";
  }
  SECTION("an unknown flag") {
    definition.node(on(0, 2), {}, copy);
    expected = "flags";
  }
  SECTION("a node that waits for itself") {
    definition.node(on(0, 1), {}, copy).node(on(0, 1), {1}, copy);
    expected = "waits";
  }
  SECTION("a node that waits for one that is not awaited") {
    definition.node(on(0), {}, copy).node(on(0), {0}, copy);
    expected = "waits";
  }
  SECTION("a command that is no node") {
    definition.node(on(0), {}, wire::StreamDestroy{.stream = {1, 1}});
    expected = "opcode";
  }
  SECTION("a command beyond its limits") {
    definition.node(on(0), {}, wire::Copy{.destination = at, .source = at, .bytes = 0});
    expected = "Copy.bytes";
  }
  SECTION("a call of a library that there is not") {
    definition.node(on(0), {}, wire::LibraryCall{.stream = wire::kLegacyStream, .library = 9}, std::span<const std::byte>());
    expected = "LibraryCall.library";
  }
  SECTION("a launch within a graph") {
    definition.node(on(0), {}, wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 1}, std::vector<std::uint64_t>{});
    expected = "opcode";
  }
  SECTION("a command longer than the definition") {
    definition.node(on(0), {}, copy);
    const std::uint32_t bytes = 4096;
    std::memcpy(definition.bytes.data() + 8, &bytes, 4);
    expected = "commandBytes";
  }
  SECTION("numbers that are not there") {
    definition.node(on(0), {}, copy);
    const std::uint32_t waits = 0x8000'0000;
    std::memcpy(definition.bytes.data() + 4, &waits, 4);
    expected = "waits";
  }
  whole();
  send(command, definition.bytes);
  INFO(fault());
  REQUIRE(fault().find("GraphDefine") != std::string::npos);
  REQUIRE(fault().find(expected) != std::string::npos);
}

TEST_CASE_METHOD(SessionFixture, "pieces come one behind another") {
  give(1);
  const Definition definition = diamond(client.window());
  const std::span<const std::byte> bytes(definition.bytes);
  wire::GraphDefine command = definition.command(3);
  send(command, bytes.first(48));
  REQUIRE(fault() == "");
  SECTION("to the end") {
    command.offset = 48;
    send(command, bytes.subspan(48));
    REQUIRE(fault() == "");
    send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 3}, std::vector<std::uint64_t>{40, 1});
    REQUIRE(fault() == "");
  }
  SECTION("not with a gap") {
    command.offset = 64;
    send(command, bytes.subspan(64));
    REQUIRE(fault().find("GraphDefine.offset") != std::string::npos);
  }
  SECTION("not with another's between") {
    command.graph = 4;
    send(command, bytes.first(48));
    REQUIRE(fault().find("GraphDefine.offset") != std::string::npos);
  }
  SECTION("not too many") {
    command.offset = 48;
    send(command, bytes);
    REQUIRE(fault().find("GraphDefine.definition") != std::string::npos);
  }
  SECTION("not launched before") {
    send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 3}, std::vector<std::uint64_t>{40, 1});
    REQUIRE(fault().find("no such graph") != std::string::npos);
  }
}

TEST_CASE_METHOD(SessionFixture, "a launch names a slot and a value for each of its graph's") {
  give(1);
  const Definition definition = diamond(client.window());
  send(definition.command(3), definition.bytes);
  SECTION("too few") { send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 3}, std::vector<std::uint64_t>{}); }
  SECTION("too many") { send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 3}, std::vector<std::uint64_t>{1, 1, 1, 1}); }
  SECTION("no slot") {
    send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 3}, std::vector<std::uint64_t>{wire::kSlotCount, 1});
  }
  SECTION("no value") { send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 3}, std::vector<std::uint64_t>{1, 0}); }
  REQUIRE(fault().find("GraphLaunch.slots") != std::string::npos);
}

TEST_CASE_METHOD(TwoDevices, "graphs go along, also one whose definition has come in part") {
  Client& client = start(3);
  const Definition definition = diamond(client.window());
  client.send(definition.command(7), definition.bytes);
  wire::GraphDefine begun = definition.command(8);
  client.send(begun, std::span<const std::byte>(definition.bytes).first(48));
  a.settle();
  const Recipe recipe = exported();
  REQUIRE(recipe.graphs.size() == 2);
  begun.offset = 48;
  client.send(begun, std::span<const std::byte>(definition.bytes).subspan(48));
  client.send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 7}, std::vector<std::uint64_t>{40, 1});
  client.send(wire::GraphLaunch{.stream = wire::kLegacyStream, .graph = 8}, std::vector<std::uint64_t>{41, 2});
  Session& there = dormant();
  const Status imported = there.beginImport(recipe);
  INFO(imported.error().message);
  REQUIRE(imported.ok());
  await(there);
  REQUIRE(there.resume().ok());
  b.settle();
  INFO((there.fault() ? there.fault()->message : ""));
  REQUIRE_FALSE(there.fault());
  REQUIRE(client.value(40) == 1);
  REQUIRE(client.value(41) == 2);
  REQUIRE(b.count("copy 22") == 2);
  close(a, who);
}

}  // namespace rouse::executor
