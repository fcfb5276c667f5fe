// What an operator asks of sessions on a device that does not hold them all.
#include "server/executor/moves.h"

#include "test/executor/sharing_fixture.h"

namespace rouse::executor {
namespace {

using channel::MoveAction;

struct MovesFixture : SharingFixture {
  static constexpr std::uint64_t kSecond = 1'000 * kMs;

  // Begun and gone on with while time stands still.
  std::uint64_t ask(std::size_t who, MoveAction action) {
    const std::uint64_t request = ++requests;
    const Status status = moves.begin(request, sessions[who]->id(), action);
    if (!status) answers[request] = status;
    settle();
    return request;
  }
  bool answered(std::uint64_t request) const { return answers.contains(request); }
  bool succeeded(std::uint64_t request) const { return answered(request) && answers.at(request).ok(); }
  std::string problem(std::uint64_t request) const {
    if (!answered(request)) return "not answered";
    return answers.at(request).ok() ? "done" : answers.at(request).error().message;
  }
  void work(std::size_t who) {
    device.hold = true;
    clients[who]->send(
        wire::Fill{.stream = wire::kLegacyStream, .destination = clients[who]->window(), .count = 8, .elementBytes = 1});
    settle();
  }

  std::uint64_t requests = 0;
};

}  // namespace

TEST_CASE_METHOD(MovesFixture, "unload: what is idle leaves at once, with what it has, and comes back at its next call") {
  const auto a = add(4);
  const auto request = ask(a, MoveAction::unload);
  REQUIRE(problem(request) == "done");
  REQUIRE(sessions[a]->usage().place == channel::Place::home);
  REQUIRE(sessions[a]->usage().residentBytes == 0);
  REQUIRE(sessions[a]->usage().lastSavedBytes == 4 * kG);
  REQUIRE_FALSE(sharing.waiting());
  REQUIRE_FALSE(moves.waiting());
  REQUIRE(succeeded(ask(a, MoveAction::unload)));  // it is away already
  REQUIRE(sessions[a]->usage().departures == 1);
  touch(a);
  REQUIRE((done(a) && here(a)));
  REQUIRE(succeeded(ask(a, MoveAction::unload)));
  REQUIRE(sessions[a]->usage().lastSavedBytes == 0);
  REQUIRE(sessions[a]->usage().savedBytes == 4 * kG);
}

TEST_CASE_METHOD(MovesFixture, "unload: nothing has nothing to save") {
  const auto a = add(1);
  clients[a]->send(wire::MemUnmap{.base = clients[a]->window(), .bytes = kG});
  settle();
  REQUIRE(sessions[a]->usage().residentBytes == 0);
  REQUIRE(succeeded(ask(a, MoveAction::unload)));
  REQUIRE(here(a));
  REQUIRE(sessions[a]->usage().departures == 0);
}

TEST_CASE_METHOD(MovesFixture, "unload: who does not stop within the patience stays, and goes on") {
  const auto a = add(4);
  work(a);
  const auto request = ask(a, MoveAction::unload);
  REQUIRE_FALSE(answered(request));
  REQUIRE(moves.waiting());
  clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 1, .slot = 3});
  settle();
  const std::uint64_t commands = sessions[a]->usage().commands;
  REQUIRE(sessions[a]->awaitsProgress());
  now += Moves::kPatienceNs;
  settle();
  REQUIRE_FALSE(answered(request));
  now += kMs;
  settle();
  REQUIRE(problem(request) == "what it does has not ended within 1 s");
  REQUIRE(sessions[a]->usage().commands == commands + 1);  // it reads again
  REQUIRE(here(a));
  // Asked again, with work that ends.
  const auto again = ask(a, MoveAction::unload);
  device.release();
  settle();
  REQUIRE(succeeded(again));
  REQUIRE(clients[a]->value(3) == 1);
}

TEST_CASE_METHOD(MovesFixture, "unload, while others want its memory: sharing's patience and this one do not undo each other") {
  const auto a = add(6);
  work(a);
  const auto request = ask(a, MoveAction::unload);
  const auto b = add(1);
  clients[b]->send(wire::MemReserve{.bytes = 5 * kG, .value = 2, .slot = 9});
  clients[b]->send(wire::MemMap{.base = clients[b]->window() + kG, .bytes = 5 * kG});
  settle();
  REQUIRE_FALSE(sessions[a]->leaveAsked());  // it is leaving as it is
  REQUIRE(sessions[a]->mustLeave());
  device.release();
  settle();
  REQUIRE(succeeded(request));
  REQUIRE(sessions[b]->usage().mappedBytes == 6 * kG);
}

