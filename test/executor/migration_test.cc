// A session taken from one device to another, with all that it is: two executors' sessions, and one program that notices nothing.
#include <random>

#include "test/executor/two_devices.h"

namespace rouse::executor {
namespace {

struct SameHomes : TwoDevices {
  SameHomes() : TwoDevices(0) {}
};

}  // namespace

TEST_CASE_METHOD(SameHomes, "a session made again over its own homes finds them where they are; those that shared one get their own again") {
  start(4);
  Recipe recipe = exported();
  REQUIRE(recipe.granules.size() == 4);
  recipe.granules[2].home = recipe.granules[0].home;
  std::mt19937_64 random(1);
  for (const auto& granule : recipe.granules) {
    std::vector<std::uint64_t> page(kG / 8);
    for (std::uint64_t& word : page) word = random();
    REQUIRE(::pwrite(file.get(), page.data(), kG, static_cast<off_t>(granule.home)) == static_cast<ssize_t>(kG));
  }
  const auto before = content(recipe);
  Session& there = dormant();
  REQUIRE(there.beginImport(recipe).ok());
  await(there);
  REQUIRE(content(recipe) == before);
  REQUIRE(there.resume().ok());
  b.settle();
  const std::uint64_t request = ask(b, 0);
  b.settle();
  REQUIRE(b.answers.at(request).ok());
  const Recipe again = b.recipes.at(request);
  for (const std::size_t i : {0u, 1u, 3u}) CHECK(again.granules[i].home == recipe.granules[i].home);
  CHECK(again.granules[2].home != recipe.granules[2].home);
  close(a, 0);
  close(b, 0);
}

TEST_CASE_METHOD(TwoDevices, "a session goes on on another device: memory, streams, modules, limits, its place in the ring") {
  Client& client = start(3);
  const Recipe recipe = exported();
  REQUIRE(recipe.granules.size() == 3);
  REQUIRE(recipe.reservedBytes == 3 * kG);
  REQUIRE(recipe.streams.size() == 3);
  // Whatever has been saved, to the byte.
  std::mt19937_64 random(1);
  for (const auto& granule : recipe.granules) {
    std::vector<std::uint64_t> page(kG / 8);
    for (std::uint64_t& word : page) word = random();
    REQUIRE(::pwrite(file.get(), page.data(), kG, static_cast<off_t>(granule.home)) == static_cast<ssize_t>(kG));
  }
  const auto before = content(recipe);

  // What the program asks for meanwhile lies in its ring.
  client.send(wire::Launch{.stream = {2, 1}, .module = {0, 2}, .function = 0, .flags = 0, .grid = {1, 1, 1}, .block = {1, 1, 1}, .sharedBytes = 0},
              std::vector<std::byte>(12));
  client.send(wire::StreamCreate{.stream = {1, 2}, .flags = 0, .priority = 0});
  client.send(wire::Copy{.stream = wire::kLegacyStream, .destination = client.pinned(), .source = client.window(), .bytes = 64});
  client.send(wire::Freed{.base = client.window(), .bytes = 100});
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  a.settle();
  REQUIRE(client.value(2) == 5);
  REQUIRE(a.sessions[who]->restSleeping());
  REQUIRE_FALSE(a.sessions[who]->awaitsProgress());

  Session& there = dormant();
  b.settle();
  REQUIRE(there.usage().commands == 0);
  REQUIRE_FALSE(there.resume().ok());
  const Status begun = there.beginImport(recipe);
  INFO(begun.error().message);
  REQUIRE(begun.ok());
  await(there);
  b.settle();
  REQUIRE(client.value(2) == 5);  // it is not to serve yet
  REQUIRE(content(there.resume().ok() ? there.freeze() : Recipe{}) == before);
  REQUIRE(there.resume().ok());
  b.settle();
  REQUIRE(client.value(2) == 6);
  REQUIRE_FALSE(there.fault());
  for (const char* line : {"adopt 1", "limit 0 2048", "mapHost 8192", "launch 0", "copy 64"}) {
    INFO(line);
    REQUIRE(b.count(line) == 1);
  }
  REQUIRE(b.count("instantiate") == 0);  // which would write initial values
  REQUIRE(b.count("restore") == 3);
  REQUIRE(there.usage().place == channel::Place::device);
  REQUIRE(there.usage().reservedBytes == 3 * kG);
  REQUIRE(there.usage().commands == 14 + 2 + 5 - 2);
  REQUIRE(there.commandsHere() == 5);
  REQUIRE(there.launchesHere() == 1);
  REQUIRE(there.usage().departures == 1);

  // Here nothing is left of it, and ending it tells the program nothing.
  a.sessions[who]->declareLost("its executor ends: no reason");
  close(a, who);
  REQUIRE(client.segment.header().devices[0].state.load() == wire::DeviceState::serving);
  client.send(wire::ModuleUnbind{.module = {0, 2}});
  client.send(wire::StreamDestroy{.stream = {2, 1}});
  client.send(wire::HostUnmap{.base = client.pinned(), .bytes = 8192, .value = 7, .slot = 3});
  client.send(wire::MemUnmap{.base = client.window(), .bytes = 3 * kG});
  client.send(wire::MemReturn{.bytes = 3 * kG});
  client.send(wire::StreamCreate{.stream = {2, 1}, .flags = 0, .priority = 0});  // its generation has been used
  b.settle();
  REQUIRE(client.value(3) == 7);
  REQUIRE(there.usage().reservedBytes == 0);
  REQUIRE(there.fault()->message.find("StreamCreate.stream") != std::string::npos);
}

TEST_CASE_METHOD(TwoDevices, "a limit that the other device cannot set yet is set before the session goes on") {
  Client& client = start(2);
  const Recipe recipe = exported();
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  Session& there = dormant();
  b.device.limitsWait = true;
  REQUIRE(there.beginImport(recipe).ok());
  await(there);
  REQUIRE(there.resume().ok());
  b.settle();
  REQUIRE(client.value(2) == 5);
  REQUIRE(there.awaitsProgress());
  REQUIRE_FALSE(there.still());
  b.device.limitsWait = false;
  b.settle();
  REQUIRE(client.value(2) == 6);
  REQUIRE(b.count("limit 0 2048") == 1);
  close(a, who);
}

TEST_CASE_METHOD(TwoDevices, "what is taken back goes on where it was") {
  Client& client = start(2);
  (void)exported();
  REQUIRE(a.sessions[who]->between());
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  a.settle();
  REQUIRE(client.value(2) == 5);
  REQUIRE(a.sessions[who]->resume().ok());
  a.settle();
  REQUIRE(client.value(2) == 6);
  REQUIRE_FALSE(a.sessions[who]->resume().ok());
}

TEST_CASE_METHOD(TwoDevices, "there and back, many times, with work between") {
  Client& client = start(4);
  SharingFixture* from = &a;
  SharingFixture* to = &b;
  std::size_t at = who;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::uint64_t request = ask(*from, at);
    from->settle();
    REQUIRE(from->answers.at(request).ok());
    const Recipe recipe = from->recipes.at(request);
    channel::OpenSession open = client.request;
    open.dormant = true;
    to->sessions.push_back(Session::open(open, client.fds(), to->surroundings).value());
    Session& there = *to->sessions.back();
    there.install(7, image());
    const auto before = content(recipe);
    REQUIRE(there.beginImport(recipe).ok());
    await(there);
    client.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 10 + round, .slot = 4});
    REQUIRE(there.resume().ok());
    close(*from, at);
    to->settle();
    REQUIRE(client.value(4) == 10 + round);
    REQUIRE_FALSE(there.fault());
    at = to->sessions.size() - 1;
    std::swap(from, to);
  }
  REQUIRE(from->sessions[at]->usage().departures == 20);
}

