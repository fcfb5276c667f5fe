// Several sessions on a device that does not hold them all.
#include "test/executor/sharing_fixture.h"

namespace rouse::executor {

TEST_CASE("homes: promises are exact, and parts must lie in the file") {
  FakeDevice device;
  const auto file = SharingFixture::file(10 * kG);
  for (const auto& [offset, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 11 * kG}, {kG, 10 * kG}, {1, kG}, {0, kG + 1}, {0, 0}, {~0ull - kG + 1, 2 * kG}})
    REQUIRE_FALSE(Homes::open(device, file, offset, bytes).ok());
  auto homes = Homes::open(device, file, 4 * kG, 6 * kG).value();
  REQUIRE(homes->promise(1, 4).ok());
  const Status refused = homes->promise(2, 3);
  REQUIRE(refused.error().code == CudaError::memoryAllocation);
  REQUIRE(refused.error().message.find("3 pages was asked for, 2 of 6 are left") != std::string::npos);
  REQUIRE(homes->promise(2, 2).ok());
  const auto a = homes->take(1), b = homes->take(2);
  REQUIRE(a != b);
  REQUIRE(homes->at(a) != homes->at(b));
  homes->giveBack(1, 3);
  REQUIRE(homes->promisableBytes() == 3 * kG);
  homes->drop(a);
  homes->drop(b);
  homes->release(1);
  homes->release(2);
  REQUIRE(homes->promisableBytes() == 6 * kG);
}

TEST_CASE_METHOD(SharingFixture, "who has something to do comes, and the least recently used goes") {
  const auto a = add(4);
  now += 100 * kMs;
  const auto b = add(4);
  now += 100 * kMs;
  REQUIRE((here(a) && here(b)));
  const auto c = add(4);
  REQUIRE((!here(a) && here(b) && here(c)));
  REQUIRE(count("save") == 4);  // all of it: none was ever at home
  REQUIRE(sessions[a]->usage().residentBytes == 0);
  REQUIRE(sessions[a]->usage().homeBytes == 4 * kG);
  now += 100 * kMs;
  touch(b);
  now += 100 * kMs;
  touch(a);
  REQUIRE(done(a));
  REQUIRE((here(a) && here(b) && !here(c)));
  REQUIRE(count("restore") == 4);
  REQUIRE(sessions[a]->usage().arrivals == 1);
  REQUIRE_FALSE(sharing.waiting());
}

TEST_CASE_METHOD(SharingFixture, "what comes back is what left, and only what changed is saved again") {
  device.properties_.noticesWrites = true;
  const auto a = add(8);
  now += 100 * kMs;
  const auto b = add(8);
  REQUIRE(count("save") == 8);
  now += 100 * kMs;
  touch(a);
  REQUIRE(here(a));
  REQUIRE(count("save") == 16);
  // Each granule came from the home that it was saved to: the fake saves a granule's number as its first byte.
  for (std::uint64_t granule = 0; granule < 8; ++granule) {
    const int number = static_cast<int>((clients[a]->window() / kG + granule) % 256);
    REQUIRE(count("restore " + std::to_string(number) + " ") == 1);
  }
  device.written = {clients[a]->window() + 3 * kG, clients[a]->window() + 5 * kG};
  device.taken.clear();
  now += 100 * kMs;
  touch(b);
  REQUIRE((here(b) && done(b)));
  REQUIRE(count("save") == 2);
  device.taken.clear();
  now += 100 * kMs;
  touch(a);
  REQUIRE(count("save") == 0);  // b has not written anything
  REQUIRE(count("restore") == 8);
  REQUIRE(sessions[a]->usage().savedBytes == 10 * kG);
}

TEST_CASE_METHOD(SharingFixture, "where the device notices nothing, fingerprints tell what has changed") {
  const auto a = add(8);
  now += 100 * kMs;
  const auto b = add(8);
  REQUIRE(count("fingerprint") == 1);
  REQUIRE(count("save") == 8);  // the first time, all
  now += 100 * kMs;
  touch(a);
  device.taken.clear();
  device.written = {clients[a]->window() + 2 * kG, clients[a]->window() + 6 * kG};
  now += 100 * kMs;
  touch(b);
  REQUIRE((done(b) && !here(a)));
  REQUIRE(count("save") == 2);
  device.taken.clear();
  for (const auto who : {a, b, a}) {
    now += 100 * kMs;
    touch(who);
  }
  REQUIRE(count("fingerprint") == 3);
  REQUIRE(count("save") == 0);
}

