// Sessions that are away and still have their memory on the device, until somebody needs it.
#include <array>
#include <numeric>

#include "test/executor/sharing_fixture.h"

namespace rouse::executor {

TEST_CASE_METHOD(SharingFixture, "who comes again before anybody needed its chunks finds them as they were") {
  device.properties_.noticesWrites = GENERATE(true, false);
  const auto a = add(6);
  sendAway(a);
  REQUIRE(count("save") == 6);
  REQUIRE(count("unmap") == 0);
  REQUIRE(resting(a) == 6);
  REQUIRE(sessions[a]->usage().residentBytes == 0);
  REQUIRE(memory.freeChunks() == 8);
  touch(a);
  REQUIRE((here(a) && done(a)));
  REQUIRE(count("restore") == 0);
  REQUIRE(sessions[a]->usage().returnedBytes == 6 * kG);
  REQUIRE(sessions[a]->usage().arrivals == 1);
  REQUIRE((resting(a) == 0 && memory.freeChunks() == 2));
  // What it writes now is noticed, once for each time that it comes.
  device.taken.clear();
  device.written = {clients[a]->window() + 4 * kG};
  sendAway(a);
  REQUIRE(count("save") == 1);
  for (int i = 0; i < 3; ++i) {
    touch(a);
    sendAway(a);
  }
  REQUIRE(count("save") == 1);
  touch(a);
  device.written = {clients[a]->window() + 4 * kG};
  sendAway(a);
  REQUIRE(count("save") == 2);
  REQUIRE(count("unmap") == 0);
  REQUIRE(sessions[a]->usage().lastSavedBytes == kG);
}

TEST_CASE_METHOD(SharingFixture, "only what others needed comes again, and what is used last was the first to go") {
  const auto a = add(6);
  for (const std::uint64_t granule : {5, 3, 0, 1, 4, 2})
    clients[a]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = clients[a]->window() + granule * kG, .count = 8, .elementBytes = 1});
  sendAway(a);
  device.taken.clear();
  const auto b = add(4);
  REQUIRE(resting(a) == 4);
  REQUIRE(count("unmap 1") == 2);  // 4 and 2
  now += 100 * kMs;
  touch(a);
  REQUIRE((here(a) && done(a) && !here(b)));
  REQUIRE(sessions[a]->usage().returnedBytes == 4 * kG);
  REQUIRE(count("restore") == 2);
  for (const std::uint64_t granule : {2, 4})
    REQUIRE(count("restore " + std::to_string((clients[a]->window() / kG + granule) % 256) + " ") == 1);
  REQUIRE(resting(b) == 4 - 2);
}

TEST_CASE("of what is used last, chunks that are a block together go together") {
  SharingFixture fixture(64);
  fixture.device.properties_.mapsTogether = 32;
  const auto b = fixture.add(40);
  fixture.sendAway(b);
  const auto a = fixture.add(64);
  // Neighbours in different halves of the order.
  Client& client = *fixture.clients[a];
  for (const std::uint64_t odd : {1, 0})
    for (std::uint64_t granule = odd; granule < 64; granule += 2)
      client.send(wire::Fill{.stream = wire::kLegacyStream, .destination = client.window() + granule * kG, .count = 8, .elementBytes = 1});
  fixture.sendAway(a);
  REQUIRE(fixture.resting(a) == 64);
  REQUIRE(fixture.resting(b) == 0);
  fixture.touch(b);
  fixture.now += 100 * kMs;
  fixture.settle();
  REQUIRE((fixture.here(b) && fixture.done(b)));
  fixture.sendAway(b);
  fixture.device.taken.clear();
  fixture.touch(a);
  fixture.now += 100 * kMs;
  fixture.settle();
  REQUIRE((fixture.here(a) && fixture.done(a)));
  // What was left was in one block.
  std::array<std::size_t, 2> left{};
  for (std::uint64_t granule = 0; granule < 64; ++granule)
    left[granule / 32] += fixture.count("restore " + std::to_string((client.window() / kG + granule) % 256) + " ") == 0;
  CHECK(std::ranges::min(left) == 0);
  CHECK(std::ranges::max(left) > 16);
}