TEST_CASE_METHOD(MovesFixture, "unload: who is arriving is sent away once it is there, if that is not too long") {
  const auto a = add(4);
  REQUIRE(succeeded(ask(a, MoveAction::unload)));
  const auto arriving = [&] {
    clearAway();
    clients[a]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++signals, .slot = 1});
    for (int i = 0; !sessions[a]->admitted(); ++i) {
      REQUIRE(i < 10);
      sharing.turn(std::vector<Session*>{sessions[a].get()}, now);
    }
    device.hold = true;
    settle();
    REQUIRE(sessions[a]->usage().place == channel::Place::arriving);
  };
  arriving();
  auto request = ask(a, MoveAction::unload);
  REQUIRE_FALSE(answered(request));
  device.release();
  settle();
  REQUIRE(problem(request) == "done");
  REQUIRE(sessions[a]->usage().arrivals == 1);
  REQUIRE_FALSE(here(a));
  arriving();
  request = ask(a, MoveAction::unload);
  now += Moves::kRoomNs;
  settle();
  REQUIRE_FALSE(answered(request));
  now += kMs;
  settle();
  REQUIRE(problem(request) == "it has been on its way to the device for 30 s, and cannot leave meanwhile");
  device.release();
  settle();
  REQUIRE((here(a) && done(a)));
}

TEST_CASE_METHOD(MovesFixture, "load: it comes without a command, others make room, and it is not the next to leave") {
  const auto a = add(4);
  now += 100 * kMs;
  const auto b = add(4);
  now += 100 * kMs;
  const auto c = add(4);
  REQUIRE((!here(a) && here(b) && here(c)));
  now += 100 * kMs;
  touch(b);
  now += 100 * kMs;
  const auto request = ask(a, MoveAction::load);
  REQUIRE(problem(request) == "done");
  REQUIRE((here(a) && here(b) && !here(c)));
  REQUIRE(sessions[a]->usage().commands == 2);
  REQUIRE_FALSE(sharing.waiting());
  now += 100 * kMs;
  touch(c);
  REQUIRE((here(a) && !here(b) && here(c)));
  REQUIRE(succeeded(ask(a, MoveAction::load)));  // it is there already
  REQUIRE(sessions[a]->usage().arrivals == 1);
  // Once there it has no more claim than others.
  now += 100 * kMs;
  touch(b);
  REQUIRE_FALSE(here(a));
}

TEST_CASE_METHOD(MovesFixture, "load: while nobody can leave it waits, and then says so") {
  const auto a = add(6);
  now += 100 * kMs;
  const auto b = add(6);
  REQUIRE_FALSE(here(a));
  work(b);
  const auto request = ask(a, MoveAction::load);
  REQUIRE((!answered(request) && sharing.waiting()));
  for (const std::uint64_t end = now + Moves::kRoomNs; now < end; now += kSecond / 2) {
    settle();
    REQUIRE_FALSE(answered(request));
  }
  now += kSecond;
  settle();
  REQUIRE(problem(request) == "nobody has made room for its 12582912 bytes within 30 s");
  device.release();
  for (int i = 0; i < 4; ++i, now += kSecond) settle();
  REQUIRE((!here(a) && here(b)));  // it does not come later either
  REQUIRE_FALSE(sharing.waiting());
}

TEST_CASE_METHOD(MovesFixture, "pin: it comes, and nobody makes it leave until it is unpinned") {
  const auto a = add(3);
  now += 100 * kMs;
  REQUIRE(succeeded(ask(a, MoveAction::unload)));
  const auto b = add(5), c = add(5);
  REQUIRE((!here(a) && !here(b) && here(c)));
  const auto request = ask(a, MoveAction::pin);
  REQUIRE(problem(request) == "done");
  REQUIRE((here(a) && here(c)));
  REQUIRE(sessions[a]->usage().pinned);
  for (int round = 0; round < 4; ++round) {
    now += 100 * kMs;
    touch(b);
    REQUIRE((done(b) && here(a) && here(b)));
    now += 100 * kMs;
    touch(c);
    REQUIRE((done(c) && here(a) && here(c)));
  }
  REQUIRE(problem(ask(a, MoveAction::unload)) == "it is pinned, and stays until it is unpinned");
  REQUIRE(succeeded(ask(a, MoveAction::pin)));
  REQUIRE(homes->promisableBytes() == homes->totalBytes() - 13 * kG);  // its homes are its own still
  REQUIRE(succeeded(ask(a, MoveAction::unpin)));
  REQUIRE_FALSE(sessions[a]->usage().pinned);
  REQUIRE(here(a));
  REQUIRE(succeeded(ask(a, MoveAction::unload)));
}

TEST_CASE_METHOD(MovesFixture, "pin: what the others were promised must still fit, each by itself") {
  const auto a = add(4), b = add(6);
  const auto request = ask(a, MoveAction::pin);
  REQUIRE(problem(request) ==
          "keep 8388608 bytes on the device: 4194304 can be kept of its 16777216: others are pinned, or the largest of them needs "
          "the rest for its turns");
  REQUIRE(answers.at(request).error().code == CudaError::memoryAllocation);
  REQUIRE_FALSE(sessions[a]->usage().pinned);
  now += 100 * kMs;
  touch(a);
  now += 100 * kMs;
  touch(b);
  REQUIRE(succeeded(ask(a, MoveAction::unload)));
}

