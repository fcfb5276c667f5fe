#include <catch2/catch.hpp>

#include "test/executor/session_fixture.h"

namespace rouse::executor {

using Lines = std::vector<std::string>;
constexpr wire::Handle kLegacy = wire::kLegacyStream;

TEST_CASE_METHOD(SessionFixture, "copies, fills and signals reach the device in order") {
  give(2);
  device.taken.clear();
  client.send(wire::Copy{.stream = kLegacy, .destination = client.window(), .source = client.staging(), .bytes = 100});
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 7, .value = 1, .elementBytes = 4});
  const std::byte data[5] = {};
  client.send(wire::CopyInline{.stream = kLegacy, .destination = client.window()}, std::span<const std::byte>(data));
  client.send(wire::SlotSignal{.stream = kLegacy, .value = 3, .slot = 1});
  settle();
  REQUIRE(fault() == "");
  REQUIRE(device.taken == Lines{"copy 100 s0", "fill 7 s0", "copyInline 5 s0"});
  REQUIRE(client.value(1) == 3);
}

TEST_CASE_METHOD(SessionFixture, "reservations are exact on both limits, and answered in the slot") {
  REQUIRE(client.request.memoryLimit == 32 * kG);
  send(wire::MemReserve{.bytes = 33 * kG, .value = 1, .slot = 5});
  REQUIRE(client.value(5) == 1);
  REQUIRE(client.result(5) == CudaError::memoryAllocation);
  send(wire::MemReserve{.bytes = 32 * kG, .value = 2, .slot = 5});
  REQUIRE(client.result(5) == CudaError::success);
  REQUIRE(memory.freeBytes() == 32 * kG);
  send(wire::MemReserve{.bytes = kG, .value = 3, .slot = 5});
  REQUIRE(client.result(5) == CudaError::memoryAllocation);
  send(wire::MemReturn{.bytes = 32 * kG});
  REQUIRE(memory.freeBytes() == 64 * kG);

  REQUIRE(memory.reserve(77, 50 * kG).ok());
  send(wire::MemReserve{.bytes = 15 * kG, .value = 4, .slot = 5});
  REQUIRE(client.result(5) == CudaError::memoryAllocation);
  REQUIRE(session->usage().reservedBytes == 0);
  send(wire::MemReserve{.bytes = 14 * kG, .value = 5, .slot = 5});
  REQUIRE(client.result(5) == CudaError::success);
  memory.release(77);
}

TEST_CASE_METHOD(SessionFixture, "unmapping waits for all work, and only this ring waits") {
  give(4);
  device.hold = true;
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 8, .elementBytes = 1});
  client.send(wire::MemUnmap{.base = client.window() + kG, .bytes = 2 * kG});
  client.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 1});
  settle();
  REQUIRE(session->awaitsProgress());
  REQUIRE(device.mappedChunks() == 4);
  REQUIRE(device.signals == 0);
  REQUIRE(session->restSleeping());
  device.release();
  REQUIRE(listener.count > 0);
  settle();
  REQUIRE_FALSE(session->awaitsProgress());
  REQUIRE(device.mappedChunks() == 2);
  REQUIRE(client.value(1) == 1);
  REQUIRE(session->usage().mappedBytes == 2 * kG);
  REQUIRE(session->usage().reservedBytes == 4 * kG);

  // What is not mapped is refused, what is left is not; the hole can be mapped again, with scrubbed memory.
  send(wire::MemMap{.base = client.window() + kG, .bytes = 2 * kG});
  REQUIRE(fault() == "");
  REQUIRE(device.mappedChunks() == 4);
}

TEST_CASE("memory that goes round is scrubbed each time") {
  SessionFixture fixture(4);
  fixture.give(4);
  for (int i = 0; i < 3; ++i) {
    fixture.send(wire::MemUnmap{.base = fixture.client.window(), .bytes = 4 * SessionFixture::kG});
    fixture.send(wire::MemMap{.base = fixture.client.window(), .bytes = 4 * SessionFixture::kG});
  }
  REQUIRE(fixture.fault() == "");
  REQUIRE(fixture.device.scrubs == 12);
}

TEST_CASE("a large mapping takes several turns") {
  SessionFixture fixture(200);
  fixture.client.request.memoryLimit = 200 * SessionFixture::kG;
  fixture.session.reset();
  fixture.session = Session::open(fixture.client.request, fixture.client.fds(), fixture.surroundings).value();
  auto& client = fixture.client;
  client.send(wire::MemReserve{.bytes = 128 * SessionFixture::kG, .value = 1, .slot = 1});
  client.send(wire::MemMap{.base = client.window(), .bytes = 128 * SessionFixture::kG});
  REQUIRE(fixture.session->poll());
  REQUIRE(fixture.device.mappedChunks() == 64);
  fixture.settle();
  REQUIRE(fixture.device.mappedChunks() == 128);
}

