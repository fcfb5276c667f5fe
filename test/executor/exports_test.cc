// What one process lets others have: the bookkeeping, and sessions that share on a device that does not hold them all.
#include "server/executor/exports.h"

#include "schemas/wire/segment.h"
#include "schemas/wire/shared_event.h"
#include "test/executor/sharing_fixture.h"

namespace rouse::executor {
namespace {

wire::IpcHandle handle(std::uint8_t secret, std::uint64_t session = 1, wire::IpcKind kind = wire::IpcKind::memory) {
  wire::IpcHandle handle{.kind = kind, .sessionId = session};
  handle.secret.fill(secret);
  return handle;
}

struct Parties : SharingFixture {
  // As the executor does once both have been found.
  Status open(std::size_t importer, std::size_t exporter, const wire::IpcHandle& handle) {
    auto what = sessions[exporter]->findExport(handle);
    if (what == nullptr) return Error{CudaError::invalidResourceHandle, "none"};
    if (Status status = sessions[exporter]->hold(); !status) return status;
    if (!what->memory())
      if (Status status = sessions[importer]->hold(); !status) return status;
    ++what->users;
    sessions[importer]->awaitImport();
    settle();
    REQUIRE(here(exporter));
    sessions[importer]->endAwaiting();
    Status status = sessions[importer]->addImport(what);
    if (!status) --what->users;
    settle();
    return status;
  }
  wire::IpcHandle exported(std::size_t who, std::uint64_t first, std::uint64_t granules) {
    auto made = sessions[who]->exportMemory(handle(static_cast<std::uint8_t>(50 + first), sessions[who]->id()), {clients[who]->window() + first * kG, granules * kG});
    REQUIRE(made.ok());
    return *made;
  }
  bool mayName(std::size_t who, std::uint64_t address, std::uint64_t bytes) {
    return sessions[who]->rangeMapped({address, bytes}, wire::Access::write, wire::Where::any);
  }
  void end(std::size_t who) {
    sessions[who]->beginClose();
    settle();
  }
  void fill(std::size_t who, std::uint64_t address) {
    clients[who]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = address, .count = 8, .elementBytes = 1});
    settle();
  }
};

}  // namespace

TEST_CASE("an export is found by all of its secret, until it is withdrawn") {
  Exports exports;
  REQUIRE(exports.addMemory(handle(1), {0x1000, 0x100}).ok());
  CHECK(exports.find(handle(1)) != nullptr);
  CHECK(exports.find(handle(2)) == nullptr);
  wire::IpcHandle near = handle(1);
  near.secret[31] ^= 1;
  CHECK(exports.find(near) == nullptr);
  CHECK(exports.find(handle(1, 1, wire::IpcKind::event)) == nullptr);
  CHECK_FALSE(exports.withdraw(handle(1)));
  CHECK(exports.find(handle(1)) == nullptr);
  CHECK_FALSE(exports.any());
  CHECK_FALSE(exports.withdraw(handle(1)));
}

TEST_CASE("one allocation has one handle for as long as it lives, and no other overlaps it") {
  Exports exports;
  CHECK(exports.addMemory(handle(1), {0x1000, 0x100})->secret == handle(1).secret);
  CHECK(exports.addMemory(handle(2), {0x1000, 0x100})->secret == handle(1).secret);
  CHECK_FALSE(exports.addMemory(handle(3), {0x10ff, 1}).ok());
  CHECK_FALSE(exports.addMemory(handle(3), {0xfff, 0x1000}).ok());
  CHECK(exports.addMemory(handle(3), {0x1100, 0x100}).ok());
  exports.withdraw(handle(1));
  CHECK(exports.addMemory(handle(2), {0x1000, 0x100})->secret == handle(2).secret);
}

