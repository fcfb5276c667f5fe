// Sessions whose granules hold the same bytes, in the same chunks of the device.
#include <map>
#include <random>

#include "test/executor/sharing_fixture.h"

namespace rouse::executor {

struct ChunkSharingFixture : SharingFixture {
  explicit ChunkSharingFixture(std::uint32_t chunks = 8) : SharingFixture(chunks) {
    device.properties_.noticesWrites = true;
    device.properties_.copiesOnWrite = true;
  }

  std::uint64_t at(std::size_t who, std::uint64_t granule) { return clients[who]->window() + granule * kG; }
  // What is written by a kernel, at once, while the session is here.
  void write(std::size_t who, std::uint64_t granule, int content) {
    device.contextOf(at(who, granule)).write(at(who, granule), static_cast<std::byte>(content));
  }
  int read(std::size_t who, std::uint64_t granule) {
    return static_cast<int>(device.contextOf(at(who, granule)).read(at(who, granule)));
  }
  // A session whose granules hold 1, 2, 3…, at home alone: of those that were so before, too.
  std::size_t addEqual(std::uint64_t granules, int first = 1) {
    const std::size_t who = add(granules);
    for (std::uint64_t i = 0; i < granules; ++i) write(who, i, static_cast<int>(i) + first);
    sendAway(who);
    findEqual();
    return who;
  }
  void come(std::size_t who) {
    now += 100 * kMs;
    touch(who);
    REQUIRE((here(who) && done(who)));
  }
  channel::SessionUsage usage(std::size_t who) { return sessions[who]->usage(); }
};

TEST_CASE_METHOD(ChunkSharingFixture, "equal granules that rest are put together, and who comes finds them there") {
  const auto a = addEqual(3), b = addEqual(3);
  REQUIRE(device.mappedChunks() == 3);
  REQUIRE((resting(a) == 3 && resting(b) == 3));
  REQUIRE(usage(a).sharedBytes == 3 * kG);
  device.taken.clear();
  come(a);
  come(b);
  REQUIRE((here(a) && here(b)));
  REQUIRE((count("restore") == 0 && count("share") == 0));
  REQUIRE(usage(a).residentBytes == 3 * kG);
  REQUIRE(memory.heldBytes() == 3 * kG);
  // Each may need all its chunks for itself.
  REQUIRE(memory.freeChunks() == 2);
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE((read(a, i) == static_cast<int>(i + 1) && read(b, i) == static_cast<int>(i + 1)));
}

TEST_CASE_METHOD(ChunkSharingFixture, "who comes takes what somebody has, and transfers the rest") {
  const auto a = addEqual(3), b = addEqual(4);
  clearAway();
  REQUIRE(device.mappedChunks() == 0);
  come(a);
  REQUIRE(count("restore") == 3);
  device.taken.clear();
  come(b);
  REQUIRE((here(a) && here(b)));
  REQUIRE(count("restore") == 1);
  REQUIRE(count("share") == 3);
  REQUIRE(usage(b).joinedBytes == 3 * kG);
  REQUIRE(memory.heldBytes() == 4 * kG);
  REQUIRE((usage(a).sharedBytes == 3 * kG && usage(b).sharedBytes == 3 * kG));
  // One of them goes: what it leaves behind is nobody's but the other's.
  sessions[a]->beginClose();
  settle();
  REQUIRE(usage(b).sharedBytes == 0);
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(read(b, i) == static_cast<int>(i + 1));
  write(b, 0, 77);  // where it is
  sendAway(b);
  REQUIRE(count("settle") == 0);
}

TEST_CASE_METHOD(ChunkSharingFixture, "who writes has a chunk of its own from then on, and a home; nobody else sees it") {
  const auto a = addEqual(3), b = addEqual(3);
  come(a);
  come(b);
  write(a, 1, 99);
  REQUIRE((read(a, 1) == 99 && read(b, 1) == 2));
  settle();
  REQUIRE(memory.heldBytes() == 4 * kG);
  REQUIRE(usage(a).sharedBytes == 2 * kG);
  write(b, 1, 88);  // its chunk is nobody else's
  REQUIRE((read(a, 1) == 99 && read(b, 1) == 88));
  device.taken.clear();
  sendAway(a);
  sendAway(b);
  REQUIRE(count("settle") == 1);
  REQUIRE(count("save") == 2);
  clearAway();
  come(a);
  come(b);
  REQUIRE((read(a, 0) == 1 && read(a, 1) == 99 && read(a, 2) == 3));
  REQUIRE((read(b, 0) == 1 && read(b, 1) == 88 && read(b, 2) == 3));
  REQUIRE(memory.heldBytes() == 4 * kG);
}

TEST_CASE_METHOD(ChunkSharingFixture, "everybody can write everything on a device that is full by count") {
  const auto a = addEqual(4), b = addEqual(4), c = add(8);
  for (std::uint64_t i = 0; i < 8; ++i) write(c, i, static_cast<int>(50 + i));
  sendAway(c);
  come(a);
  come(b);
  REQUIRE((here(a) && here(b) && memory.freeChunks() == 0));
  REQUIRE(memory.heldBytes() == 4 * kG);
  for (std::uint64_t i = 0; i < 4; ++i) {
    write(a, i, static_cast<int>(20 + i));
    write(b, i, static_cast<int>(30 + i));
  }
  settle();
  REQUIRE(memory.heldBytes() == 8 * kG);
  REQUIRE(resting(c) == 0);
  sendAway(a);
  sendAway(b);
  for (const auto who : {a, b, c}) {
    come(who);
    for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(read(who, i) == static_cast<int>((who == a ? 20 : who == b ? 30 : 50) + i));
  }
}

TEST_CASE_METHOD(ChunkSharingFixture, "what is shared rests as long as who has used it last, and goes for all of them at once") {
  const auto a = addEqual(3), b = addEqual(3);
  const auto c = add(2);
  sendAway(c);  // after both
  come(b);
  sendAway(b);
  REQUIRE((resting(a) == 3 && resting(b) == 3 && resting(c) == 2));
  const auto d = add(4);  // three are nobody's: c has to go before what b has
  REQUIRE((resting(a) == 3 && resting(b) == 3 && resting(c) == 1));
  come(d);
  sendAway(c);
  const auto e = add(3);
  REQUIRE(here(e));
  REQUIRE(resting(a) == resting(b));
  REQUIRE(resting(a) < 3);
}

TEST_CASE_METHOD(ChunkSharingFixture, "what somebody uses is not taken from those who rest, nor does it free anything") {
  const auto a = addEqual(3), b = addEqual(3);
  come(b);
  REQUIRE(memory.freeChunks() == 5);
  const auto c = add(5);
  REQUIRE((here(b) && here(c)));
  REQUIRE(resting(a) == 3);
  for (std::uint64_t i = 0; i < 3; ++i) write(b, i, static_cast<int>(10 + i));
  settle();  // a is the only one to have them, and rests; b needs three of its own
  REQUIRE(resting(a) == 0);
  REQUIRE(memory.heldBytes() == 8 * kG);
  come(a);
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(read(a, i) == static_cast<int>(i + 1));
}

TEST_CASE_METHOD(ChunkSharingFixture, "memory that is freed, reset or ends while it is shared or copied leaves nothing behind") {
  const auto a = addEqual(4), b = addEqual(4);
  come(a);
  come(b);
  write(a, 0, 40);
  write(a, 1, 41);
  clients[a]->send(wire::MemUnmap{.base = clients[a]->window() + kG, .bytes = 2 * kG});
  settle();
  REQUIRE(memory.heldBytes() == 5 * kG);  // the copy of 0 is all that is new
  REQUIRE((read(a, 0) == 40 && read(a, 3) == 4));
  write(a, 3, 43);
  clients[a]->send(wire::Reset{.value = 7, .slot = 4});
  settle();
  REQUIRE(clients[a]->value(4) == 7);
  REQUIRE(usage(b).sharedBytes == 0);
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(read(b, i) == static_cast<int>(i + 1));
}

TEST_CASE_METHOD(ChunkSharingFixture, "who needs what is just coming for somebody else waits for it, and takes it") {
  const auto a = addEqual(4), b = addEqual(4);
  clearAway();
  device.hold = true;
  device.taken.clear();
  now += 100 * kMs;
  touch(a);
  touch(b);
  REQUIRE(sessions[a]->presence().arriving());
  REQUIRE(sessions[b]->presence().where() == Presence::Where::away);
  REQUIRE(count("restore") == 4);
  REQUIRE(sessions[b]->awaitsProgress());
  device.release();
  settle();
  REQUIRE((here(a) && here(b)));
  REQUIRE(count("restore") == 4);
  REQUIRE(memory.heldBytes() == 4 * kG);
}

TEST_CASE_METHOD(ChunkSharingFixture, "who needs the last of what others have waits for that as well") {
  const auto a = addEqual(3), c = addEqual(1, 4), b = addEqual(4);
  clearAway();
  come(a);
  device.hold = true;
  device.taken.clear();
  touch(c);
  touch(b);
  REQUIRE(sessions[b]->presence().where() == Presence::Where::away);
  device.release();
  settle();
  REQUIRE((here(b) && here(c)));
  REQUIRE(count("restore") == 1);
}

TEST_CASE_METHOD(ChunkSharingFixture, "who waits for what is coming goes on by itself if that one ends") {
  const auto a = addEqual(4), b = addEqual(4);
  clearAway();
  device.hold = true;
  now += 100 * kMs;
  touch(a);
  touch(b);
  REQUIRE(sessions[b]->presence().where() == Presence::Where::away);
  sessions[a]->beginClose();
  settle();
  device.release();
  settle();
  REQUIRE(sessions[a]->closed());
  REQUIRE(here(b));
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(read(b, i) == static_cast<int>(i + 1));
}

TEST_CASE_METHOD(ChunkSharingFixture, "equal granules of functions that are both here are put together while they are used") {
  const auto a = add(3), b = add(3);
  for (const auto who : {a, b})
    for (std::uint64_t i = 0; i < 3; ++i) write(who, i, static_cast<int>(i + 1));
  sendAway(a);
  sendAway(b);
  come(a);
  come(b);
  REQUIRE(memory.heldBytes() == 6 * kG);
  write(b, 2, 9);  // and only its device knows
  findEqual();
  REQUIRE(memory.heldBytes() == 4 * kG);
  REQUIRE((read(a, 2) == 3 && read(b, 2) == 9));
  write(b, 0, 8);
  REQUIRE((read(a, 0) == 1 && read(b, 0) == 8));
}

struct StormFixture : ChunkSharingFixture {
  StormFixture() : ChunkSharingFixture(24) {}
};

TEST_CASE_METHOD(StormFixture, "a storm of equal sessions that diverge at random: each reads what it has written") {
  constexpr std::uint64_t kGranules = 7;
  constexpr int kUnknown = -1;  // freed: whatever it is, it is nobody's business
  const std::uint64_t seed = GENERATE(1, 2, 3);
  std::mt19937_64 random(seed);
  std::map<std::size_t, std::vector<int>> model;  // of those that live
  const auto check = [&](std::size_t who) {
    for (std::uint64_t i = 0; i < kGranules; ++i)
      if (model[who][i] != kUnknown && read(who, i) != model[who][i]) FAIL("session " << who << ", granule " << i << " is " << read(who, i) << ", not " << model[who][i]);
  };
  std::uint64_t mostSpared = 0;
  for (int step = 0; step < 600; ++step) {
    if (model.size() < 6) {
      const std::size_t who = add(kGranules);
      model[who].resize(kGranules);
      for (std::uint64_t i = 0; i < kGranules; ++i) {
        clients[who]->send(wire::Allocated{.base = at(who, i), .bytes = kG});
        write(who, i, model[who][i] = static_cast<int>(i + 1));
      }
      settle();
      continue;
    }
    auto chosen = model.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random() % model.size()));
    const std::size_t who = chosen->first;
    switch (random() % 10) {
      case 8: {
        const std::uint64_t granule = random() % kGranules;
        if (chosen->second[granule] == kUnknown) break;
        come(who);
        if (random() % 2 == 0) write(who, granule, 55);
        clients[who]->send(wire::Freed{.base = at(who, granule), .bytes = kG});
        chosen->second[granule] = kUnknown;
        settle();
        break;
      }
      case 9: {
        const std::uint64_t granule = random() % kGranules;
        come(who);
        if (random() % 2 == 0) write(who, granule, 66);
        clients[who]->send(wire::MemUnmap{.base = at(who, granule), .bytes = kG});
        clients[who]->send(wire::MemMap{.base = at(who, granule), .bytes = kG});
        come(who);
        if (chosen->second[granule] != kUnknown) write(who, granule, chosen->second[granule] = static_cast<int>(random() % 3 + 30));
        break;
      }
      case 0:
      case 1:
      case 2:
        come(who);
        check(who);
        for (std::uint64_t writes = random() % 3; writes != 0; --writes) {
          const std::uint64_t granule = random() % kGranules;
          if (chosen->second[granule] == kUnknown) {
            clients[who]->send(wire::Allocated{.base = at(who, granule), .bytes = kG});
            settle();
          }
          // Often what others hold, too.
          write(who, granule, chosen->second[granule] = static_cast<int>(random() % 2 == 0 ? granule + 1 : random() % 4 + 20));
        }
        check(who);
        break;
      case 3:
      case 4:
        if (here(who) && !usage(who).pinned) sendAway(who);
        break;
      case 5:
        findEqual();
        break;
      case 6:
        if (random() % 4 == 0) clearAway();
        break;
      case 7:
        if (const bool pinned = usage(who).pinned; pinned)
          sessions[who]->unpin();
        else if (random() % 3 == 0)
          (void)sessions[who]->pin();
        settle();
        if (random() % 8 != 0) break;
        sessions[who]->beginClose();
        settle();
        REQUIRE(sessions[who]->closed());
        model.erase(who);
    }
    std::uint64_t held = 0;
    for (const auto& [each, bytes] : model) {
      REQUIRE_FALSE(sessions[each]->fault());
      if (here(each)) check(each);
      held += usage(each).residentBytes;
    }
    REQUIRE(memory.heldBytes() <= held);
    mostSpared = std::max(mostSpared, held - memory.heldBytes());
    if (!device.violations.empty()) FAIL(device.violations.front());
  }
  CHECK(mostSpared >= 5 * kG);  // it is not that nothing was ever shared
}

}  // namespace rouse::executor