// The device may do them on this very thread.
TEST_CASE_METHOD(SessionFixture, "many copies take several turns, as does one that is large alone") {
  give(4);
  device.taken.clear();
  constexpr std::uint64_t kPiece = kBurstCopiedBytes / 8;
  for (std::uint64_t k = 0; k < 20; ++k)
    client.send(wire::Copy{.stream = kLegacy, .destination = client.window() + k * kPiece, .source = client.staging(), .bytes = kPiece});
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 4 * kBurstCopiedBytes, .value = 0, .elementBytes = 1});
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 1, .value = 0, .elementBytes = 1});
  for (const std::size_t done : {8, 16, 21, 22}) {
    REQUIRE(session->poll());
    REQUIRE(device.taken.size() == done);
  }
  settle();
  REQUIRE(fault() == "");
}

TEST_CASE_METHOD(SessionFixture, "pinned memory: mapped, copied to, unmapped behind all work, signalled") {
  give(1);
  send(wire::HostMap{.base = client.pinned(), .bytes = 8192});
  device.hold = true;
  client.send(wire::Copy{.stream = kLegacy, .destination = client.pinned(), .source = client.window(), .bytes = 8192});
  client.send(wire::HostUnmap{.base = client.pinned(), .bytes = 8192, .value = 4, .slot = 2});
  settle();
  REQUIRE(client.value(2) == 0);
  device.release();
  settle();
  REQUIRE(client.value(2) == 4);
  REQUIRE(session->usage().hostBytes == 0);
  REQUIRE(fault() == "");
}

TEST_CASE_METHOD(SessionFixture, "the legacy stream's order is made of events") {
  give(1);
  device.taken.clear();
  const wire::Handle a{1, 0}, b{2, 0};
  client.send(wire::StreamCreate{.stream = a});
  client.send(wire::StreamCreate{.stream = b, .flags = 1});
  for (const wire::Handle stream : {kLegacy, a, b, kLegacy})
    client.send(wire::Fill{.stream = stream, .destination = client.window(), .count = 1, .elementBytes = 1});
  settle();
  REQUIRE(device.taken ==
          Lines{"fill 1 s0", "record s0", "wait s1", "fill 1 s1", "fill 1 s2", "record s1", "wait s0", "fill 1 s0"});
}

TEST_CASE_METHOD(SessionFixture, "a destroyed stream completes its work, and others still wait for it") {
  give(1);
  const wire::Handle a{1, 0};
  send(wire::StreamCreate{.stream = a});
  device.hold = true;
  client.send(wire::Fill{.stream = a, .destination = client.window(), .count = 1, .elementBytes = 1});
  client.send(wire::StreamDestroy{.stream = a});
  send(wire::StreamCreate{.stream = {1, 1}});
  device.taken.clear();
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 2, .elementBytes = 1});
  settle();
  REQUIRE(device.taken == Lines{"record s1", "wait s0", "fill 2 s0"});
  REQUIRE(session->awaitsProgress());
  device.release();
  settle();
  REQUIRE_FALSE(session->awaitsProgress());
  send(wire::StreamDestroy{.stream = a});
  REQUIRE(fault() == "StreamDestroy.stream = 1 generation 0: no live stream of this session");
}

TEST_CASE_METHOD(SessionFixture, "modules: installed, bound, launched, unbound behind all work") {
  give(1);
  install(40, true);
  device.taken.clear();
  const std::uint64_t addresses[] = {client.window() + 64};
  const wire::Handle module{0, 0};
  client.send(wire::ModuleBind{.module = module, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
  device.hold = true;
  const std::byte parameters[12] = {};
  client.send(wire::Launch{.stream = kLegacy, .module = module, .grid = {1, 1, 1}, .block = {256, 1, 1}},
              std::span<const std::byte>(parameters));
  client.send(wire::ModuleUnbind{.module = module});
  settle();
  REQUIRE(device.taken == Lines{"instantiate 1", "launch 0 s0"});
  REQUIRE(session->moduleLive(module));
  device.release();
  settle();
  REQUIRE_FALSE(session->moduleLive(module));
  REQUIRE(session->usage().launches == 1);
  REQUIRE(fault() == "");
}

TEST_CASE_METHOD(SessionFixture, "binding after a fence waits until the memory's former user is done") {
  give(1);
  install(40, true);
  device.hold = true;
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 1, .elementBytes = 1});
  send(wire::Fence{});
  device.taken.clear();
  const std::uint64_t addresses[] = {client.window()};
  client.send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>(addresses));
  settle();
  REQUIRE(device.taken.empty());
  device.release();
  settle();
  REQUIRE(device.taken == Lines{"instantiate 1"});
}