TEST_CASE("what is in use stays until the last one has gone, and is opened by nobody else") {
  Exports exports;
  Imports a, b;
  REQUIRE(exports.addMemory(handle(1), {0x1000, 0x100}).ok());
  auto what = exports.find(handle(1));
  what->users = 2;
  REQUIRE(a.add(what).ok());
  REQUIRE(b.add(what).ok());
  CHECK(a.contains({0x1000, 0x100}));
  CHECK_FALSE(a.contains({0x1000, 0x101}));
  CHECK(exports.withdraw(handle(1)));
  CHECK(exports.find(handle(1)) == nullptr);
  CHECK(exports.uses({0x10ff, 1}));
  CHECK_FALSE(exports.uses({0x1100, 1}));
  a.end(handle(1));
  a.end(handle(1));
  CHECK(a.ending());
  CHECK_FALSE(a.has(handle(1)));
  CHECK_FALSE(a.contains({0x1000, 1}));
  CHECK(what->users == 2);  // what is under way may use it still
  std::vector<AddressRange> gone;
  a.settle(gone);
  CHECK(gone.size() == 1);
  CHECK(what->users == 1);
  b.clear();
  CHECK(what->users == 0);
  exports.settle();
  CHECK_FALSE(exports.any());
}

TEST_CASE("memory that goes is not to be had any more, by any handle") {
  Exports exports;
  Imports imports;
  REQUIRE(exports.addMemory(handle(1), {0x1000, 0x100}).ok());
  REQUIRE(exports.addMemory(handle(2), {0x1100, 0x100}).ok());
  REQUIRE(exports.addMemory(handle(3), {0x1200, 0x100}).ok());
  auto what = exports.find(handle(2));
  ++what->users;
  REQUIRE(imports.add(what).ok());
  exports.withdraw(AddressRange{0x10ff, 0x101});
  CHECK(exports.find(handle(1)) == nullptr);
  CHECK(exports.find(handle(2)) == nullptr);
  CHECK(exports.find(handle(3)) != nullptr);
  CHECK_FALSE(exports.uses({0x1000, 0x100}));
  CHECK(exports.uses({0x1100, 0x100}));
  imports.clear();
  CHECK_FALSE(exports.uses({0x1000, 0x300}));
}

TEST_CASE("a page is one event's at a time, and a descriptor is kept for what can be opened") {
  Exports exports;
  const auto event = [](std::uint8_t secret) { return handle(secret, 1, wire::IpcKind::event); };
  const auto memory = [] { return wire::OwnedFd(::memfd_create("event", MFD_CLOEXEC)); };
  REQUIRE(exports.addEvent(event(1), 7, memory()).ok());
  auto what = exports.find(event(1));
  CHECK(what->event);
  ++what->users;
  REQUIRE(exports.addEvent(event(2), 8, memory()).ok());
  REQUIRE(exports.addEvent(event(3), 7, memory()).ok());
  CHECK(exports.find(event(1)) == nullptr);
  CHECK_FALSE(what->event);
  CHECK(exports.find(event(2)) != nullptr);
  CHECK(exports.withdraw(event(1)));  // somebody has it still
  --what->users;
  CHECK_FALSE(exports.withdraw(event(1)));
  // However often it is exported, it is one.
  for (std::size_t i = 0; i < 2 * kMaxExports; ++i) REQUIRE(exports.addEvent(event(4), 9, wire::OwnedFd()).ok());
  CHECK_FALSE(exports.withdraw(event(4)));
}

TEST_CASE("what is closed and opened again before that is over is one import") {
  Exports exports;
  Imports imports;
  REQUIRE(exports.addMemory(handle(1), {0x1000, 0x100}).ok());
  auto what = exports.find(handle(1));
  ++what->users;
  REQUIRE(imports.add(what).ok());
  imports.end(handle(1));
  ++what->users;
  REQUIRE(imports.add(what).ok());
  CHECK_FALSE(imports.ending());
  CHECK(what->users == 1);
  CHECK(imports.contains({0x1000, 0x100}));
}