TEST_CASE_METHOD(SharingFixture, "memory is asked for while it is short: who maps waits for who leaves, and nobody is in between") {
  const auto a = add(6);
  now += 100 * kMs;
  // Two are there, and six more must come: the session waits in the middle of its life, with what it has.
  const auto b = add(2);
  REQUIRE((here(a) && here(b)));
  device.hold = true;  // a works
  clients[a]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = clients[a]->window(), .count = 8, .elementBytes = 1});
  clients[b]->send(wire::MemReserve{.bytes = 5 * kG, .value = 2, .slot = 9});
  clients[b]->send(wire::MemMap{.base = clients[b]->window() + 2 * kG, .bytes = 5 * kG});
  settle();
  REQUIRE(sharing.waiting());
  REQUIRE(sessions[b]->wantedChunks() == 5);
  now += 100 * kMs;  // a has had its turn
  settle();
  REQUIRE(sessions[a]->leaveAsked());
  REQUIRE(sessions[a]->restSleeping());
  REQUIRE(sessions[a]->awaitsProgress());
  device.release();
  settle();
  REQUIRE((!here(a) && here(b)));
  REQUIRE(sessions[b]->usage().mappedBytes == 7 * kG);
  touch(a);
  REQUIRE((here(a) && done(a)));
}

TEST_CASE_METHOD(SharingFixture, "two that want more than is left: one of them leaves with what it has, and comes again") {
  const auto a = add(3), b = add(3);
  for (const auto who : {a, b}) {
    clients[who]->send(wire::MemReserve{.bytes = 4 * kG, .value = 2, .slot = 9});
    clients[who]->send(wire::MemMap{.base = clients[who]->window() + 3 * kG, .bytes = 4 * kG});
    clients[who]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 2});
  }
  for (int i = 0; i < 10; ++i) {
    settle();
    now += 100 * kMs;
  }
  REQUIRE(clients[a]->value(2) == 1);
  REQUIRE(clients[b]->value(2) == 1);
}

TEST_CASE_METHOD(SharingFixture, "who asks for more on its way back waits for it as anybody does") {
  const auto a = add(6);
  const auto b = add(2);
  now += 100 * kMs;
  const auto c = add(6);
  REQUIRE((!here(a) && here(b) && here(c)));
  now += 100 * kMs;
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 2});
  for (int i = 0; sessions[a]->presence().where() != Presence::Where::arriving; ++i) {
    REQUIRE(i < 100);
    bool waiting = false;
    device.poll(waiting);
    for (const auto& session : sessions) session->poll();
    sharing.turn(std::vector<Session*>{sessions[a].get(), sessions[b].get(), sessions[c].get()}, now);
    if (sessions[a]->admitted()) device.hold = true;
  }
  // All that it was let in for is on its way, so it reads on: what it asks for now nobody has counted.
  clients[a]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  clients[a]->send(wire::MemMap{.base = clients[a]->window() + 6 * kG, .bytes = kG});
  settle();
  REQUIRE(sessions[a]->presence().arriving());
  REQUIRE_FALSE(sessions[a]->admitted());
  device.release();
  now += 100 * kMs;
  settle();
  REQUIRE(sessions[a]->usage().mappedBytes == 7 * kG);
  touch(b);
  REQUIRE(done(b));
}

TEST_CASE_METHOD(SharingFixture, "how long its memory took to come counts from when it was let in first") {
  const auto a = add(4);
  sendAway(a);
  clearAway();
  device.hold = true;
  touch(a);
  REQUIRE(sessions[a]->presence().arriving());
  now += 800 * kMs;
  // More on its way, for which it is let in once more.
  clients[a]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  clients[a]->send(wire::MemMap{.base = clients[a]->window() + 4 * kG, .bytes = kG});
  settle();
  REQUIRE(sessions[a]->presence().arriving());
  REQUIRE(sessions[a]->usage().mappedBytes == 5 * kG);
  now += 400 * kMs;
  device.release();
  settle();
  REQUIRE(here(a));
  CHECK(sessions[a]->shares.tookToCome == 1200 * kMs);
  CHECK(sessions[a]->shares.comesSince == 0);
}

TEST_CASE_METHOD(SharingFixture, "who works stays for as long as its memory took to come, and gets what it lacks before those that wait") {
  const auto a = add(5);
  sendAway(a);
  const auto c = add(6);
  sendAway(c);
  clearAway();
  device.hold = true;
  touch(a);
  REQUIRE(sessions[a]->presence().arriving());
  now += 1000 * kMs;
  device.release();
  settle();
  REQUIRE((here(a) && done(a)));
  device.hold = true;  // it works
  clients[a]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = clients[a]->window(), .count = 8, .elementBytes = 1});
  settle();
  touch(c);
  REQUIRE(sharing.waiting());
  now += 500 * kMs;
  settle();
  REQUIRE_FALSE(sessions[a]->leaveAsked());
  clients[a]->send(wire::MemReserve{.bytes = 2 * kG, .value = 2, .slot = 9});
  clients[a]->send(wire::MemMap{.base = clients[a]->window() + 5 * kG, .bytes = 2 * kG});
  settle();
  REQUIRE(sessions[a]->usage().mappedBytes == 7 * kG);
  REQUIRE_FALSE(here(c));
  now += 501 * kMs;
  settle();
  REQUIRE(sessions[a]->leaveAsked());
  device.release();
  settle();
  REQUIRE((!here(a) && here(c) && done(c)));
}

