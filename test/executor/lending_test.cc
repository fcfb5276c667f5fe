// What a session has left in one device's memory, read by the device to which it is taken.
#include "test/executor/two_devices.h"

namespace rouse::executor {
namespace {

struct Lending : TwoDevices {
  Lending() { a.device.properties_.uuid = "GPU-a"; }

  // All that there is, piece by piece. Returns how many granules.
  std::size_t share(Session& there) {
    std::size_t count = 0;
    std::uint32_t from = 0;
    do {
      auto shared = a.sessions[who]->share(from);
      REQUIRE(shared.ok());
      from = shared->body.next;
      count += shared->body.chunks.size();
      if (shared->body.chunks.empty()) break;
      const Status borrowed = there.borrow(shared->body, std::move(shared->fds));
      INFO(borrowed.error().message);
      REQUIRE(borrowed.ok());
    } while (from != 0);
    return count;
  }
  Session& imported(const Recipe& recipe) {
    Session& there = dormant();
    REQUIRE(there.beginImport(recipe).ok());
    await(there);
    return there;
  }
  std::size_t freeOnA() { return a.memory.freeChunks(); }
};

}  // namespace

TEST_CASE_METHOD(Lending, "what still rests on the device that it leaves comes from there, in the order of use, and is then given back") {
  Client& client = start(5);
  const Recipe recipe = exported();
  REQUIRE(freeOnA() == 8);  // it rests
  Session& there = imported(recipe);
  REQUIRE(share(there) == 5);
  REQUIRE(freeOnA() == 3);
  REQUIRE(a.sessions[who]->lentChunks() == 5);
  REQUIRE(there.borrows());

  // Closing it gives everything back but that.
  a.sessions[who]->beginClose();
  a.settle();
  REQUIRE_FALSE(a.sessions[who]->closed());
  REQUIRE(a.device.contexts() == 0);
  REQUIRE(a.homes->promisableBytes() == a.homes->totalBytes());
  REQUIRE(freeOnA() == 3);

  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  b.device.hold = true;
  REQUIRE(there.resume().ok());
  b.settle();
  REQUIRE(b.count("fetch") == 5);
  REQUIRE(b.count("restore") == 0);
  REQUIRE(there.borrows());  // it is on its way
  b.device.release();
  b.settle();
  REQUIRE_FALSE(there.borrows());
  REQUIRE(b.device.peerChunks == 0);
  REQUIRE(client.value(2) == 6);
  REQUIRE(there.usage().peerBytes == 5 * kG);
  REQUIRE(there.usage().broughtBytes == 0);

  a.sessions[who]->takeBack();
  a.settle();
  REQUIRE(a.sessions[who]->closed());
  REQUIRE(freeOnA() == 8);
  // The next time it comes from home, and has not forgotten.
  b.sendAway(0);
  b.clearAway();
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 7, .slot = 2});
  b.settle();
  REQUIRE(client.value(2) == 7);
  REQUIRE(b.count("restore") == 5);
  REQUIRE(there.usage().peerBytes == 5 * kG);
  REQUIRE(there.usage().broughtBytes == 5 * kG);
}

TEST_CASE_METHOD(Lending, "what others have taken comes from home, beside the rest") {
  Client& client = start(5);
  a.sendAway(who);
  const auto other = a.add(5);  // two of them have to go
  a.touch(other);
  const Recipe recipe = exported();
  REQUIRE(a.resting(who) == 3);
  Session& there = imported(recipe);
  REQUIRE(share(there) == 3);
  REQUIRE(there.resume().ok());
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  b.settle();
  REQUIRE(client.value(2) == 6);
  REQUIRE(b.count("fetch") == 3);
  REQUIRE(b.count("restore") == 2);
  REQUIRE(there.usage().peerBytes == 3 * kG);
}

TEST_CASE_METHOD(Lending, "what the program has freed and written differs from its home, and is not read") {
  Client& client = start(4);
  a.sendAway(who);
  client.send(wire::Allocated{.base = client.window() + 2 * kG, .bytes = kG});
  client.send(wire::Freed{.base = client.window() + 2 * kG, .bytes = kG});
  a.settle();
  a.device.written.insert(client.window() + 2 * kG);
  const Recipe recipe = exported();
  Session& there = imported(recipe);
  REQUIRE(share(there) == 3);
  REQUIRE(freeOnA() == 4);
  REQUIRE(there.resume().ok());
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  b.settle();
  REQUIRE(b.count("fetch") == 3);
  REQUIRE(b.count("restore") == 1);
}

