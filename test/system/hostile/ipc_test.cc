// What a process can ask of memory and events that others have, or have not.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <random>

#include "schemas/wire/shared_event.h"
#include "test/system/hostile/attacker.h"
#include "test/system/hostile/pool.h"

using namespace rouse;
using namespace rouse::test;
using channel::Ipc;
using channel::IpcAction;

namespace {

constexpr std::uint64_t kG = std::uint64_t{2} << 20;

// 0: granted.
CudaError ask(Attacker& attacker, const Ipc& request, channel::Shared* shared = nullptr, wire::OwnedFd fd = {}) {
  std::vector<wire::OwnedFd> fds;
  if (fd) fds.push_back(std::move(fd));
  REQUIRE(attacker.channel().send(9, request, std::move(fds)).ok());
  const channel::Message answer = attacker.next();
  if (const auto* error = std::get_if<Error>(&answer.body)) return error->code;
  REQUIRE(std::holds_alternative<channel::Shared>(answer.body));
  if (shared != nullptr) *shared = std::get<channel::Shared>(answer.body);
  return CudaError::success;
}

// Mapped, and not only asked for: requests overtake commands.
void give(Attacker& attacker, std::uint64_t bytes) {
  attacker.giveMemory(bytes);
  attacker.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 78});
  REQUIRE(attacker.await(78, 1) == 0);
}

wire::IpcHandle exported(Attacker& attacker, AddressRange range) {
  channel::Shared shared;
  REQUIRE(ask(attacker, {.action = IpcAction::exportMemory, .range = range}, &shared) == CudaError::success);
  return shared.handle;
}

void fill(Attacker& attacker, std::uint64_t at) {
  attacker.send(wire::Fill{.stream = wire::kLegacyStream, .destination = at, .count = 8, .elementBytes = 1});
}

void cut(Stranger& stranger, const std::string& expected) {
  const std::string reason = stranger.cutOff();
  INFO("expected: " << expected);
  CHECK(reason.find(expected) != std::string::npos);
}

wire::OwnedFd page() {
  auto made = wire::createSealedMemfd("event", wire::kPageBytes);
  REQUIRE(made.ok());
  return std::move(*made);
}

}  // namespace

TEST_CASE("memory of nobody's is not exported") {
  Attacker attacker;
  give(attacker, kG);
  const AddressRange window = attacker.window();
  for (const AddressRange range : {AddressRange{window.base - kG, kG}, AddressRange{window.base, 2 * kG}, AddressRange{window.base, window.bytes + kG},
                                   AddressRange{window.base, 0}, AddressRange{0, 1}, attacker.hostWindow()})
    CHECK(ask(attacker, {.action = IpcAction::exportMemory, .range = range}) != CudaError::success);
  CHECK(ask(attacker, {.action = IpcAction::exportMemory, .deviceIndex = 7, .range = {window.base, kG}}) == CudaError::invalidDevice);
  CHECK(ask(attacker, {.action = IpcAction::mapEvent, .page = 3}) != CudaError::success);
  CHECK(ask(attacker, {.action = IpcAction::closeMemory}) == CudaError::success);  // of what is not open nothing is closed
  CHECK(ask(attacker, {.action = IpcAction::withdraw}) == CudaError::success);
  exported(attacker, {window.base, kG});
  CHECK(ask(attacker, {.action = IpcAction::exportMemory, .range = {window.base + 1, 1}}) != CudaError::success);
  Pool::instance().expectUnharmed();
}

TEST_CASE("an importer names what it has opened, while it has it") {
  Attacker exporter, importer;
  give(exporter, 2 * kG);
  give(importer, kG);
  const std::uint64_t at = exporter.window().base;
  const wire::IpcHandle handle = exported(exporter, {at + 4096, 4096});
  std::string expected = "Fill";
  SECTION("before it is opened") { fill(importer, at + 4096); }
  SECTION("beside it") {
    REQUIRE(ask(importer, {.action = IpcAction::openMemory, .handle = handle}) == CudaError::success);
    fill(importer, at + 8190);
  }
  SECTION("after it has been closed") {
    REQUIRE(ask(importer, {.action = IpcAction::openMemory, .handle = handle}) == CudaError::success);
    fill(importer, at + 4096);
    REQUIRE(ask(importer, {.action = IpcAction::closeMemory, .handle = handle}) == CudaError::success);
    fill(importer, at + 4096);
  }
  cut(importer, expected);
  Pool::instance().expectUnharmed();
}