TEST_CASE_METHOD(SharingFixture, "who cannot stop is left alone for a while") {
  const auto a = add(6), b = add(2);
  device.hold = true;
  clients[a]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = clients[a]->window(), .count = 8, .elementBytes = 1});
  settle();
  clients[b]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  clients[b]->send(wire::MemMap{.base = clients[b]->window() + 2 * kG, .bytes = kG});
  now += 100 * kMs;
  settle();
  REQUIRE(sessions[a]->leaveAsked());
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 3});
  settle();
  REQUIRE(sessions[a]->usage().commands == 3);  // it reads no more
  now += Sharing::kPatienceNs + kMs;
  settle();
  REQUIRE_FALSE(sessions[a]->leaveAsked());
  REQUIRE(sessions[a]->usage().commands == 4);
  now += Sharing::kPatienceNs + kMs;
  settle();
  REQUIRE(sessions[a]->leaveAsked());
  device.release();
  settle();
  REQUIRE(sessions[b]->usage().mappedBytes == 3 * kG);
}

TEST_CASE_METHOD(SharingFixture, "a session that ends while it is away, or on its way, leaves nothing behind") {
  const auto a = add(6);
  now += 100 * kMs;
  add(6);
  REQUIRE_FALSE(here(a));
  sessions[a]->beginClose();
  settle();
  REQUIRE(sessions[a]->closed());
  const auto c = add(6);
  device.hold = true;
  now += 100 * kMs;
  touch(1);
  REQUIRE(sessions[c]->presence().where() == Presence::Where::leaving);
  sessions[c]->beginClose();
  settle();
  REQUIRE(sessions[c]->closed());
  settle();
  REQUIRE(sessions[1]->presence().where() == Presence::Where::arriving);
  sessions[1]->beginClose();
  settle();
  REQUIRE(sessions[1]->closed());
}

TEST_CASE_METHOD(SharingFixture, "who was let in and ends before taking anything holds nobody up, however long that takes") {
  const auto a = add(6);
  now += 100 * kMs;
  const auto b = add(6);
  now += 100 * kMs;
  device.keepRunningWhenCancelled = true;
  device.hold = true;
  clients[b]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = clients[b]->window(), .count = 8, .elementBytes = 1});
  settle();
  sessions[b]->admit();
  sessions[b]->beginClose();
  settle();
  REQUIRE_FALSE(sessions[b]->closed());
  const auto c = add(2);
  REQUIRE(sessions[c]->usage().mappedBytes == 2 * kG);
  REQUIRE_FALSE(surroundings.contended);
  device.release();
  settle();
  REQUIRE(sessions[b]->closed());
  touch(a);
  REQUIRE(done(a));
}

TEST_CASE_METHOD(SharingFixture, "a reset gives back homes, and the session goes on") {
  const auto a = add(6);
  now += 100 * kMs;
  const auto b = add(6);
  now += 100 * kMs;
  touch(a);
  clients[a]->send(wire::Reset{.value = 1, .slot = 4});
  settle();
  REQUIRE(clients[a]->value(4) == 1);
  REQUIRE(sessions[a]->usage().homeBytes == 0);
  touch(b);
  REQUIRE(done(b));
  clients[a]->send(wire::MemReserve{.bytes = 8 * kG, .value = 3, .slot = 9});
  settle();
  REQUIRE(clients[a]->result(9) == CudaError::success);
}

namespace {

// Where the fake says that it restored a granule of the session's window, among all lines.
std::size_t restoredAt(const SharingFixture& fixture, std::size_t who, std::uint64_t granule) {
  const auto number = static_cast<int>((fixture.clients[who]->window() / kG + granule) % 256);
  const std::string line = "restore " + std::to_string(number) + " ";
  for (std::size_t i = 0; i < fixture.device.taken.size(); ++i)
    if (fixture.device.taken[i].starts_with(line)) return i;
  return ~std::size_t{0};
}

wire::Fill fill(std::uint64_t address) {
  return {.stream = wire::kLegacyStream, .destination = address, .count = 8, .elementBytes = 1};
}

}  // namespace