TEST_CASE_METHOD(Parties, "an importer may name what is exported, and nothing beside it; both stay what they are") {
  const auto a = add(3), b = add(2);
  const auto shared = exported(a, 1, 1);
  const std::uint64_t at = clients[a]->window() + kG;
  CHECK_FALSE(mayName(b, at, 1));
  REQUIRE(open(b, a, shared).ok());
  CHECK(mayName(b, at, kG));
  CHECK_FALSE(mayName(b, at - 1, 2));
  CHECK_FALSE(mayName(b, at, kG + 1));
  fill(b, at);
  CHECK_FALSE(sessions[b]->fault());
  fill(b, at - 8);  // the exporter's as well
  CHECK(sessions[b]->fault());
}

TEST_CASE_METHOD(Parties, "who has exported what others have is not asked to leave, and may again afterwards") {
  const auto a = add(4);
  const auto shared = exported(a, 0, 1);
  const auto b = add(2);
  REQUIRE(open(b, a, shared).ok());
  CHECK_FALSE(sessions[a]->mayLeave());
  CHECK_FALSE(sessions[a]->mayMove().ok());
  CHECK_FALSE(sessions[b]->mayMove().ok());
  // More than there is: they take turns with who imports, not with who exports.
  const auto c = add(4);
  for (int round = 0; round < 5; ++round) {
    touch(b);
    REQUIRE((done(b) && here(a)));
    touch(c);
    REQUIRE((done(c) && here(a)));
  }
  touch(b);
  sessions[b]->endImport(shared);
  settle();
  CHECK(sessions[a]->mayLeave());
  CHECK_FALSE(sessions[a]->mayMove().ok());  // it can be opened again
  CHECK(sessions[b]->mayMove().ok());
  CHECK_FALSE(sessions[a]->withdraw(shared));
  CHECK(sessions[a]->mayMove().ok());
}

TEST_CASE_METHOD(Parties, "an exporter that is at home comes before anybody gets its memory") {
  const auto a = add(4), b = add(2);
  const auto shared = exported(a, 0, 1);
  sendAway(a);
  clearAway();
  REQUIRE(open(b, a, shared).ok());
  CHECK(here(a));
}

TEST_CASE_METHOD(Parties, "where others are promised the rest, nobody is held, and nothing changes") {
  const auto a = add(5);
  const auto b = add(5);
  const auto shared = exported(a, 0, 1);
  CHECK(open(b, a, shared).error().code == CudaError::memoryAllocation);
  CHECK_FALSE(sessions[a]->heldForOthers());
  CHECK(sessions[a]->findExport(shared)->users == 0);
  touch(a);
  touch(b);
  CHECK(done(b));
}

TEST_CASE_METHOD(Parties, "what is unmapped stays until it is closed, and then goes") {
  const auto a = add(3), b = add(1);
  const auto shared = exported(a, 0, 1);
  REQUIRE(open(b, a, shared).ok());
  clients[a]->send(wire::MemUnmap{.base = clients[a]->window(), .bytes = kG});
  settle();
  CHECK(sessions[a]->usage().mappedBytes == 3 * kG);
  fill(b, clients[a]->window());
  CHECK_FALSE(sessions[b]->fault());
  device.hold = true;
  fill(b, clients[a]->window());
  sessions[b]->endImport(shared);
  settle();
  CHECK(sessions[a]->usage().mappedBytes == 3 * kG);  // its work is under way
  device.release();
  settle();
  CHECK(sessions[a]->usage().mappedBytes == 2 * kG);
}

