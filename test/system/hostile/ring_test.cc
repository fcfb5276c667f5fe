// What a function can do with its ring and its segments.
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <thread>

#include "test/system/hostile/attacker.h"
#include "test/system/hostile/pool.h"

using namespace rouse;
using namespace rouse::test;
using namespace std::chrono_literals;

namespace {

constexpr wire::Handle kLegacy = wire::kLegacyStream;
constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;

const char* const kModule = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .u64 number = 5;
.visible .entry store(.param .u64 where, .param .u32 value)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [where];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

// The attacker is cut off, told why in words that contain `expected`, and nobody else notices.
void refused(Attacker& attacker, const std::string& expected) {
  const std::string reason = attacker.cutOff();
  INFO("expected: " << expected);
  CHECK(reason.find(expected) != std::string::npos);
  CHECK(reason.size() < 500);
  Pool::instance().expectUnharmed();
}

std::vector<std::byte> raw(std::uint16_t opcode, std::uint16_t reserved, std::uint32_t bytes, std::size_t size) {
  std::vector<std::byte> command(size);
  const wire::CommandHeader header{opcode, reserved, bytes};
  std::memcpy(command.data(), &header, sizeof header);
  return command;
}

}  // namespace

TEST_CASE("an attacker that does nothing wrong is served") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  attacker.send(wire::Fill{
      .stream = kLegacy, .destination = attacker.window().base, .count = 64, .value = 0x55, .elementBytes = 1});
  attacker.send(wire::Copy{
      .stream = kLegacy, .destination = attacker.hostWindow().base, .source = attacker.window().base, .bytes = 64});
  attacker.send(wire::SlotSignal{.stream = kLegacy, .value = 3, .slot = 9});
  CHECK(attacker.await(9, 3) == 0);
  Pool::instance().expectUnharmed();
}

TEST_CASE("commands that are none") {
  Attacker attacker;
  SECTION("opcode 0") {
    attacker.publish(raw(0, 0, 16, 16));
    refused(attacker, "opcode 0");
  }
  SECTION("an opcode beyond the last") {
    attacker.publish(raw(999, 0, 16, 16));
    refused(attacker, "opcode 999");
  }
  SECTION("no bytes") {
    attacker.publish(raw(static_cast<std::uint16_t>(wire::Opcode::Fence), 0, 0, 16));
    refused(attacker, "shorter than its header");
  }
  SECTION("more bytes than any command has") {
    attacker.publish(raw(static_cast<std::uint16_t>(wire::Opcode::CopyInline), 0, 0x7fffffff, 64));
    refused(attacker, "above the limit");
  }
  SECTION("more bytes than are published") {
    attacker.publish(raw(static_cast<std::uint16_t>(wire::Opcode::CopyInline), 0, 4096, 64));
    refused(attacker, "are published");
  }
  SECTION("truncated") {
    attacker.publish(raw(static_cast<std::uint16_t>(wire::Opcode::Launch), 0, 16, 16));
    refused(attacker, "Launch.header.bytes = 16");
  }
  SECTION("too long") {
    attacker.publish(raw(static_cast<std::uint16_t>(wire::Opcode::Fence), 0, 64, 64));
    refused(attacker, "Fence");
  }
  SECTION("a reserved field in use") {
    attacker.publish(raw(static_cast<std::uint16_t>(wire::Opcode::Fence), 7, 8, 16));
    refused(attacker, "reserved = 7");
  }
  SECTION("a payload above the limit") {
    const std::vector<std::byte> data(40000);
    attacker.giveMemory(kGranule);
    attacker.send(wire::CopyInline{.stream = kLegacy, .destination = attacker.window().base},
                  std::span<const std::byte>(data));
    refused(attacker, "above the limit 32768");
  }
}