TEST_CASE_METHOD(Lending, "nothing is lent where somebody waits for chunks, and the daemon is told when somebody does") {
  Client& client = start(5);
  const auto busy = a.add(3);
  a.touch(busy);
  const Recipe recipe = exported();
  a.device.hold = true;
  a.clients[busy]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = a.clients[busy]->window(), .count = 8, .elementBytes = 1});
  Session& there = imported(recipe);
  REQUIRE(share(there) == 5);
  REQUIRE(freeOnA() == 0);
  REQUIRE_FALSE(a.sharing.wantsLent());
  const auto head = a.add(4);
  REQUIRE(a.sharing.wantsLent());
  REQUIRE_FALSE(a.sessions[busy]->leaveAsked());  // what is coming back will do
  // Recalled: what has not begun to come will come from home.
  there.stopBorrowing();
  REQUIRE_FALSE(there.borrows());
  REQUIRE(b.device.peerChunks == 0);
  a.sessions[who]->takeBack();
  a.settle();
  REQUIRE_FALSE(a.sharing.wantsLent());
  REQUIRE(a.sessions[head]->heldChunks() == 4);
  REQUIRE(there.resume().ok());
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  b.settle();
  REQUIRE(b.count("fetch") == 0);
  REQUIRE(b.count("restore") == 5);
  REQUIRE(client.value(2) == 6);
  REQUIRE(there.usage().peerBytes == 0);
  REQUIRE(there.usage().broughtBytes == 5 * kG);

  // Somebody waits: nothing.
  a.clients[busy]->send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 2, .slot = 3});
  const auto another = a.add(6);
  REQUIRE(a.surroundings.contended);
  REQUIRE(a.sessions[who]->share(0)->body.chunks.empty());
  REQUIRE(a.sessions[who]->lentChunks() == 0);
  a.device.release();
  a.settle();
  REQUIRE(a.sessions[another]->heldChunks() == 6);
}

TEST_CASE_METHOD(Lending, "while it comes, a recall lets what is under way end") {
  Client& client = start(6);
  const Recipe recipe = exported();
  Session& there = imported(recipe);
  REQUIRE(share(there) == 6);
  b.device.hold = true;
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  REQUIRE(there.resume().ok());
  b.settle();
  there.stopBorrowing();
  REQUIRE(there.borrows());
  REQUIRE(b.device.peerChunks == 6);
  b.device.release();
  b.settle();
  REQUIRE_FALSE(there.borrows());
  REQUIRE(b.device.peerChunks == 0);
  REQUIRE(client.value(2) == 6);
}

TEST_CASE_METHOD(Lending, "who is taken back finds what it has lent as it was") {
  Client& client = start(5);
  const Recipe recipe = exported();
  Session& there = imported(recipe);
  REQUIRE(share(there) == 5);
  close(b, 0);
  REQUIRE(b.device.peerChunks == 0);
  REQUIRE(a.sessions[who]->resume().ok());
  REQUIRE(a.sessions[who]->lentChunks() == 0);
  REQUIRE(freeOnA() == 8);
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  a.settle();
  REQUIRE(client.value(2) == 6);
  REQUIRE(a.count("restore") == 0);
}

TEST_CASE_METHOD(Lending, "it is taken on before it has come: from home then") {
  start(5);
  const Recipe recipe = exported();
  Session& there = imported(recipe);
  REQUIRE(share(there) == 5);
  REQUIRE(there.resume().ok());
  b.settle();
  REQUIRE(there.borrows());
  REQUIRE(there.still());
  const Recipe again = there.freeze();
  REQUIRE_FALSE(there.borrows());
  REQUIRE(again.granules.size() == 5);
  // Nothing of it rests there.
  REQUIRE(there.share(0)->body.chunks.empty());
}

TEST_CASE_METHOD(Lending, "a target that ends in the middle of it has nothing left") {
  Client& client = start(5);
  const Recipe recipe = exported();
  Session& there = imported(recipe);
  REQUIRE(share(there) == 5);
  b.device.hold = true;
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  REQUIRE(there.resume().ok());
  b.settle();
  REQUIRE(b.count("fetch") == 5);
  b.device.release();
  b.sessions.clear();  // not even closed
  REQUIRE(b.device.peerChunks == 0);
}

TEST_CASE_METHOD(Lending, "what is not to be shared, or borrowed, is refused, and comes from home") {
  Client& client = start(5);
  REQUIRE_FALSE(a.sessions[who]->share(0).ok());  // it serves
  const Recipe recipe = exported();
  Session& there = dormant();
  const auto shared = [&] {
    auto made = a.sessions[who]->share(0);
    REQUIRE(made.ok());
    REQUIRE(made->body.chunks.size() == 5);
    return std::move(*made);
  };
  {
    Session::Shared early = shared();
    REQUIRE(there.borrow(early.body, std::move(early.fds)).error().message == "shared memory: the session is not being imported");
  }
  REQUIRE(there.beginImport(recipe).ok());
  await(there);
  {
    Session::Shared wrong = shared();
    wrong.body.chunks[3].granule = 7;
    REQUIRE(there.borrow(wrong.body, std::move(wrong.fds)).error().message == "shared memory: granule 7 is none of the session's");
    Session::Shared none = shared();
    none.fds.clear();
    REQUIRE_FALSE(there.borrow(none.body, std::move(none.fds)).ok());
  }
  a.device.failExport = true;
  REQUIRE(a.sessions[who]->share(0).error().message == "cannot be shared");
  a.sessions[who]->takeBack();
  REQUIRE(freeOnA() == 8);
  REQUIRE(there.resume().ok());
  there.stopBorrowing();
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  b.settle();
  REQUIRE(client.value(2) == 6);
  REQUIRE(b.count("restore") == 5);
  REQUIRE(b.device.peerChunks == 0);
}

}  // namespace rouse::executor