TEST_CASE("what others have its exporter unmaps, frees and loses in vain") {
  Attacker importer;
  give(importer, kG);
  auto exporter = std::make_unique<Attacker>();
  give(*exporter, 2 * kG);
  const std::uint64_t at = exporter->window().base;
  const wire::IpcHandle handle = exported(*exporter, {at, kG});
  REQUIRE(ask(importer, {.action = IpcAction::openMemory, .handle = handle}) == CudaError::success);
  SECTION("unmaps") { exporter->send(wire::MemUnmap{.base = at, .bytes = kG}); }
  SECTION("starts anew") { exporter->send(wire::Reset{.value = 1, .slot = 5}); }
  SECTION("breaks a rule") {
    exporter->send(wire::MemUnmap{.base = at + (std::uint64_t{64} << 20), .bytes = kG});
    exporter->cutOff();
  }
  SECTION("ends") { exporter.reset(); }
  for (int i = 0; i < 20; ++i) {
    fill(importer, at + kG - 8);
    importer.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = static_cast<std::uint64_t>(i + 1), .slot = 77});
    CHECK(importer.await(77, static_cast<std::uint64_t>(i + 1)) == 0);
  }
  // Nobody gets it any more.
  Attacker another;
  CHECK(ask(another, {.action = IpcAction::openMemory, .handle = handle}) == CudaError::invalidResourceHandle);
  CHECK(ask(importer, {.action = IpcAction::openMemory, .handle = handle}) == CudaError::invalidResourceHandle);
  Pool::instance().expectUnharmed();
}

TEST_CASE("what its exporter has unmapped, without a word, is opened by nobody") {
  Attacker exporter, importer;
  give(exporter, 2 * kG);
  give(importer, kG);
  const std::uint64_t at = exporter.window().base;
  const wire::IpcHandle handle = exported(exporter, {at, kG}), part = exported(exporter, {at + kG + 4096, 4096});
  exporter.send(wire::MemUnmap{.base = at, .bytes = 2 * kG});
  exporter.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 79});
  REQUIRE(exporter.await(79, 1) == 0);
  CHECK(ask(importer, {.action = IpcAction::openMemory, .handle = handle}) == CudaError::invalidResourceHandle);
  CHECK(ask(importer, {.action = IpcAction::openMemory, .handle = part}) == CudaError::invalidResourceHandle);
  fill(importer, at);
  cut(importer, "Fill");
  Pool::instance().expectUnharmed();
}

TEST_CASE("a page is exported over and over") {
  Attacker attacker, importer;
  channel::Shared first, shared;
  REQUIRE(ask(attacker, {.action = IpcAction::exportEvent, .page = 5}, &first, page()) == CudaError::success);
  REQUIRE(ask(importer, {.action = IpcAction::openEvent, .page = 9, .handle = first.handle}) == CudaError::success);
  for (int i = 0; i < 5000; ++i) REQUIRE(ask(attacker, {.action = IpcAction::exportEvent, .page = 5}, &shared, page()) == CudaError::success);
  CHECK(ask(importer, {.action = IpcAction::openEvent, .page = 10, .handle = first.handle}) == CudaError::invalidResourceHandle);
  CHECK(ask(importer, {.action = IpcAction::openEvent, .page = 10, .handle = shared.handle}) == CudaError::success);
  Pool::instance().expectUnharmed();
}

TEST_CASE("events of anything, and pages of noise") {
  Attacker exporter, importer;
  channel::Shared shared;
  CHECK(ask(exporter, {.action = IpcAction::exportEvent, .page = wire::kSharedEventPages}, nullptr, page()) != CudaError::success);
  wire::OwnedFd loose(::memfd_create("loose", MFD_CLOEXEC));
  REQUIRE(::ftruncate(loose.get(), wire::kPageBytes) == 0);
  CHECK(ask(exporter, {.action = IpcAction::exportEvent, .page = 5}, nullptr, std::move(loose)) != CudaError::success);
  wire::OwnedFd event = page(), mine(::dup(event.get()));
  REQUIRE(ask(exporter, {.action = IpcAction::exportEvent, .page = 5}, &shared, std::move(event)) == CudaError::success);
  REQUIRE(ask(importer, {.action = IpcAction::openEvent, .page = 9, .handle = shared.handle}) == CudaError::success);
  auto* words = static_cast<std::uint64_t*>(::mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, mine.get(), 0));
  REQUIRE(words != MAP_FAILED);
  std::mt19937_64 random(3);
  for (std::size_t i = 0; i < wire::kPageBytes / sizeof *words; ++i) words[i] = random();
  ::munmap(words, wire::kPageBytes);
  importer.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 9 * wire::kSharedEventSlots + 3});
  importer.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 77});
  CHECK(importer.await(77, 1) == 0);
  Pool::instance().expectUnharmed();
}

TEST_CASE("sharing out of turn") {
  SECTION("before attaching") {
    Stranger stranger;
    REQUIRE(stranger.channel().send(3, Ipc{}).ok());
    cut(stranger, "before attach");
  }
  SECTION("a descriptor too many") {
    Attacker attacker;
    std::vector<wire::OwnedFd> fds;
    fds.push_back(page());
    REQUIRE(attacker.channel().send(3, Ipc{.action = IpcAction::openMemory}, std::move(fds)).ok());
    cut(attacker, "descriptor");
  }
  SECTION("a descriptor too few") {
    Attacker attacker;
    REQUIRE(attacker.channel().send(3, Ipc{.action = IpcAction::exportEvent}).ok());
    cut(attacker, "descriptor");
  }
  SECTION("an answer") {
    Attacker attacker;
    REQUIRE(attacker.channel().send(3, channel::Shared{}).ok());
    cut(attacker, "shared");
  }
  Pool::instance().expectUnharmed();
}