TEST_CASE("random bytes") {
  const auto seed = GENERATE(range(1, 9));
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  Attacker attacker;
  std::vector<std::byte> bytes(4096);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  // Half of them get past the first check.
  if (seed % 2 == 0) {
    const wire::CommandHeader header{static_cast<std::uint16_t>(1 + random() % wire::kHighestOpcode), 0, 48};
    std::memcpy(bytes.data(), &header, sizeof header);
  }
  attacker.publish(bytes);
  const std::string reason = attacker.cutOff();
  CHECK(reason != "");
  CHECK(reason != "still connected");
  Pool::instance().expectUnharmed();
}

TEST_CASE("cursors that make no sense") {
  Attacker attacker;
  SECTION("beyond the ring") {
    attacker.moveTail(wire::kRingBytes + 16);
    refused(attacker, "ring tail");
  }
  SECTION("far beyond") {
    attacker.moveTail(~std::uint64_t{15});
    refused(attacker, "ring tail");
  }
  SECTION("backwards") {
    for (int i = 0; i < 4; ++i) attacker.send(wire::Fence{});
    attacker.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 1});
    attacker.await(1, 1);
    attacker.moveTail(16);
    refused(attacker, "ring tail 16");
  }
  SECTION("between commands") {
    attacker.moveTail(24);
    refused(attacker, "ring tail 24");
  }
}

TEST_CASE("handles: forged, stale, skipped, of another kind") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  const auto fill = [&](wire::Handle stream) {
    attacker.send(wire::Fill{.stream = stream, .destination = attacker.window().base, .count = 1, .elementBytes = 1});
  };
  SECTION("never made") {
    fill({5, 1});
    refused(attacker, "Fill.stream = 5 generation 1");
  }
  SECTION("a huge index") {
    fill({0xffffffff, 0xffffffff});
    refused(attacker, "Fill.stream = 4294967295");
  }
  SECTION("stale") {
    attacker.send(wire::StreamCreate{.stream = {1, 1}});
    attacker.send(wire::StreamDestroy{.stream = {1, 1}});
    fill({1, 1});
    refused(attacker, "Fill.stream = 1 generation 1");
  }
  SECTION("the generation before") {
    attacker.send(wire::StreamCreate{.stream = {1, 1}});
    attacker.send(wire::StreamDestroy{.stream = {1, 1}});
    attacker.send(wire::StreamCreate{.stream = {1, 2}});
    fill({1, 1});
    refused(attacker, "Fill.stream = 1 generation 1");
  }
  SECTION("used again with the same generation") {
    attacker.send(wire::StreamCreate{.stream = {1, 1}});
    attacker.send(wire::StreamDestroy{.stream = {1, 1}});
    attacker.send(wire::StreamCreate{.stream = {1, 1}});
    refused(attacker, "StreamCreate.stream = 1 generation 1");
  }
  SECTION("skipped") {
    attacker.send(wire::StreamCreate{.stream = {9, 1}});
    refused(attacker, "StreamCreate.stream = 9");
  }
  SECTION("twice") {
    attacker.send(wire::StreamCreate{.stream = {1, 1}});
    attacker.send(wire::StreamDestroy{.stream = {1, 1}});
    attacker.send(wire::StreamDestroy{.stream = {1, 1}});
    refused(attacker, "StreamDestroy.stream = 1");
  }
  SECTION("a module never bound") {
    attacker.send(wire::ModuleUnbind{.module = {1, 1}});
    refused(attacker, "ModuleUnbind.module = 1");
  }
  SECTION("millions of streams") {
    // Each is one step past the highest: allowed one by one, but not without limit.
    for (std::uint32_t i = 1; i < 30000; ++i) attacker.send(wire::StreamCreate{.stream = {i, 1}});
    const std::string reason = attacker.cutOff();
    CHECK((reason == "still connected" || reason.find("StreamCreate") != std::string::npos));
    Pool::instance().expectUnharmed();
  }
}