TEST_CASE_METHOD(SharingFixture, "memory comes in the order in which it was used, and the rest behind it") {
  const auto a = add(8);
  for (const std::uint64_t granule : {5, 2, 7}) clients[a]->send(fill(clients[a]->window() + granule * kG));
  settle();
  now += 100 * kMs;
  add(8);
  now += 100 * kMs;
  device.taken.clear();
  touch(a);
  std::vector<std::size_t> places;
  for (const std::uint64_t granule : {5, 2, 7, 0, 1, 3, 4, 6}) places.push_back(restoredAt(*this, a, granule));
  REQUIRE(std::is_sorted(places.begin(), places.end()));
  REQUIRE(places.back() != ~std::size_t{0});
}

TEST_CASE_METHOD(SharingFixture, "work is queued while memory arrives, behind what it names and nothing else") {
  const auto a = add(8);
  for (std::uint64_t granule = 0; granule < 8; ++granule) clients[a]->send(fill(clients[a]->window() + granule * kG));
  settle();
  now += 100 * kMs;
  add(8);
  now += 100 * kMs;
  device.taken.clear();
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 2});
  for (int i = 0; sessions[a]->presence().where() != Presence::Where::arriving; ++i) {
    REQUIRE(i < 100);
    bool waiting = false;
    for (const auto& session : sessions) session->poll();
    device.poll(waiting);
    sharing.turn(std::vector<Session*>{sessions[0].get(), sessions[1].get()}, now);
    if (sessions[a]->admitted()) device.hold = true;
  }
  const std::size_t groups = count("record");
  REQUIRE(groups > 1);
  clients[a]->send(fill(clients[a]->window()));
  clients[a]->send(fill(clients[a]->window() + 7 * kG));
  clients[a]->send(fill(clients[a]->window() + 7 * kG - 4));  // and the granule before
  settle();
  REQUIRE(sessions[a]->presence().arriving());
  REQUIRE(sessions[a]->usage().commands == 14);
  REQUIRE(clients[a]->value(2) == 1);  // names nothing
  REQUIRE(count("wait") == 3);
  REQUIRE(count("fill") == 3);
  device.release();
  settle();
  REQUIRE(here(a));
  REQUIRE(sessions[a]->usage().arrivals == 1);
}

TEST_CASE_METHOD(SharingFixture, "what binds a module or takes memory away waits until all is here") {
  const auto a = add(8);
  now += 100 * kMs;
  add(8);
  now += 100 * kMs;
  clients[a]->send(wire::MemUnmap{.base = clients[a]->window() + kG, .bytes = kG});
  touch(a);
  REQUIRE(done(a));
  REQUIRE(here(a));
  REQUIRE(sessions[a]->usage().mappedBytes == 7 * kG);
  REQUIRE(sessions[a]->usage().homeBytes == 7 * kG);
}

TEST_CASE_METHOD(SharingFixture, "objects: they lie in the window, do not overlap, and end as they began") {
  const auto a = add(2), b = add(2), c = add(2);
  clients[a]->send(wire::Allocated{.base = clients[a]->window(), .bytes = kG});
  clients[a]->send(wire::Allocated{.base = clients[a]->window() + kG, .bytes = 1});
  clients[a]->send(wire::Freed{.base = clients[a]->window(), .bytes = kG});
  settle();
  REQUIRE_FALSE(sessions[a]->fault());
  clients[a]->send(wire::Allocated{.base = clients[a]->window(), .bytes = kG + 1});
  clients[b]->send(wire::Freed{.base = clients[b]->window(), .bytes = 1});
  clients[c]->send(wire::Allocated{.base = clients[c]->window() - 1, .bytes = 2});
  settle();
  for (const auto who : {a, b, c}) REQUIRE(sessions[who]->fault());
  REQUIRE(sessions[a]->fault()->message.find("overlaps another") != std::string::npos);
  REQUIRE(sessions[b]->fault()->message.find("not one that was Allocated") != std::string::npos);
  REQUIRE(sessions[c]->fault()->message.find("not in the device window") != std::string::npos);
}

TEST_CASE_METHOD(SharingFixture, "promises beyond the device or the host store are refused with the numbers free") {
  const auto a = add(2);
  clients[a]->send(wire::MemReserve{.bytes = 7 * kG, .value = 2, .slot = 9});
  settle();
  REQUIRE(clients[a]->result(9) == CudaError::memoryAllocation);
  for (int i = 0; i < 4; ++i) add(8);
  const auto last = add(4);
  REQUIRE(homes->promisableBytes() == 2 * kG);
  clients[last]->send(wire::MemReserve{.bytes = 3 * kG, .value = 2, .slot = 9});
  settle();
  REQUIRE(clients[last]->result(9) == CudaError::memoryAllocation);
  REQUIRE(sessions[last]->usage().reservedBytes == 4 * kG);
  sessions[last]->publishMemory();
  REQUIRE(clients[last]->segment.header().devices[0].freeBytes.load() == 2 * kG);
}

}  // namespace rouse::executor