TEST_CASE_METHOD(SharingFixture, "chunks are taken from nobody first, then from who has been away longest") {
  const auto a = add(2), b = add(2), c = add(2);
  sendAway(b);
  sendAway(a);
  sendAway(c);
  touch(b);
  sendAway(b);
  const auto d = add(2);  // what nobody had
  REQUIRE((resting(a) == 2 && resting(b) == 2 && resting(c) == 2));
  const auto e = add(3);
  REQUIRE((resting(a) == 0 && resting(b) == 2 && resting(c) == 1));
  REQUIRE((here(d) && here(e)));
  for (const auto who : {a, b, c}) {
    now += 100 * kMs;
    touch(who);
    REQUIRE(done(who));
  }
}

TEST_CASE_METHOD(SharingFixture, "what rests is taken as it has been offered, and beyond that only where nothing else is left") {
  const auto leave = [&](std::size_t who, std::uint64_t granules) {
    REQUIRE(moves.begin(100 + who, sessions[who]->id(), channel::MoveAction::unload, granules * kG).ok());
    settle();
    REQUIRE(answers.at(100 + who).ok());
  };
  const auto a = add(4), b = add(3);  // and one that nobody has
  leave(a, 1);
  leave(b, 0);
  REQUIRE((resting(a) == 4 && resting(b) == 3));
  const auto c = add(3);
  REQUIRE((resting(a) == 3 && resting(b) == 2));  // one of a, which has rested longest, and then b
  leave(a, 1);                                     // one more
  add(2);
  REQUIRE((resting(a) == 2 && resting(b) == 1));
  now += 100 * kMs;
  add(2);
  REQUIRE((resting(a) == 1 && resting(b) == 0));
  // It has come since: nothing has been offered of what rests then.
  sendAway(c);
  now += 100 * kMs;
  touch(a);
  REQUIRE((here(a) && done(a)));
}

TEST_CASE_METHOD(SharingFixture, "nobody is handed a chunk that another's addresses lead to, nor one with another's bytes") {
  const auto a = add(8);
  sendAway(a);
  const auto b = add(8);  // scrubbed one by one; the fake tells of any that is not, or is mapped twice
  REQUIRE(device.scrubs == 8);
  sendAway(b);
  now += 100 * kMs;
  touch(a);
  REQUIRE((here(a) && done(a)));
  REQUIRE(resting(b) == 0);
  REQUIRE(device.scrubs == 8);  // overwritten whole
  // Idle, there is nothing to scrub: what rests is left alone.
  sendAway(a);
  REQUIRE_FALSE(memory.scrubbing());
  REQUIRE(resting(a) == 8);
}

TEST_CASE_METHOD(SharingFixture, "memory that a session frees, begins anew with, or ends with, while its chunks rest, is everybody's") {
  const auto a = add(4), b = add(4);
  sendAway(a);
  sendAway(b);
  clients[a]->send(wire::MemUnmap{.base = clients[a]->window() + kG, .bytes = 2 * kG});
  touch(a);
  REQUIRE((here(a) && done(a)));
  REQUIRE(sessions[a]->usage().mappedBytes == 2 * kG);
  REQUIRE(memory.freeChunks() == 6);
  sendAway(a);
  clients[b]->send(wire::Reset{.value = 7, .slot = 4});
  settle();
  REQUIRE(clients[b]->value(4) == 7);
  REQUIRE((resting(b) == 0 && sessions[b]->usage().homeBytes == 0));
  REQUIRE(resting(a) == 2);
  sessions[a]->beginClose();
  settle();
  REQUIRE(sessions[a]->closed());
  REQUIRE(memory.freeChunks() == 8);
  REQUIRE(device.mappedChunks() == 0);
}