TEST_CASE("addresses: other functions', the server's own, beyond what is mapped") {
  Attacker victim, attacker;
  victim.giveMemory(kGranule);
  attacker.giveMemory(kGranule);
  // The victim's secret.
  victim.send(wire::Fill{
      .stream = kLegacy, .destination = victim.window().base, .count = 4096, .value = 0x5ec2e7, .elementBytes = 4});
  victim.send(wire::Copy{
      .stream = kLegacy, .destination = victim.hostWindow().base, .source = victim.window().base, .bytes = 16384});
  victim.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 1});
  REQUIRE(victim.await(1, 1) == 0);
  int local = 0;
  const std::uint64_t own = attacker.window().base;
  const struct {
    const char* what;
    std::uint64_t destination, source, bytes;
  } attacks[] = {
      {"reading another function's device memory", own, victim.window().base, 4096},
      {"writing another function's device memory", victim.window().base, own, 4096},
      {"reading another function's host memory", own, victim.hostWindow().base, 4096},
      {"writing another function's host memory", victim.hostWindow().base, own, 4096},
      {"address 0", own, 0, 8},
      {"the stack of a process", own, reinterpret_cast<std::uint64_t>(&local), 4},
      {"a vsyscall page", own, 0xffffffffff600000, 8},
      {"its own window, not mapped", own, own + kGranule, 1},
      {"over the end of what is mapped", own, own + kGranule - 8, 16},
      {"its own host window, not in use", attacker.hostWindow().base + attacker.hostWindow().bytes - 4096, own, 4096},
      {"all memory there is", own, own, ~std::uint64_t{0}},
      {"round the end of the address space", own, own, ~own + 17},
  };
  const auto& attack = attacks[GENERATE(range(0, 12))];
  INFO(attack.what);
  attacker.send(
      wire::Copy{.stream = kLegacy, .destination = attack.destination, .source = attack.source, .bytes = attack.bytes});
  const std::string reason = attacker.cutOff();
  CHECK(reason.find("Copy.") != std::string::npos);
  // Nothing of the victim's has changed.
  victim.send(wire::Fill{
      .stream = kLegacy, .destination = victim.hostWindow().base, .count = 16384, .value = 0, .elementBytes = 1});
  victim.send(wire::Copy{
      .stream = kLegacy, .destination = victim.hostWindow().base, .source = victim.window().base, .bytes = 4});
  victim.send(wire::SlotSignal{.stream = kLegacy, .value = 2, .slot = 1});
  CHECK(victim.await(1, 2) == 0);
  Pool::instance().expectUnharmed();
}

TEST_CASE("sizes and shapes beyond limits") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  const std::uint64_t base = attacker.window().base;
  SECTION("a fill whose size wraps") {
    attacker.send(wire::Fill{
        .stream = kLegacy, .destination = base, .count = std::uint64_t{1} << 62, .value = 0, .elementBytes = 4});
    refused(attacker, "Fill.count");
  }
  SECTION("an element size of 3") {
    attacker.send(wire::Fill{.stream = kLegacy, .destination = base, .count = 1, .value = 0, .elementBytes = 3});
    refused(attacker, "Fill.elementBytes = 3");
  }
  SECTION("rows that overlap") {
    attacker.send(wire::Copy3D{.stream = kLegacy,
                               .destination = base,
                               .destinationPitch = 4,
                               .destinationSlicePitch = 64,
                               .source = base,
                               .sourcePitch = 16,
                               .sourceSlicePitch = 64,
                               .width = 16,
                               .height = 2,
                               .depth = 1});
    refused(attacker, "Copy3D.destinationPitch = 4");
  }
  SECTION("a box whose size wraps") {
    attacker.send(wire::Copy3D{.stream = kLegacy,
                               .destination = base,
                               .destinationPitch = ~std::uint64_t{0},
                               .destinationSlicePitch = ~std::uint64_t{0},
                               .source = base,
                               .sourcePitch = ~std::uint64_t{0},
                               .sourceSlicePitch = ~std::uint64_t{0},
                               .width = 16,
                               .height = 1u << 31,
                               .depth = 1u << 31});
    refused(attacker, "Copy3D.");
  }
  SECTION("a slot that is not there") {
    attacker.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = wire::kSlotCount});
    refused(attacker, "SlotSignal.slot = 1048576");
  }
  SECTION("a limit nobody knows") {
    attacker.send(wire::SetLimit{.limit = 7, .value = 1});
    refused(attacker, "SetLimit.limit = 7");
  }
  SECTION("stack for the whole address space") {
    attacker.send(wire::SetLimit{.limit = 0, .value = ~std::uint64_t{0}});
    attacker.send(wire::SetLimit{.limit = 2, .value = ~std::uint64_t{0}});
    attacker.send(wire::SlotSignal{.stream = kLegacy, .value = 5, .slot = 2});
    // Refused by the rules or by the device; either way the server lives.
    const std::string reason = attacker.cutOff();
    CHECK((reason == "still connected" || reason.find("SetLimit") != std::string::npos));
    Pool::instance().expectUnharmed();
  }
}