TEST_CASE_METHOD(Parties, "what is unmapped while nobody has it is opened by nobody") {
  const auto a = add(3), b = add(1);
  const auto shared = exported(a, 0, 1);
  SECTION("at once") {
    clients[a]->send(wire::MemUnmap{.base = clients[a]->window(), .bytes = kG});
    settle();
    CHECK(sessions[a]->usage().mappedBytes == 2 * kG);
  }
  SECTION("behind work that is under way, whenever it is exported") {
    device.hold = true;
    fill(a, clients[a]->window());
    clients[a]->send(wire::MemUnmap{.base = clients[a]->window(), .bytes = kG});
    settle();
    CHECK(sessions[a]->usage().mappedBytes == 3 * kG);
    const auto again = exported(a, 0, 1);
    device.release();
    settle();
    CHECK(sessions[a]->usage().mappedBytes == 2 * kG);
    CHECK(sessions[a]->findExport(again) == nullptr);
  }
  CHECK(open(b, a, shared).error().code == CudaError::invalidResourceHandle);
  CHECK_FALSE(mayName(b, clients[a]->window(), 1));
}

TEST_CASE_METHOD(Parties, "an exporter's end waits for who has its memory, with that and nothing else") {
  const auto a = add(4), b = add(1);
  const auto shared = exported(a, 1, 2);
  REQUIRE(open(b, a, shared).ok());
  end(a);
  CHECK_FALSE(sessions[a]->closed());
  CHECK(sessions[a]->usage().mappedBytes == 2 * kG);
  CHECK(sessions[a]->usage().reservedBytes == 2 * kG);
  CHECK(sessions[a]->findExport(shared) == nullptr);
  fill(b, clients[a]->window() + kG);
  CHECK_FALSE(sessions[b]->fault());
  SECTION("that closes it") {
    sessions[b]->endImport(shared);
    settle();
  }
  SECTION("that ends") { end(b); }
  SECTION("that is reset") {
    clients[b]->send(wire::Reset{.value = 1, .slot = 4});
    settle();
    CHECK(clients[b]->value(4) == 1);
  }
  CHECK(sessions[a]->closed());
}

TEST_CASE_METHOD(Parties, "an exporter that is reset goes on once nobody has its memory") {
  const auto a = add(2), b = add(1);
  const auto shared = exported(a, 0, 1);
  REQUIRE(open(b, a, shared).ok());
  clients[a]->send(wire::Reset{.value = 1, .slot = 4});
  settle();
  CHECK(clients[a]->value(4) == 0);
  fill(b, clients[a]->window());
  end(b);
  CHECK(clients[a]->value(4) == 1);
  CHECK_FALSE(sessions[a]->heldForOthers());
  clients[a]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  settle();
  CHECK(clients[a]->result(9) == CudaError::success);
}

TEST_CASE_METHOD(Parties, "two that have each other's memory end both") {
  const auto a = add(2), b = add(2);
  REQUIRE(open(b, a, exported(a, 0, 1)).ok());
  REQUIRE(open(a, b, exported(b, 1, 1)).ok());
  end(a);
  CHECK_FALSE(sessions[a]->closed());
  end(b);
  CHECK(sessions[a]->closed());
  CHECK(sessions[b]->closed());
}

TEST_CASE_METHOD(Parties, "what is not mapped, or of nobody who is served, is not exported") {
  const auto a = add(2);
  CHECK_FALSE(sessions[a]->exportMemory(handle(1), {clients[a]->window() + kG, 2 * kG}).ok());
  CHECK_FALSE(sessions[a]->exportMemory(handle(1), {clients[a]->window(), 0}).ok());
  CHECK_FALSE(sessions[a]->exportMemory(handle(1), {clients[a]->window() - kG, kG}).ok());
  end(a);
  CHECK_FALSE(sessions[a]->exportMemory(handle(1), {clients[a]->window(), kG}).ok());
}