TEST_CASE_METHOD(SharingFixture, "who can be pinned is pinned with what rests") {
  const auto a = add(4);
  sendAway(a);
  REQUIRE(sessions[a]->pin().ok());
  settle();
  REQUIRE(here(a));
  REQUIRE(count("restore") == 0);
  REQUIRE(sessions[a]->usage().returnedBytes == 4 * kG);
}

TEST_CASE_METHOD(SharingFixture, "what cannot be unmapped is handed to nobody: its session ends, and who waits goes on then") {
  const bool arrives = GENERATE(true, false);
  const auto b = add(4);
  sendAway(b);
  now += 100 * kMs;
  const auto a = add(arrives ? 8 : 4);
  sendAway(a);
  REQUIRE(resting(b) == (arrives ? 0 : 4));
  device.failUnmap = {clients[a]->window(), 8 * kG};
  if (!arrives) {
    clients[b]->send(wire::MemReserve{.bytes = 4 * kG, .value = 2, .slot = 9});
    clients[b]->send(wire::MemMap{.base = clients[b]->window() + 4 * kG, .bytes = 4 * kG});
  }
  touch(b);
  REQUIRE(sessions[a]->fault());
  REQUIRE(sessions[a]->fault()->message == "cannot unmap");
  REQUIRE_FALSE(sessions[b]->fault());
  REQUIRE_FALSE(done(b));
  sessions[a]->beginClose();
  settle();
  REQUIRE(sessions[a]->closed());
  REQUIRE(done(b));
  REQUIRE(sessions[b]->usage().residentBytes == (arrives ? 4 : 8) * kG);
}

TEST_CASE_METHOD(SharingFixture, "what no allocation is in any more is not saved again, unless one comes there before it left") {
  device.properties_.noticesWrites = GENERATE(true, false);
  const auto a = add(4);
  const std::uint64_t base = clients[a]->window();
  const auto object = [&](std::uint64_t first, std::uint64_t bytes) {
    clients[a]->send(wire::Allocated{.base = base + first, .bytes = bytes});
  };
  const auto freed = [&](std::uint64_t first, std::uint64_t bytes) {
    clients[a]->send(wire::Freed{.base = base + first, .bytes = bytes});
  };
  // Two granules and a half in one, and a small one behind it.
  object(0, 2 * kG + kG / 2);
  object(2 * kG + kG / 2, 256);
  sendAway(a);
  REQUIRE(count("save") == 4);  // what has no home has to get one
  touch(a);
  freed(0, 2 * kG + kG / 2);
  const auto writeAll = [&] {
    for (std::uint64_t granule = 0; granule < 4; ++granule) device.written.insert(base + granule * kG);
  };
  writeAll();
  device.taken.clear();
  sendAway(a);
  REQUIRE(count("save") == 2);  // 2 has another, and nobody said anything of 3
  REQUIRE(sessions[a]->usage().lastSavedBytes == 2 * kG);
  // It is as it was left, and so it must stay for who allocates it without writing.
  touch(a);
  object(kG, 8);
  device.taken.clear();
  sendAway(a);
  REQUIRE(count("save " + std::to_string((base / kG + 1) % 256) + " ") == 1);
  REQUIRE(count("save") == 1);
  // What others took comes from its own home, and is what the home has.
  clearAway();
  touch(a);
  object(0, 8);
  REQUIRE(count("restore") == 4);
  sendAway(a);
  REQUIRE(count("save") == 1);
  touch(a);
  device.written = {base};
  sendAway(a);
  REQUIRE(count("save") == 2);
}

TEST_CASE_METHOD(SharingFixture, "what the device has mapped together leaves together") {
  device.mappedTogether = 4;
  const auto a = add(7);
  sendAway(a);
  device.taken.clear();
  const auto b = add(2);  // one more than nobody has: the last that is wanted, and its two neighbours
  REQUIRE(resting(a) == 4);
  REQUIRE((count("unmap") == 1 && count("unmap 3") == 1));
  sendAway(b);
  touch(a);
  REQUIRE((here(a) && done(a)));
  REQUIRE(count("restore") == 3);
  REQUIRE(sessions[a]->usage().returnedBytes == 4 * kG);
}