TEST_CASE_METHOD(MovesFixture, "pin: promises afterwards count on it, its own and those of others") {
  const auto a = add(3);
  REQUIRE(succeeded(ask(a, MoveAction::pin)));
  const auto b = add(5);
  clients[b]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  clients[a]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  settle();
  REQUIRE(clients[b]->result(9) == CudaError::memoryAllocation);
  REQUIRE(clients[a]->result(9) == CudaError::memoryAllocation);
  REQUIRE(succeeded(ask(a, MoveAction::unpin)));
  clients[b]->send(wire::MemReserve{.bytes = kG, .value = 3, .slot = 9});
  settle();
  REQUIRE(clients[b]->result(9) == CudaError::success);
}

TEST_CASE_METHOD(MovesFixture, "pin: not undone by a reset of the device") {
  const auto a = add(3);
  REQUIRE(succeeded(ask(a, MoveAction::pin)));
  clients[a]->send(wire::Reset{.value = 1, .slot = 4});
  settle();
  REQUIRE(clients[a]->value(4) == 1);
  REQUIRE(sessions[a]->usage().pinned);
  clients[a]->send(wire::MemReserve{.bytes = 3 * kG, .value = 2, .slot = 9});
  clients[a]->send(wire::MemMap{.base = clients[a]->window(), .bytes = 3 * kG});
  settle();
  const auto b = add(5);
  for (const auto who : {a, b, a, b}) {
    now += 100 * kMs;
    touch(who);
    REQUIRE((done(who) && here(a)));
  }
  clients[b]->send(wire::MemReserve{.bytes = kG, .value = 2, .slot = 9});
  settle();
  REQUIRE(clients[b]->result(9) == CudaError::memoryAllocation);
}

TEST_CASE_METHOD(MovesFixture, "pin: asked of one that others are driving out, it stays; of one on its way out, it comes back") {
  const auto a = add(3), b = add(1);
  work(a);
  clients[b]->send(wire::MemReserve{.bytes = 4 * kG, .value = 2, .slot = 9});
  clients[b]->send(wire::MemMap{.base = clients[b]->window() + kG, .bytes = 4 * kG});
  settle();
  REQUIRE(sessions[b]->usage().mappedBytes == 5 * kG);
  device.release();
  settle();
  const auto c = add(5);  // needs the room of one of them
  now += 100 * kMs;
  device.hold = true;
  touch(b);
  // Whoever leaves is now in the middle of it, with saves that do not end.
  const std::size_t leaving = sessions[a]->presence().where() == Presence::Where::leaving ? a : c;
  REQUIRE(sessions[leaving]->presence().where() == Presence::Where::leaving);
  REQUIRE(leaving == c);
  const auto pinned = ask(a, MoveAction::pin);
  REQUIRE(problem(pinned) == "done");
  const auto load = ask(c, MoveAction::load);
  REQUIRE_FALSE(answered(load));
  device.release();
  settle();
  now += 100 * kMs;
  settle();
  REQUIRE(succeeded(load));
  REQUIRE((here(a) && here(c)));
}

TEST_CASE_METHOD(MovesFixture, "pin: when there is no room in time it is not pinned") {
  const auto a = add(4);
  now += 100 * kMs;
  const auto b = add(4), c = add(4);
  (void)c;
  REQUIRE_FALSE(here(a));
  work(b);
  work(c);
  const auto request = ask(a, MoveAction::pin);
  REQUIRE_FALSE(answered(request));
  REQUIRE(sessions[a]->pinned());
  for (int i = 0; i < 62; ++i, now += kSecond / 2) settle();
  REQUIRE(problem(request) == "nobody has made room for its 8388608 bytes within 30 s");
  REQUIRE_FALSE(sessions[a]->pinned());
  device.release();
  settle();
  REQUIRE_FALSE(sharing.waiting());
}

TEST_CASE_METHOD(MovesFixture, "one at a time for a session, and an answer also when it ends meanwhile") {
  const auto a = add(4);
  work(a);
  const auto first = ask(a, MoveAction::unload);
  const auto second = ask(a, MoveAction::pin);
  REQUIRE(problem(second) == "session 1 is being loaded, unloaded or pinned already");
  REQUIRE_FALSE(answered(first));
  sessions[a]->beginClose();
  settle();
  REQUIRE(problem(first) == "session 1 has ended");
  REQUIRE_FALSE(moves.waiting());
  REQUIRE(moves.begin(77, 99, MoveAction::load).ok());  // never was one
  settle();
  REQUIRE(problem(77) == "session 99 has ended");
}

TEST_CASE_METHOD(MovesFixture, "a pinned session that ends leaves the device to others") {
  const auto a = add(3);
  REQUIRE(succeeded(ask(a, MoveAction::pin)));
  sessions[a]->beginClose();
  settle();
  REQUIRE(sessions[a]->closed());
  const auto b = add(8);
  REQUIRE(here(b));
}

}  // namespace rouse::executor