TEST_CASE_METHOD(SessionFixture, "what a program may get wrong at a launch is latched, not fatal") {
  install(40);
  const wire::Handle module{0, 0};
  const std::byte parameters[12] = {};
  client.send(wire::ModuleBind{.module = module, .moduleId = 40}, std::span<const std::uint64_t>());
  client.send(wire::Launch{.stream = kLegacy, .module = module, .grid = {1, 1, 1}, .block = {257, 1, 1}},
              std::span<const std::byte>(parameters));
  settle();
  REQUIRE(fault() == "");
  REQUIRE(client.latched() == CudaError::launchOutOfResources);
  REQUIRE(client.message() == "kernel: 257 threads a block, the limit is 256");

  // Told, so the next one is kept; until then the first stays.
  client.segment.header().devices[0].error = 0;
  send(wire::SetLimit{.limit = 0, .value = 2'000'000});
  REQUIRE(client.latched() == CudaError::invalidValue);
  send(wire::Launch{.stream = kLegacy, .module = module, .grid = {1, 1, 1}, .block = {257, 1, 1}},
       std::span<const std::byte>(parameters));
  REQUIRE(client.latched() == CudaError::invalidValue);
}

TEST_CASE_METHOD(SessionFixture, "a module that cannot be instantiated fails its launches by name") {
  install(40);
  device.failInstantiate = true;
  const std::byte parameters[12] = {};
  send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>());
  REQUIRE(client.latched() == CudaError::memoryAllocation);
  client.segment.header().devices[0].error = 0;
  send(wire::Launch{.stream = kLegacy, .module = {0, 0}, .grid = {1, 1, 1}, .block = {1, 1, 1}},
       std::span<const std::byte>(parameters));
  REQUIRE(client.latched() == CudaError::invalidKernelImage);
  REQUIRE(fault() == "");
}

TEST_CASE_METHOD(SessionFixture, "faults are latched, sticky ones for good, and text goes to the output ring") {
  memory::ContextObserver& observer = device.context().observer();
  observer.onFault(CudaError::illegalAddress, "kernel: address 0x10");
  observer.onFault(CudaError::invalidValue, "later");
  client.segment.header().devices[0].error = 0;
  observer.onFault(CudaError::invalidValue, "later still");
  REQUIRE(client.latched() == CudaError::success);
  REQUIRE(client.message() == "kernel: address 0x10");
  REQUIRE(session->usage().error == 700);

  observer.onOutput("hello", false);
  observer.onOutput("assert", true);
  std::string out, err;
  REQUIRE(client.output.drain([&](std::string_view text, bool toStderr) { (toStderr ? err : out) += text; }));
  REQUIRE(out == "hello");
  REQUIRE(err == "assert");

  send(wire::Reset{.value = 1, .slot = 3});
  observer.onFault(CudaError::illegalAddress, std::string(1000, 'x'));
  REQUIRE(client.latched() == CudaError::illegalAddress);
  REQUIRE(client.message() == std::string(447, 'x'));
}

TEST_CASE_METHOD(SessionFixture, "reset drops everything and starts handles anew") {
  give(4);
  install(40);
  send(wire::StreamCreate{.stream = {1, 5}});
  send(wire::ModuleBind{.module = {0, 3}, .moduleId = 40}, std::span<const std::uint64_t>());
  send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  device.hold = true;
  client.send(wire::Fill{.stream = {1, 5}, .destination = client.window(), .count = 1, .elementBytes = 1});
  client.send(wire::SlotWait{.stream = kLegacy, .value = 99, .slot = 50});
  client.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 6});
  client.send(wire::Reset{.value = 1, .slot = 3});
  settle();
  REQUIRE(client.value(3) == 1);
  REQUIRE(client.value(6) == 1);  // nobody waits for ever
  REQUIRE(device.mappedChunks() == 0);
  REQUIRE(device.contexts() == 1);
  REQUIRE(memory.freeBytes() == memory.totalBytes());
  device.hold = false;

  send(wire::StreamCreate{.stream = {1, 0}});
  send(wire::ModuleBind{.module = {0, 0}, .moduleId = 40}, std::span<const std::uint64_t>());
  give(4);
  send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  send(wire::Copy{.stream = {1, 0}, .destination = client.window(), .source = client.staging(), .bytes = 10});
  REQUIRE(fault() == "");
}

TEST_CASE_METHOD(SessionFixture, "a kernel that does not stop holds up its own reset only") {
  give(1);
  device.hold = true;
  device.keepRunningWhenCancelled = true;
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 1, .elementBytes = 1});
  client.send(wire::Reset{.value = 1, .slot = 3});
  settle();
  REQUIRE(client.value(3) == 0);
  REQUIRE(session->awaitsProgress());
  device.keepRunningWhenCancelled = false;
  settle();
  REQUIRE(client.value(3) == 1);
}