TEST_CASE_METHOD(SharingFixture, "what is mapped together with memory that others are using is unmapped when they are not") {
  device.mappedTogether = 4;
  const auto a = add(4);
  device.usedByOthers = {clients[a]->window(), kG};
  clients[a]->send(wire::MemUnmap{.base = clients[a]->window() + 2 * kG, .bytes = 2 * kG});
  touch(a);
  REQUIRE((count("unmap") == 0 && !done(a)));
  device.usedByOthers = {};
  settle();
  REQUIRE((count("unmap 2") == 1 && done(a)));
}

struct LargeFixture : SharingFixture {
  LargeFixture() : SharingFixture(120) {}
};

TEST_CASE_METHOD(LargeFixture, "a departure asks the device for what was written and nothing else") {
  device.properties_.noticesWrites = true;
  const auto a = add(110);
  sendAway(a);
  touch(a);
  device.taken.clear();
  device.written = {clients[a]->window() + 7 * kG, clients[a]->window() + 100 * kG};
  sendAway(a);
  REQUIRE(device.taken.size() == 2);
  REQUIRE(count("save") == 2);
  REQUIRE(sessions[a]->usage().lastDepartureNs != 0);
}

TEST_CASE_METHOD(LargeFixture, "what comes is prepared in large parts where there is room, and is wanted in any order") {
  const auto a = add(90);
  // The other way round but for the first.
  for (std::uint64_t granule = 89; granule != 0; --granule)
    clients[a]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = clients[a]->window() + granule * kG, .count = 8, .elementBytes = 1});
  sendAway(a);
  clearAway();
  device.taken.clear();
  touch(a);
  REQUIRE((here(a) && done(a)));
  REQUIRE(count("restore") == 90);
  // The first group by itself, the rest in its order, a block or so at a time.
  std::vector<std::size_t> prepared;
  for (const std::string& line : device.taken)
    if (line.starts_with("prepare ")) prepared.push_back(std::stoul(line.substr(8)));
  CAPTURE(prepared);
  REQUIRE((prepared.size() >= 3 && prepared.size() <= 5));
  REQUIRE(std::accumulate(prepared.begin(), prepared.end(), std::size_t{0}) == 90);
  REQUIRE(std::ranges::max(prepared) <= 64);
}

TEST_CASE_METHOD(LargeFixture, "who comes clears others away in parts, and is not served before all of it is on its way") {
  const auto a = add(110), b = add(5);
  sendAway(a);
  now += 100 * kMs;
  const auto c = add(115);
  REQUIRE((here(b) && here(c)));
  REQUIRE(resting(a) == 0);
  sendAway(c);
  device.taken.clear();
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++signals, .slot = 1});
  now += 100 * kMs;
  const std::vector<Session*> all{sessions[a].get(), sessions[b].get(), sessions[c].get()};
  sharing.turn(all, now);
  sharing.turn(all, now);
  REQUIRE(sessions[a]->admitted());
  unsigned turns = 0;
  for (; sessions[a]->admitted(); ++turns) {
    const std::size_t before = count("restore");
    REQUIRE(sessions[a]->poll());
    REQUIRE(count("restore") - before <= 64 + 4);
    REQUIRE((!sessions[a]->admitted() || (sessions[a]->presence().arriving() && !done(a))));
    sharing.turn(all, now);
    REQUIRE((!sessions[a]->admitted() || surroundings.contended));
  }
  REQUIRE(turns >= 110 / 68);
  REQUIRE(count("restore") == 110);
  settle();
  REQUIRE((here(a) && done(a)));
  // One that ends in the middle leaves nothing behind.
  sendAway(a);
  clearAway();
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++signals, .slot = 1});
  sharing.turn(all, now);
  sharing.turn(all, now);
  sessions[a]->poll();
  REQUIRE((sessions[a]->presence().arriving() && sessions[a]->admitted()));
  sessions[a]->beginClose();
  settle();
  REQUIRE(sessions[a]->closed());
}

}  // namespace rouse::executor