TEST_CASE_METHOD(TwoDevices, "who waits for memory waits for it elsewhere") {
  Client& client = start(2);
  const auto big = a.add(6);  // nothing is free
  a.clients[big]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = a.clients[big]->window(), .count = 8, .elementBytes = 1});
  a.device.hold = true;
  a.settle();
  client.send(wire::MemReserve{.bytes = 4 * kG, .value = 2, .slot = 9});
  client.send(wire::MemMap{.base = client.window() + 2 * kG, .bytes = 4 * kG});
  client.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 3, .slot = 4});
  a.settle();
  REQUIRE(client.result(9) == CudaError::success);
  REQUIRE(client.value(4) == 0);
  const std::uint64_t request = ask(a, who);
  a.settle();
  REQUIRE_FALSE(a.answers.contains(request));  // on its way out
  a.device.release();
  a.settle();
  REQUIRE(a.answers.at(request).ok());
  const Recipe& recipe = a.recipes.at(request);
  REQUIRE(recipe.granules.size() == 2);
  REQUIRE(recipe.toMap.bytes == 4 * kG);
  Session& there = dormant();
  REQUIRE(there.beginImport(recipe).ok());
  await(there);
  REQUIRE(there.resume().ok());
  b.settle();
  REQUIRE(there.usage().mappedBytes == 6 * kG);
  REQUIRE(client.value(4) == 3);
}