TEST_CASE_METHOD(SessionFixture, "too much queued work makes the ring wait, and goes on when it is half done") {
  give(1);
  device.hold = true;
  const std::vector<std::byte> data(32768);
  std::size_t sent = 0;
  for (; sent < 2000; ++sent) {
    const wire::CopyInline command{.stream = kLegacy, .destination = client.window()};
    std::byte* at = client.producer.tryReserve(wire::encodedBytes(command, std::span<const std::byte>(data)));
    if (at == nullptr) break;
    client.producer.publish(wire::encode(at, command, std::span<const std::byte>(data)), client.wake());
    settle();
  }
  REQUIRE(sent > kMaxQueuedBytes / data.size());
  REQUIRE(sent < 2000);
  REQUIRE(session->awaitsProgress());
  device.release();
  settle();
  REQUIRE_FALSE(session->awaitsProgress());
  REQUIRE(device.taken.back() == "copyInline 32768 s0");
  REQUIRE(session->usage().commands == sent + 2);
}

TEST_CASE_METHOD(SessionFixture, "closing while busy leaves nothing") {
  give(8);
  device.hold = true;
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 1, .elementBytes = 1});
  client.send(wire::MemUnmap{.base = client.window(), .bytes = kG});
  settle();
  session->beginClose();
  settle();
  REQUIRE(session->closed());
  REQUIRE(device.contexts() == 0);
  REQUIRE(device.mappedChunks() == 0);
  REQUIRE(memory.freeBytes() == memory.totalBytes());
  REQUIRE_FALSE(session->awaitsProgress());
}

TEST_CASE_METHOD(SessionFixture, "what the program is told of free memory counts all that was answered") {
  const wire::DeviceStatus& status = client.segment.header().devices[0];
  const std::uint64_t total = memory.totalBytes();
  REQUIRE(status.state == wire::DeviceState::serving);
  REQUIRE(status.totalBytes == total);
  REQUIRE(status.freeBytes == total);
  client.send(wire::MemReserve{.bytes = 3 * kG, .value = 1, .slot = 7});
  settle();
  REQUIRE(client.segment.slot(7).value == 1);
  REQUIRE(status.freeBytes == total - 3 * kG);
  client.send(wire::MemReturn{.bytes = 2 * kG});
  client.send(wire::MemReserve{.bytes = 0, .value = 2, .slot = 7});
  settle();
  REQUIRE(client.segment.slot(7).value == 2);
  REQUIRE(client.segment.slot(7).result == 0);
  REQUIRE(status.freeBytes == total - kG);
  client.send(wire::Reset{.value = 3, .slot = 7});
  settle();
  REQUIRE(client.segment.slot(7).value == 3);
  REQUIRE(status.freeBytes == total);
}

TEST_CASE("what comes with an open request is verified") {
  FakeDevice device;
  PhysicalMemory memory = PhysicalMemory::create(device).value();
  CountingListener listener;
  wire::CommandBuffer buffer;
  Surroundings surroundings{device, memory, listener, buffer};
  Client client(3);
  auto fds = client.fds();
  std::string expected;
  SECTION("descriptors missing") {
    fds.pop_back();
    expected = "open session: 3 descriptors, needed are 4";
  }
  SECTION("an unsealed segment") {
    fds[0] = wire::OwnedFd(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    expected = "session segment: seals are 0";
  }
  SECTION("a host window of another size") {
    client.request.hostWindow.bytes += 4096;
    expected = "host window: 41943040 bytes, needed are exactly 41947136";
  }
  SECTION("segments exchanged") {
    std::swap(fds[0], fds[2]);
    expected = "session segment: 2101248 bytes, needed are exactly";
  }
  SECTION("a ring of another device") {
    client.request.deviceIndex = 2;
    expected = "ring segment: of device 0, expected 2";
  }
  SECTION("a device index beyond the limit") {
    client.request.deviceIndex = 16;
    expected = "open session: device index 16, the limit is 15";
  }
  SECTION("no eventfd") {
    fds[3] = wire::OwnedFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    expected = "open session: the wake descriptor is no eventfd";
  }
  SECTION("an unaligned window") {
    client.request.deviceWindow.base += 4096;
    expected = "open session: device window [0x200180001000, +268435456): not a multiple of 2097152";
  }
  SECTION("a window that wraps round") {
    client.request.deviceWindow = {0 - kGranuleBytes, 2 * kGranuleBytes};
    expected = "open session: device window [0xffffffffffe00000, +4194304): between";
  }
  const auto session = Session::open(client.request, std::move(fds), surroundings);
  REQUIRE_FALSE(session.ok());
  REQUIRE(session.error().message.substr(0, expected.size()) == expected);
  REQUIRE(device.contexts() == 0);
}

}  // namespace rouse::executor