TEST_CASE("memory that was not granted") {
  Attacker attacker;
  const std::uint64_t base = attacker.window().base;
  SECTION("more than there is: an answer, not an end") {
    attacker.send(wire::MemReserve{.bytes = std::uint64_t{1} << 45, .value = 1, .slot = 3});
    CHECK(attacker.await(3, 1) == 2);  // cudaErrorMemoryAllocation
    attacker.send(wire::MemReserve{.bytes = ~std::uint64_t{0} / kGranule * kGranule, .value = 2, .slot = 3});
    CHECK(attacker.await(3, 2) == 2);
    Pool::instance().expectUnharmed();
  }
  SECTION("mapped without a reservation") {
    attacker.send(wire::MemMap{.base = base, .bytes = kGranule});
    refused(attacker, "MemMap");
  }
  SECTION("not a granule") {
    attacker.send(wire::MemReserve{.bytes = 4096, .value = 1, .slot = 3});
    refused(attacker, "MemReserve.bytes");
  }
  SECTION("outside the window") {
    attacker.giveMemory(kGranule);
    attacker.send(wire::MemReserve{.bytes = kGranule, .value = 2, .slot = 3});
    attacker.send(wire::MemMap{.base = base + attacker.window().bytes, .bytes = kGranule});
    refused(attacker, "MemMap");
  }
  SECTION("mapped twice") {
    attacker.giveMemory(kGranule);
    attacker.send(wire::MemReserve{.bytes = kGranule, .value = 2, .slot = 3});
    attacker.send(wire::MemMap{.base = base, .bytes = kGranule});
    refused(attacker, "mapped");
  }
  SECTION("unmapped without being mapped") {
    attacker.send(wire::MemUnmap{.base = base, .bytes = kGranule});
    refused(attacker, "MemUnmap");
  }
  SECTION("returned without being reserved") {
    attacker.send(wire::MemReturn{.bytes = kGranule});
    refused(attacker, "MemReturn");
  }
  SECTION("used after it was unmapped") {
    attacker.giveMemory(kGranule);
    attacker.send(wire::MemUnmap{.base = base, .bytes = kGranule});
    attacker.send(wire::Fill{.stream = kLegacy, .destination = base, .count = 1, .elementBytes = 1});
    refused(attacker, "Fill.destination");
  }
  SECTION("host memory outside the window") {
    attacker.send(wire::HostMap{.base = attacker.hostWindow().base + attacker.hostWindow().bytes, .bytes = 4096});
    refused(attacker, "HostMap");
  }
  SECTION("an unmap of staging") {
    attacker.send(
        wire::HostUnmap{.base = attacker.hostWindow().base, .bytes = wire::kStagingBytes, .value = 1, .slot = 1});
    refused(attacker, "HostUnmap");
  }
}

TEST_CASE("modules that were never loaded here") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  const std::uint64_t base = attacker.window().base;
  SECTION("a number of no module") {
    attacker.send(wire::ModuleBind{.module = {0, 1}, .moduleId = 123456789}, std::span<const std::uint64_t>());
    refused(attacker, "ModuleBind.moduleId = 123456789");
  }
  SECTION("another function's module") {
    Attacker owner;
    const channel::ModuleInfo info = owner.load(std::string(kModule) + "// of the owner\n");
    const std::uint64_t addresses[] = {base};
    attacker.send(wire::ModuleBind{.module = {0, 1}, .moduleId = info.moduleId},
                  std::span<const std::uint64_t>(addresses));
    refused(attacker, "ModuleBind.moduleId");
  }
}