TEST_CASE_METHOD(TwoDevices, "who has no memory can move as well") {
  who = a.add(1);
  Client& client = *a.clients[who];
  client.send(wire::MemUnmap{.base = client.window(), .bytes = kG});
  client.send(wire::MemReturn{.bytes = kG});
  const Recipe recipe = exported();
  REQUIRE(recipe.granules.empty());
  Session& there = dormant();
  REQUIRE(there.beginImport(recipe).ok());
  await(there);
  REQUIRE(there.resume().ok());
  client.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 3, .slot = 4});
  b.settle();
  REQUIRE(client.value(4) == 3);
}

TEST_CASE_METHOD(TwoDevices, "what a target refuses leaves it as it was, and the source whole") {
  Client& client = start(3);
  const Recipe good = exported();
  const auto refusal = [&](const Recipe& recipe, bool install = true) {
    channel::OpenSession request = client.request;
    request.dormant = true;
    Session& there = *b.sessions.emplace_back(Session::open(request, client.fds(), b.surroundings).value());
    if (install) there.install(7, image());
    const Status status = there.beginImport(recipe);
    REQUIRE_FALSE(there.fault());
    close(b, b.sessions.size() - 1);
    REQUIRE(b.memory.freeBytes() == b.memory.totalBytes());
    REQUIRE(b.homes->promisableBytes() == b.homes->totalBytes());
    return status.ok() ? "taken" : status.error().message;
  };
  const auto with = [&](auto&& change) {
    Recipe recipe = good;
    change(recipe);
    return refusal(recipe);
  };
  REQUIRE(refusal(good) == "taken");
  REQUIRE(refusal(good, false) == "import session: its module 7 is not installed");
  REQUIRE(with([](Recipe& r) { std::swap(r.granules[0], r.granules[1]); }).find("not in order") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.granules[2].number = 1u << 20; }).find("beyond") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.granules[1].home = 80 * kG; }).find("not in the host store") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.granules[1].home += 1; }).find("not in the host store") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.reservedBytes = 2 * kG; }) != "taken");
  REQUIRE(with([](Recipe& r) { r.reservedBytes = 9 * kG; }) != "taken");                           // the device has 8
  REQUIRE(with([](Recipe& r) { r.reservedBytes = 1000 * kG; }) != "taken");                        // beyond the function's limit
  REQUIRE(with([](Recipe& r) { r.order.push_back(1u << 30); }).find("order of use") != std::string::npos);
  REQUIRE(with([&](Recipe& r) { r.toMap = {client.window(), kG}; }) != "taken");  // is mapped, and not promised
  REQUIRE(with([&](Recipe& r) {
            r.toMap = {client.window(), kG};
            r.reservedBytes = 4 * kG;
          }).find("mapped in part already") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.objects.push_back(r.objects[0]); }).find("object") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.hostRanges.push_back(r.hostRanges[0]); }).find("host range") != std::string::npos);
  REQUIRE(with([&](Recipe& r) { r.hostRanges[0].base = client.staging(); }).find("host range") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.streams.clear(); }).find("streams") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.streams[0].live = false; }).find("streams") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.limits.push_back({3, 1}); }) == "import session: limit 3");
  REQUIRE(with([](Recipe& r) { r.limits.push_back({1, 2'000'000}); }) == "limit too large");
  REQUIRE(with([](Recipe& r) { r.modules[0].moduleId = 8; }) == "import session: its module 8 is not installed");
  REQUIRE(with([](Recipe& r) { r.modules[0].addresses.clear(); }).find("1 variables, not 0") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.modules[0].addresses[0] += 1; }).find("variable table lies") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.modules[0].addresses[0] += 3 * kG; }).find("variable table lies") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.commandBytes += 8; }).find("ring") != std::string::npos);
  REQUIRE(with([](Recipe& r) { r.outputBytes += 1; }).find("ring") != std::string::npos);
  b.device.failInstantiate = true;
  REQUIRE(refusal(good) == "no room for code");
  b.device.failInstantiate = false;
  // Others have been promised what it needs.
  REQUIRE(b.homes->promise(99, 38).ok());
  {
    channel::OpenSession request = client.request;
    request.dormant = true;
    Session& there = *b.sessions.emplace_back(Session::open(request, client.fds(), b.surroundings).value());
    REQUIRE(there.beginImport(good).error().code == CudaError::memoryAllocation);
    close(b, 0);
  }
  b.homes->release(99);
  // After all that.
  REQUIRE(a.sessions[who]->resume().ok());
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  a.settle();
  REQUIRE(client.value(2) == 6);
}

