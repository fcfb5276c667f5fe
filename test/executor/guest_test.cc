// Memory that other executors have of a device, beside sessions that take turns on it.
#include "server/executor/guest.h"

#include "server/executor/promises.h"
#include "test/executor/sharing_fixture.h"

namespace rouse::executor {
namespace {

constexpr std::uint64_t kNoCall = ~std::uint64_t{0};

struct Guests : SharingFixture {
  Guest& invite(std::uint64_t number, std::uint64_t granules, bool rules = false) {
    Guest& guest = *guests.emplace_back(std::make_unique<Guest>(number, memory, rules));
    REQUIRE(guest.promise(granules * kG, memory::Tenure::visits).ok());
    return guest;
  }
  void bringHome(Guest& guest, std::uint64_t granules) {
    REQUIRE(guest.giveBack(granules * kG).ok());
    settle();
  }
};

}  // namespace

TEST_CASE_METHOD(Guests, "a guest gets what it wants where there is room, and its chunks have no memory until they are back") {
  Guest& guest = invite(1, 6);
  guest.want(4 * kG);
  settle();
  CHECK(granted[1] == 4);
  CHECK(guest.bytes() == 4 * kG);
  CHECK(memory.freeChunks() == 4);
  guest.want(100 * kG);  // no more than it was promised
  settle();
  CHECK(granted[1] == 6);
  CHECK_FALSE(guest.giveBack(7 * kG).ok());
  CHECK_FALSE(guest.giveBack(1).ok());
  guest.want(0);
  bringHome(guest, 6);
  CHECK(memory.freeChunks() == 8);
  const auto a = add(8);  // the fake device tells if a chunk without memory is used
  CHECK(here(a));
  CHECK(guest.promise(0, memory::Tenure::visits).ok());
}

TEST_CASE_METHOD(Guests, "guests stand in line with sessions: each makes room for the other") {
  const auto a = add(6);
  Guest& guest = invite(1, 6);
  now += 100 * kMs;
  guest.want(6 * kG);
  settle();
  CHECK_FALSE(here(a));
  CHECK(granted[1] == 6);
  CHECK((!calls.contains(1) || calls[1] == kNoCall));
  // What rested is left as far as nobody took it.
  CHECK(resting(a) == 2);
  now += 100 * kMs;
  touch(a);
  CHECK_FALSE(done(a));
  CHECK(calls[1] == 2 * kG);  // four more are needed beside the two that are free
  guest.want(0);
  bringHome(guest, 1);
  CHECK(calls[1] == 2 * kG);  // a level: what crosses it does no harm
  bringHome(guest, 3);
  CHECK(done(a));
  CHECK(calls[1] == kNoCall);
  now += 100 * kMs;
  guest.want(6 * kG);
  settle();
  CHECK(granted[1] == 10);
  guest.want(0);
  bringHome(guest, 6);
}

TEST_CASE_METHOD(Guests, "what a guest is promised is in the same book as sessions' promises") {
  const auto a = add(5);
  CHECK_FALSE(Guest(1, memory, false).promise(9 * kG, memory::Tenure::visits).ok());
  memory.release(Guest::ownerOf(1));
  Guest& guest = invite(2, 8);
  CHECK_FALSE(sessions[a]->pin().ok());  // the guest could come no more
  CHECK(guest.promise(3 * kG, memory::Tenure::visits).ok());
  CHECK(sessions[a]->pin().ok());
  const Status refused = guest.promise(4 * kG, memory::Tenure::visits);
  CHECK(refused.error().code == CudaError::memoryAllocation);
  CHECK(guest.promised() == 3 * kG);
  guest.want(3 * kG);
  settle();
  CHECK(granted[2] == 3);
  CHECK(here(a));
  guest.want(0);
  bringHome(guest, 3);
  CHECK(guest.promise(0, memory::Tenure::visits).ok());
  sessions[a]->unpin();
}

TEST_CASE_METHOD(Guests, "a guest that stays is not asked to make room") {
  Guest& guest = *guests.emplace_back(std::make_unique<Guest>(1, memory, false));
  REQUIRE(guest.promise(3 * kG, memory::Tenure::stays).ok());
  guest.want(3 * kG);
  settle();
  CHECK(granted[1] == 3);
  CHECK_FALSE(guest.mayLeave());
  const auto a = add(5), b = add(5);
  CHECK(here(a) != here(b));
  CHECK(calls.empty());
  guest.leave();
  settle();
  CHECK(guest.gone());
}

TEST_CASE_METHOD(Guests, "a guest that does not make room in time is left alone for a while; the one that rules is waited for") {
  Guest& slow = invite(1, 8);
  slow.want(8 * kG);
  settle();
  slow.want(0);
  const auto a = add(2);
  CHECK(calls[1] == 6 * kG);
  now += Sharing::kPatienceNs + 1;
  settle();
  CHECK(calls[1] == kNoCall);
  bringHome(slow, 8);
  CHECK(here(a));
}

TEST_CASE_METHOD(Guests, "in an isolated executor all others are one guest, who comes first") {
  memory.promiseElsewhere();
  Guest& others = *guests.emplace_back(std::make_unique<Guest>(Guest::kOthers, memory, true));
  REQUIRE(device.withdraw(device.chunks().first(8)).ok());
  others.holdAbsent(8 * kG);
  const auto a = add(5);
  CHECK(calls[Guest::kOthers] == 3 * kG);  // the session waits for five
  now += 10 * Sharing::kPatienceNs;
  settle();
  CHECK(calls[Guest::kOthers] == 3 * kG);
  bringHome(others, 2);
  CHECK(calls[Guest::kOthers] == 3 * kG);
  // The others want what has come before it is enough: they get it, and the session goes on waiting.
  others.want(8 * kG);
  settle();
  CHECK(granted[Guest::kOthers] == 2);
  others.want(0);
  settle();
  CHECK(calls[Guest::kOthers] == 3 * kG);
  bringHome(others, 5);
  touch(a);
  CHECK(done(a));
  now += 100 * kMs;
  others.want(8 * kG);
  settle();
  CHECK_FALSE(here(a));
  CHECK(others.bytes() == 8 * kG);
  others.want(0);
  bringHome(others, 8);
  CHECK(others.promise(0, memory::Tenure::visits).ok());
}

TEST_CASE_METHOD(Guests, "what has no memory when a shared executor is started is handed over to those who have it") {
  REQUIRE(device.withdraw(device.chunks().first(5)).ok());
  Guest& others = *guests.emplace_back(std::make_unique<Guest>(Guest::kOthers, memory, false));
  others.holdAbsent(5 * kG);
  Guest& one = invite(1, 3);
  CHECK_FALSE(one.takeFrom(others, 4 * kG).ok());
  CHECK(one.takeFrom(others, 3 * kG).ok());
  CHECK(one.bytes() == 3 * kG);
  CHECK(others.bytes() == 2 * kG);
  bringHome(others, 2);  // nobody's any more
  CHECK(memory.freeChunks() == 5);
  // Where there is no memory just now it is tried again.
  device.failSupply = true;
  one.leave();
  settle();
  CHECK_FALSE(one.gone());
  CHECK(one.waiting());
  device.failSupply = false;
  now += 20 * kMs;
  settle();
  CHECK(one.gone());
}

TEST_CASE("promises that are decided elsewhere are asked for one by one") {
  std::vector<std::uint64_t> asked;
  Promises promises([&](std::uint64_t bytes) { asked.push_back(bytes); });
  const auto first = promises.more(10);
  CHECK_FALSE(promises.answered(first));
  promises.answer({});
  CHECK(promises.answered(first));
  promises.less(4);
  const auto second = promises.more(20);
  promises.answer({});
  CHECK_FALSE(promises.answered(second));
  promises.answer(Error{CudaError::memoryAllocation, "no"});
  CHECK(promises.answered(second));
  CHECK_FALSE(promises.last().ok());
  promises.takeBack(20);
  CHECK(promises.total() == 6);
  CHECK(asked == std::vector<std::uint64_t>{10, 6, 26});
}

}  // namespace rouse::executor