TEST_CASE("modules and launches") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  const std::uint64_t base = attacker.window().base;
  const channel::ModuleInfo info = attacker.load(kModule);
  const std::uint64_t addresses[] = {base + 4096};
  const auto bind = [&] {
    attacker.send(wire::ModuleBind{.module = {0, 1}, .moduleId = info.moduleId},
                  std::span<const std::uint64_t>(addresses));
  };
  std::vector<std::byte> parameters(12);
  std::memcpy(parameters.data(), &base, sizeof base);
  const auto launch = [&](wire::Launch command) { attacker.send(command, std::span<const std::byte>(parameters)); };
  const wire::Launch good{.stream = kLegacy, .module = {0, 1}, .function = 0, .grid = {1, 1, 1}, .block = {1, 1, 1}};
  SECTION("right") {
    bind();
    launch(good);
    attacker.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 8});
    CHECK(attacker.await(8, 1) == 0);
    Pool::instance().expectUnharmed();
  }
  SECTION("too few variables") {
    attacker.send(wire::ModuleBind{.module = {0, 1}, .moduleId = info.moduleId}, std::span<const std::uint64_t>());
    refused(attacker, "ModuleBind.variableAddresses");
  }
  SECTION("a variable in another function's memory") {
    Attacker victim;
    victim.giveMemory(kGranule);
    const std::uint64_t elsewhere[] = {victim.window().base};
    attacker.send(wire::ModuleBind{.module = {0, 1}, .moduleId = info.moduleId},
                  std::span<const std::uint64_t>(elsewhere));
    refused(attacker, "ModuleBind.variableAddresses");
  }
  SECTION("a function that is not there") {
    bind();
    auto command = good;
    command.function = 1;
    launch(command);
    refused(attacker, "Launch.function = 1");
  }
  SECTION("too few parameters") {
    bind();
    parameters.resize(8);
    launch(good);
    refused(attacker, "Launch.parameters");
  }
  SECTION("too many parameters") {
    bind();
    parameters.resize(4000);
    launch(good);
    refused(attacker, "Launch.parameters");
  }
  SECTION("no grid") {
    bind();
    auto command = good;
    command.grid.y = 0;
    launch(command);
    refused(attacker, "Launch.grid");
  }
  SECTION("a block of a million threads") {
    bind();
    auto command = good;
    command.block = {1024, 1024, 1};
    launch(command);
    refused(attacker, "Launch.block");
  }
  SECTION("shared memory without end") {
    bind();
    auto command = good;
    command.sharedBytes = 0xffffffff;
    launch(command);
    refused(attacker, "Launch.sharedBytes");
  }
  SECTION("a kernel that faults hurts its own function only") {
    bind();
    const std::uint64_t nowhere = 0x10;
    std::memcpy(parameters.data(), &nowhere, sizeof nowhere);
    launch(good);
    attacker.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 8});
    CHECK(attacker.await(8, 1) == 700);  // cudaErrorIllegalAddress
    Pool::instance().expectUnharmed();
  }
  SECTION("after a module is unbound") {
    bind();
    attacker.send(wire::ModuleUnbind{.module = {0, 1}});
    launch(good);
    refused(attacker, "Launch.module = 0");
  }
}