TEST_CASE_METHOD(TwoDevices, "an import that is given up in the middle leaves nothing") {
  start(6);
  const Recipe recipe = exported();
  Session& there = dormant();
  REQUIRE(there.beginImport(recipe).ok());
  REQUIRE_FALSE(there.beginImport(recipe).ok());  // only once
  close(b, 0);
  Session& another = dormant();
  REQUIRE(another.beginImport(recipe).ok());
  b.sessions.clear();  // not even closed
}

TEST_CASE_METHOD(TwoDevices, "what cannot move says why") {
  Client& client = start(2);
  Session& session = *a.sessions[who];
  REQUIRE(session.mayMove().ok());
  auto tied = image(false);
  tied->tied = "its kernels handle addresses of functions";
  session.install(8, tied);
  REQUIRE(session.mayMove().ok());  // it has only been loaded
  client.send(wire::ModuleBind{.module = {1, 1}, .moduleId = 8}, std::span<const std::uint64_t>());
  a.settle();
  REQUIRE(session.mayMove().error().message == "it is tied to its GPU: its kernels handle addresses of functions");
  REQUIRE(session.mayMove().error().code == CudaError::notSupported);
  client.send(wire::ModuleUnbind{.module = {1, 1}});
  a.settle();
  REQUIRE(session.mayMove().ok());
  a.device.properties_.placesVariables = true;
  REQUIRE(session.mayMove().error().message == "it is tied to its GPU: the driver has placed its variable table");
  a.device.properties_.placesVariables = false;
  REQUIRE(session.pin().ok());
  REQUIRE(session.mayMove().error().code == CudaError::notPermitted);
  session.unpin();
  a.device.context().observer().onFault(CudaError::illegalAddress, "kernel fault");
  REQUIRE(session.mayMove().error().code == CudaError::illegalAddress);
}

