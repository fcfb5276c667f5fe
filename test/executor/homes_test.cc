// Homes that share memory: with their thread, and under sessions that take turns.
#include <cstring>
#include <optional>
#include <random>

#include "test/executor/sharing_fixture.h"

namespace rouse::executor {
namespace {

void fill(std::byte* home, int content) { std::memset(home, content, kG); }
bool holds(const std::byte* home, int content) {
  return *home == static_cast<std::byte>(content) && std::memcmp(home, home + 1, kG - 1) == 0;
}
void findAll(Homes& homes) {
  while (homes.turn() || homes.reading()) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

TEST_CASE("homes: a thread finds equal ones beside everything else, and nobody's bytes change") {
  constexpr std::uint32_t kHomes = 12;
  FakeDevice device;
  std::atomic<int> rung{0};
  auto homes = Homes::open(device, SharingFixture::file(kHomes * kG), 0, kHomes * kG, [&] { ++rung; }).value();
  struct Owner {
    std::map<Homes::Slot, int> contents;
  };
  std::map<memory::OwnerId, Owner> owners;
  std::mt19937_64 random(7);
  std::uint64_t most = 0;
  for (int step = 0; step < 400; ++step) {
    const memory::OwnerId id = 1 + random() % 4;
    Owner& owner = owners[id];
    if (step % 16 == 0) findAll(*homes);
    homes->turn();
    switch (random() % 4) {
      case 0: case 1:  // it leaves, with much of it changed
        homes->beginMove(id);
        for (auto& [slot, content] : owner.contents)
          if (random() % 3 == 0) fill(homes->rewrite(slot, std::nullopt), content = static_cast<int>(random() % 3));
        if (homes->promise(id, 1).ok()) {
          const Homes::Slot slot = homes->take(id);
          fill(homes->rewrite(slot, std::nullopt), owner.contents[slot] = static_cast<int>(random() % 3));
        }
        homes->endMove(id);
        break;
      case 2:  // it comes: a transfer would read all this time
        homes->beginMove(id);
        for (const auto& [slot, content] : owner.contents) {
          const std::byte* at = homes->at(slot);
          homes->turn();
          if (!holds(at, content)) FAIL("other bytes at step " << step);
          REQUIRE(homes->at(slot) == at);
        }
        homes->endMove(id);
        break;
      case 3:
        if (random() % 10 == 0) {
          homes->release(id);
          owners.erase(id);
        } else if (!owner.contents.empty()) {
          homes->drop(owner.contents.begin()->first);
          homes->giveBack(id, 1);
          owner.contents.erase(owner.contents.begin());
        }
        break;
    }
    std::uint64_t pages = 0;
    for (const auto& [_, one] : owners) pages += one.contents.size();
    REQUIRE(homes->usedBytes() <= pages * kG);
    REQUIRE(homes->promisableBytes() == homes->totalBytes() - pages * kG);
    most = std::max(most, pages - homes->usedBytes() / kG);
  }
  for (int round = 0; round < 3; ++round)
    for (auto& [id, _] : owners) {
      homes->beginMove(id);
      homes->endMove(id);
    }
  findAll(*homes);
  CHECK(homes->usedBytes() <= 3 * kG);
  CHECK(rung > 0);
  CHECK(most > 0);
  for (const auto& [id, owner] : owners)
    for (const auto& [slot, content] : owner.contents) REQUIRE(holds(homes->at(slot), content));
}

TEST_CASE("homes: a full store of which some is being read still has room for what must be written") {
  constexpr std::uint32_t kHomes = 4;
  FakeDevice device;
  auto homes = Homes::open(device, SharingFixture::file(kHomes * kG), 0, kHomes * kG).value();
  REQUIRE(homes->promise(1, kHomes).ok());
  std::vector<Homes::Slot> slots;
  homes->beginMove(1);
  for (int i = 0; i < 4; ++i) {
    slots.push_back(homes->take(1));
    fill(homes->rewrite(slots.back(), std::nullopt), i);
  }
  homes->endMove(1);
  for (int round = 0; round < 20; ++round) {
    homes->turn();  // the thread reads
    homes->beginMove(1);
    for (int i = 0; i < 4; ++i) fill(homes->rewrite(slots[static_cast<std::size_t>(i)], std::nullopt), round + i);
    homes->endMove(1);
    // What has been written again is on trial.
    for (int i = 0; i < 2; ++i) {
      homes->beginMove(1);
      homes->endMove(1);
    }
    for (int i = 0; i < 4; ++i) REQUIRE(holds(homes->at(slots[static_cast<std::size_t>(i)]), round + i));
  }
  homes->endReading();
  homes->turn();  // nothing
  homes->release(1);
  CHECK(homes->promisableBytes() == homes->totalBytes());
}

TEST_CASE("homes: pages with the same fingerprint are compared before they are shared") {
  FakeDevice device;
  auto homes = Homes::open(device, SharingFixture::file(3 * kG), 0, 3 * kG).value();
  REQUIRE(homes->promise(1, 3).ok());
  homes->beginMove(1);
  const Homes::Slot a = homes->take(1), b = homes->take(1), c = homes->take(1);
  const memory::PageFingerprint print{1, 2};
  fill(homes->rewrite(a, print), 5);
  fill(homes->rewrite(b, print), 5);
  std::byte* other = homes->rewrite(c, print);
  fill(other, 5);
  other[kG - 1] = std::byte{6};  // the last byte
  homes->endMove(1);
  findAll(*homes);
  CHECK(homes->at(a) == homes->at(b));
  CHECK(homes->at(c) != homes->at(a));
  CHECK(homes->sharedBytes(1) == 2 * kG);
  homes->release(1);
}

TEST_CASE_METHOD(SharingFixture, "sessions with the same content share its home, and each gets its own bytes back") {
  device.properties_.noticesWrites = true;
  const auto a = add(8), b = add(8);
  now += 100 * kMs;
  const auto c = add(1);  // makes b leave
  REQUIRE((!here(a) && !here(b) && here(c)));
  REQUIRE(homes->usedBytes() == 16 * kG);
  findEqual();
  REQUIRE(homes->usedBytes() == 8 * kG);
  REQUIRE(sessions[a]->usage().sharedHomeBytes == 8 * kG);
  REQUIRE(sessions[a]->usage().homeBytes == 8 * kG);
  // What each may still change is promised to it.
  REQUIRE(homes->promisableBytes() == homes->totalBytes() - 17 * kG);

  // The first of them, whose slots they were, comes, writes one granule and leaves.
  const auto number = [&](std::size_t who, std::uint64_t granule) {
    return std::to_string(static_cast<int>((clients[who]->window() / kG + granule) % 256));
  };
  now += 100 * kMs;
  touch(a);
  REQUIRE(here(a));
  const std::uint64_t changed = clients[a]->window() + 3 * kG;
  device.written = {changed};
  device.contents[changed] = std::byte{201};
  device.taken.clear();
  now += 100 * kMs;
  touch(b);
  REQUIRE((here(b) && !here(a)));
  REQUIRE(count("save") == 1);
  REQUIRE(count("restore " + number(b, 3) + " ") == 1);
  REQUIRE(count("restore 201 ") == 0);
  REQUIRE(sessions[b]->usage().sharedHomeBytes == 7 * kG);
  findEqual();
  REQUIRE(homes->usedBytes() >= 9 * kG);
  device.taken.clear();
  now += 100 * kMs;
  touch(a);
  REQUIRE((here(a) && !here(b)));
  REQUIRE(count("restore 201 ") == 1);
  REQUIRE(count("restore " + number(a, 3) + " ") == 0);
  for (const std::uint64_t granule : {0, 1, 2, 4, 5, 6, 7}) REQUIRE(count("restore " + number(a, granule) + " ") == 1);

  // The end of one is nothing to the other.
  sessions.erase(sessions.begin() + static_cast<std::ptrdiff_t>(a));
  device.taken.clear();
  now += 100 * kMs;
  clients[b]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++signals, .slot = 1});
  settle();
  REQUIRE(done(b));
  for (std::uint64_t granule = 0; granule < 8; ++granule) REQUIRE(count("restore " + number(b, granule) + " ") == 1);
  REQUIRE(sessions[0]->usage().sharedHomeBytes == kG);  // with c's
}

TEST_CASE_METHOD(SharingFixture, "homes do not change while their session arrives, and are shared when it has come") {
  device.properties_.noticesWrites = true;
  const auto a = add(8), b = add(8);
  now += 100 * kMs;
  add(1);
  sessions.pop_back();
  device.hold = true;
  homes->turn();  // the first are being read
  now += 100 * kMs;
  touch(a);
  REQUIRE(sessions[a]->presence().where() == Presence::Where::arriving);
  findEqual();
  // b's are known, and a's move.
  REQUIRE(homes->usedBytes() == 16 * kG);
  device.hold = false;
  settle();
  REQUIRE(here(a));
  findEqual();
  REQUIRE(homes->usedBytes() == 8 * kG);
  REQUIRE(sessions[b]->usage().sharedHomeBytes == 8 * kG);
}

TEST_CASE_METHOD(SharingFixture, "sessions end while their homes are read, or move") {
  device.properties_.noticesWrites = true;
  add(8);
  add(8);
  now += 100 * kMs;
  add(1);
  sessions.pop_back();
  homes->turn();
  sessions.erase(sessions.begin());  // at home
  homes->turn();
  now += 100 * kMs;
  device.hold = true;
  clients[1]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++signals, .slot = 1});
  settle();
  REQUIRE(sessions[0]->presence().where() == Presence::Where::arriving);
  device.hold = false;
  sessions.erase(sessions.begin());
  findEqual();
  REQUIRE(homes->usedBytes() <= kG);
}

TEST_CASE_METHOD(SharingFixture, "fingerprints that the device made are not made again") {
  const auto a = add(4);
  now += 100 * kMs;
  const auto b = add(8);
  REQUIRE_FALSE(here(a));
  now += 100 * kMs;
  touch(a);
  REQUIRE((here(a) && !here(b)));
  // The fake's fingerprints are of addresses, so nothing is found to be equal, and nothing has been read.
  homes->turn();
  REQUIRE_FALSE(homes->reading());
  REQUIRE(homes->usedBytes() == 12 * kG);
}

}  // namespace rouse::executor