TEST_CASE("commands rewritten after they were published") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  // The ring is full of copies that are right; meanwhile another thread turns opcodes, sizes and addresses back and
  // forth.
  const wire::Copy good{.stream = kLegacy,
                        .destination = attacker.window().base,
                        .source = attacker.window().base + 65536,
                        .bytes = 4096};
  constexpr std::size_t kStep = roundUp(sizeof(wire::Copy), wire::kCommandAlign);
  std::atomic<bool> stop{false};
  std::byte* const ring = attacker.ring();
  const std::uint64_t start = attacker.header().tail.load();
  std::thread rewriter([&] {
    std::mt19937_64 random(5);
    while (!stop) {
      for (int i = 0; i < 64; ++i) {
        std::byte* at = ring + ((start + random() % 4096 * kStep) & (wire::kRingBytes - 1));
        const std::uint64_t victim = random();
        switch (random() % 4) {
          case 0:
            std::memcpy(at + offsetof(wire::Copy, source), &victim, 8);
            break;
          case 1:
            std::memcpy(at + offsetof(wire::Copy, bytes), &victim, 8);
            break;
          case 2:
            std::memcpy(at + 4, &victim, 4);
            break;
          default:
            std::memcpy(at, &victim, 2);
            break;
        }
        std::memcpy(at, &good, sizeof good);
      }
    }
  });
  const auto deadline = std::chrono::steady_clock::now() + 2s;
  std::uint64_t tail = start;
  while (std::chrono::steady_clock::now() < deadline) {
    for (int i = 0; i < 4096; ++i)
      std::memcpy(ring + ((tail + i * kStep) & (wire::kRingBytes - 1)), &good, sizeof good);
    tail += 4096 * kStep;
    attacker.moveTail(tail);
    while (attacker.header().head.load() < tail && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    if (attacker.header().head.load() < tail) break;
  }
  stop = true;
  rewriter.join();
  // Whether one of the rewritten commands was seen is chance. If so, it was refused by name.
  Pool::instance().expectUnharmed();
  Pool::instance().awaitNeighbour(1);
}

TEST_CASE("scribbling over everything that is shared") {
  Attacker attacker;
  attacker.giveMemory(kGranule);
  std::mt19937_64 random(6);
  auto* session = reinterpret_cast<std::byte*>(&attacker.session().header());
  for (int i = 0; i < 200000; ++i) {
    session[random() % (wire::kSlotsOffset + 4096 * sizeof(wire::Slot))] = static_cast<std::byte>(random());
    if (i % 16 == 0) {
      attacker.header().head.store(random());
      attacker.header().consumerState.store(static_cast<wire::ConsumerState>(random()));
      attacker.header().outputHead.store(random());
      attacker.header().outputTail.store(random());
      attacker.header().producerWaiting.store(1);
    }
    if (i % 1000 == 0)
      attacker.send(wire::SlotSignal{
          .stream = kLegacy, .value = random() | 1, .slot = static_cast<std::uint32_t>(random() % 4096)});
  }
  Pool::instance().expectUnharmed();
}

TEST_CASE("death with everything outstanding") {
  for (int i = 0; i < 20; ++i) {
    Attacker attacker;
    attacker.giveMemory(16 * kGranule);
    for (std::uint32_t s = 1; s < 40; ++s) {
      attacker.send(wire::StreamCreate{.stream = {s, 1}, .flags = 1});
      // Never signalled.
      attacker.send(wire::SlotWait{.stream = {s, 1}, .value = 1, .slot = 100 + s});
      attacker.send(wire::Fill{
          .stream = {s, 1}, .destination = attacker.window().base, .count = 1 << 20, .value = 1, .elementBytes = 4});
    }
    attacker.send(wire::SlotWait{.stream = kLegacy, .value = 1, .slot = 99});
    attacker.send(wire::MemUnmap{.base = attacker.window().base, .bytes = 16 * kGranule});
  }
  Pool::instance().expectUnharmed();
  // All of it comes back: the whole GPU less what the neighbour has can be reserved by one.
  Attacker last;
  std::uint32_t result = 2;
  for (std::uint64_t attempt = 1; attempt < 100 && result != 0; ++attempt) {
    last.send(wire::MemReserve{.bytes = std::uint64_t{700} << 20, .value = attempt, .slot = 3});
    result = last.await(3, attempt);
    if (result != 0) std::this_thread::sleep_for(100ms);
  }
  CHECK(result == 0);
}