TEST_CASE_METHOD(TwoDevices, "who is busy is asked to stop, and goes on if it does not") {
  Client& client = start(2);
  a.device.hold = true;
  client.send(wire::Fill{.stream = {2, 1}, .destination = client.window(), .count = 8, .elementBytes = 1});
  a.settle();
  REQUIRE(a.moves.beginExport(1, client.request.sessionId).ok());
  REQUIRE_FALSE(a.moves.beginExport(2, client.request.sessionId).ok());
  a.settle();
  REQUIRE_FALSE(a.answers.contains(1));
  a.now += Moves::kPatienceNs + kMs;
  a.settle();
  REQUIRE(a.answers.at(1).error().message == "what it does has not ended within 1 s");
  REQUIRE_FALSE(a.sessions[who]->mustLeave());
  a.device.release();
  a.settle();
  REQUIRE(a.moves.beginExport(3, client.request.sessionId).ok());
  a.settle();
  REQUIRE(a.answers.at(3).ok());
  // Somebody must freeze it in that turn; nobody has, and it goes on.
  client.send(wire::SlotSignal{.stream = {2, 1}, .value = 6, .slot = 2});
  a.settle();
  REQUIRE(client.value(2) == 6);
}

TEST_CASE_METHOD(TwoDevices, "the daemon is told of who waits for longer than its way would take, and less and less often") {
  Client& client = start(6);
  const auto other = a.add(8);
  REQUIRE_FALSE(a.here(who));
  a.device.hold = true;
  a.clients[other]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = a.clients[other]->window(), .count = 8, .elementBytes = 1});
  client.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = 3, .slot = 4});
  a.settle();
  const auto told = [&] {
    std::vector<Session*> all;
    for (const auto& session : a.sessions) all.push_back(session.get());
    return Sharing::impatient(all, a.now);
  };
  REQUIRE(told().empty());
  const std::uint64_t least = Sharing::kLeastWaitNs + 6 * kG * 1'000'000'000 / Sharing::kCopyRate;
  a.now += least - 1000;
  REQUIRE(told().empty());
  a.now += 1000;
  const auto first = told();
  REQUIRE(first.size() == 1);
  REQUIRE((first[0].sessionId == client.request.sessionId && first[0].wantedBytes == 6 * kG && first[0].reservedBytes == 6 * kG));
  REQUIRE(told().empty());
  a.now += least - 1000;
  REQUIRE(told().empty());
  a.now += 1000;
  REQUIRE(told().size() == 1);
  a.device.release();
  a.settle();
  REQUIRE(client.value(4) == 3);
  REQUIRE(told().empty());
}

TEST_CASE_METHOD(TwoDevices, "who waits a little again and again is told of as who waits long, unless it has not waited for a while") {
  Client& client = start(6);
  const auto other = a.add(5);
  const auto told = [&] {
    std::vector<Session*> all;
    for (const auto& session : a.sessions) all.push_back(session.get());
    return Sharing::impatient(all, a.now);
  };
  const std::uint64_t least = Sharing::kLeastWaitNs + 6 * kG * 1'000'000'000 / Sharing::kCopyRate;
  std::uint64_t rounds = 0;
  // It waits for a third of that, is served, and the other one comes back.
  const auto waits = [&] {
    a.device.hold = true;
    a.clients[other]->send(wire::Fill{.stream = wire::kLegacyStream, .destination = a.clients[other]->window(), .count = 8, .elementBytes = 1});
    a.settle();
    client.send(wire::SlotSignal{.stream = wire::kLegacyStream, .value = ++rounds, .slot = 4});
    a.settle();
    REQUIRE(client.value(4) == rounds - 1);
    a.now += least / 3 + 1;
    const auto found = told();
    a.device.release();
    a.settle();
    REQUIRE(client.value(4) == rounds);
    a.now += 100 * kMs;
    a.touch(other);
    a.settle();
    return found;
  };
  REQUIRE(waits().empty());
  REQUIRE(waits().empty());
  REQUIRE(waits().size() == 1);
  REQUIRE(waits().empty());
  a.now += Sharing::kForgetNs;
  REQUIRE(waits().empty());
  REQUIRE(waits().empty());
  const auto found = waits();
  REQUIRE(found.size() == 1);
  // All of it would have to come elsewhere, also what it still has here.
  REQUIRE(found[0].wantedBytes == 6 * kG);
}

}  // namespace rouse::executor