TEST_CASE_METHOD(Parties, "an event's parties both stay; its records are kept where one ends") {
  const auto a = add(2), b = add(2);
  auto memory = wire::createSealedMemfd("event", wire::kPageBytes);
  REQUIRE(memory.ok());
  wire::OwnedFd second(::dup(memory->get()));
  const wire::IpcHandle shared = handle(9, sessions[a]->id(), wire::IpcKind::event);
  REQUIRE(sessions[a]->exportEvent(shared, 10, std::move(*memory)).ok());
  REQUIRE(open(b, a, shared).ok());
  REQUIRE(sessions[b]->mapEvent(20, second.get(), true).ok());
  CHECK_FALSE(sessions[a]->mayLeave());
  CHECK_FALSE(sessions[b]->mayLeave());
  const wire::IpcHandle own = handle(10, sessions[b]->id(), wire::IpcKind::event);
  REQUIRE(sessions[b]->exportEvent(own, 21, wire::createSealedMemfd("event", wire::kPageBytes).value()).ok());
  CHECK_FALSE(sessions[b]->withdraw(own));

  auto* page = static_cast<wire::Slot*>(::mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, second.get(), 0));
  REQUIRE(page != MAP_FAILED);
  wire::SharedEvent event(page);
  const auto record = event.claim(sessions[a]->id());
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = record, .slot = 10 * wire::kSharedEventSlots + wire::SharedEvent::slotOf(record)});
  clients[b]->send(wire::SlotWait{.stream = wire::kLegacyStream, .value = record, .slot = 20 * wire::kSharedEventSlots + wire::SharedEvent::slotOf(record)});
  settle();
  CHECK(event.reached(record));
  touch(b);
  CHECK(done(b));
  // Claimed, and never sent.
  const auto never = event.claim(sessions[a]->id());
  clients[b]->send(wire::SlotWait{.stream = wire::kLegacyStream, .value = never, .slot = 20 * wire::kSharedEventSlots + wire::SharedEvent::slotOf(never)});
  touch(b);
  CHECK_FALSE(done(b));
  end(a);
  CHECK(sessions[a]->closed());
  CHECK(event.reached(never));
  CHECK(done(b));
  // Nothing is open and nothing exported, but its commands may name the pages as long as it lives.
  sessions[b]->endImport(shared);
  settle();
  CHECK(sessions[b]->mayLeave());
  CHECK(sessions[b]->mayMove().error().code == CudaError::notSupported);
  ::munmap(page, wire::kPageBytes);
}

TEST_CASE_METHOD(Parties, "what is no event's memory is not mapped, nor beyond the slots") {
  const auto a = add(1);
  auto memory = wire::createSealedMemfd("event", wire::kPageBytes);
  auto large = wire::createSealedMemfd("event", 2 * wire::kPageBytes);
  CHECK_FALSE(sessions[a]->mapEvent(wire::kSharedEventPages, memory->get(), true).ok());
  CHECK_FALSE(sessions[a]->mapEvent(1, large->get(), true).ok());
  wire::OwnedFd loose(::memfd_create("loose", MFD_CLOEXEC));
  CHECK(::ftruncate(loose.get(), wire::kPageBytes) == 0);
  CHECK_FALSE(sessions[a]->mapEvent(1, loose.get(), true).ok());
  for (std::uint32_t page = 1; page <= kMaxEventPages; ++page) REQUIRE(sessions[a]->mapEvent(page, memory->get(), true).ok());
  CHECK(sessions[a]->mapEvent(kMaxEventPages + 1, memory->get(), true).error().code == CudaError::memoryAllocation);
  CHECK(sessions[a]->mapEvent(1, memory->get(), true).ok());
}

TEST_CASE_METHOD(Parties, "pages of events are counted for all sessions, and given back with them") {
  const auto a = add(1), b = add(1);
  auto memory = wire::createSealedMemfd("event", wire::kPageBytes);
  REQUIRE(sessions[a]->mapEvent(1, memory->get(), true).ok());
  CHECK(surroundings.eventPages == 1);
  surroundings.eventPages += kMaxEventPagesOfAll - 1;
  CHECK(sessions[a]->mapEvent(1, memory->get(), true).ok());
  CHECK(sessions[b]->mapEvent(1, memory->get(), true).error().code == CudaError::memoryAllocation);
  sessions.erase(sessions.begin());
  CHECK(surroundings.eventPages == kMaxEventPagesOfAll - 1);
  CHECK(sessions[0]->mapEvent(1, memory->get(), true).ok());
}

}  // namespace rouse::executor
