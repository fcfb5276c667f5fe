// Executors of isolated functions: who gets one, what they have of their GPU, and what ends with them.
#include <signal.h>

#include <set>

#include "test/control/fake_mode.h"
#include "test/control/two_gpus.h"

using namespace rouse;
using namespace rouse::test;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

struct Isolated : Client {
  Isolated(RunningDaemon& daemon, const std::string& name, std::uint64_t memory = 0) : Client(daemon.settings.socket) {
    channel::Message answer = attach(daemon.prepare({.name = name, .gpus = 1, .gpuMemory = memory, .isolated = true}));
    id = attached(answer).sessionId;
    segment.emplace(wire::SessionSegment::map(answer.fds.at(0).get(), wire::ForkedChild::without).value());
  }
  wire::DeviceState state() const { return segment->header().devices[0].state.load(); }
  std::uint64_t id = 0;
  std::optional<wire::SessionSegment> segment;
};

nlohmann::json executorOf(RunningDaemon& daemon, std::uint64_t session) {
  const nlohmann::json report = daemon.status();
  for (const auto& gpu : report["gpus"])
    for (const auto& executor : gpu["executors"])
      for (const auto& served : executor["sessions"])
        if (served == session) return executor;
  return nullptr;
}

bool readies(RunningDaemon& daemon, std::uint64_t isolated, std::uint64_t spares) {
  return eventually([&] {
    const auto gpu = daemon.status()["gpus"][0];
    return gpu["executors"].size() == 1 + isolated && gpu["spare_executors"] == spares && gpu["starting_executors"] == 0;
  });
}

RunningDaemon::Options with(std::uint32_t spares, std::uint64_t store = 64 * kMiB, std::uint64_t isolatedStore = 0) {
  return {.change = [=](daemon::Settings& settings) {
    settings.spares = spares;
    settings.hostStore = store;
    settings.isolatedStore = isolatedStore;
  }};
}

}  // namespace

TEST_CASE("executors are kept ready from the first isolated function on, and each function has one of its own") {
  RunningDaemon daemon(with(2));
  CHECK(readies(daemon, 0, 0));
  Function shared(daemon, "shared");
  CHECK(readies(daemon, 0, 0));
  std::optional<Isolated> first(std::in_place, daemon, "first"), second(std::in_place, daemon, "second");
  CHECK(readies(daemon, 2, 2));
  const auto one = executorOf(daemon, first->id), two = executorOf(daemon, second->id), other = executorOf(daemon, shared.id);
  CHECK(one["isolation"] == "isolated");
  CHECK(two["isolation"] == "isolated");
  CHECK(other["isolation"] == "shared");
  CHECK(std::set<int>{one["pid"].get<int>(), two["pid"].get<int>(), other["pid"].get<int>()}.size() == 3);
  CHECK(daemon.status()["functions"][0]["isolation"] == "shared");
  CHECK(daemon.status()["functions"][1]["isolation"] == "isolated");
  // Never used again.
  first.reset();
  CHECK(readies(daemon, 1, 2));
  CHECK(::kill(one["pid"], 0) != 0);
  Isolated third(daemon, "third");
  CHECK(executorOf(daemon, third.id)["number"] > two["number"]);
}

TEST_CASE("without spares one is started for who comes; where none starts the reason is told") {
  RunningDaemon daemon(with(0));
  {
    Isolated function(daemon, "alone");
    CHECK(readies(daemon, 1, 0));
  }
  CHECK(readies(daemon, 0, 0));
  std::optional<Environment> mode("no-isolated");
  Client client(daemon.settings.socket);
  CHECK_THAT(refusal(client.attach(daemon.prepare({.name = "f", .gpus = 1, .gpuMemory = 0, .isolated = true}))),
             Catch::Contains("no executor of its own could be started: GPU 0 (isolated executor"));
  mode.reset();
  Isolated again(daemon, "again");
}

TEST_CASE("what ends an isolated function's executor ends nobody else") {
  RunningDaemon daemon(with(1));
  Function shared(daemon, "shared");
  Isolated kept(daemon, "kept"), lost(daemon, "lost");
  CHECK(readies(daemon, 2, 1));
  REQUIRE(::kill(executorOf(daemon, lost.id)["pid"], SIGKILL) == 0);
  CHECK(eventually([&] { return lost.state() == wire::DeviceState::lost; }));
  CHECK(readies(daemon, 1, 1));
  CHECK(kept.state() == wire::DeviceState::serving);
  CHECK(shared.state() == wire::DeviceState::serving);
  CHECK(daemon.status()["gpus"][0]["restarts"] == 0);
  // And the other way round.
  REQUIRE(::kill(daemon.status()["gpus"][0]["executor_pid"], SIGKILL) == 0);
  CHECK(eventually([&] { return shared.state() == wire::DeviceState::lost; }));
  CHECK(eventually([&] { return daemon.status()["gpus"][0]["state"] == "serving"; }));
  CHECK(kept.state() == wire::DeviceState::serving);
}

TEST_CASE("memory changes hands, and is accounted for whoever dies") {
  RunningDaemon daemon(with(1, 256 * kMiB));
  const auto has = [&](std::uint64_t session, std::uint64_t bytes) {
    return eventually([&] {
      const auto executors = daemon.status()["gpus"][0]["executors"];
      std::uint64_t sum = 0, of = ~std::uint64_t{0};
      for (const auto& executor : executors) {
        sum += executor["memory_bytes"].get<std::uint64_t>();
        for (const auto& served : executor["sessions"])
          if (served == session) of = executor["memory_bytes"];
      }
      return sum == daemon.settings.memory && of == bytes;
    });
  };
  Isolated a(daemon, "promises");
  CHECK(has(a.id, 2 * kMiB));
  std::optional<Isolated> b(std::in_place, daemon, "promises");
  CHECK(has(b->id, 2 * kMiB));
  CHECK(daemon.status()["gpus"][0]["executors"][0]["memory_bytes"] == daemon.settings.memory - 4 * kMiB);
  b.reset();
  CHECK(eventually([&] { return daemon.status()["gpus"][0]["executors"][0]["memory_bytes"] == daemon.settings.memory - 2 * kMiB; }));
  // Who says that it gives back what it has not got is not believed.
  Isolated liar(daemon, "liar");
  CHECK(has(liar.id, 0));
  // The shared executor's successor is started without what others have.
  REQUIRE(::kill(daemon.status()["gpus"][0]["executor_pid"], SIGKILL) == 0);
  CHECK(eventually([&] { return daemon.status()["gpus"][0]["state"] == "serving"; }));
  CHECK(has(a.id, 2 * kMiB));
}

TEST_CASE("what an isolated function is promised the shared executor says, and the host store has to hold") {
  RunningDaemon daemon(with(1, 64 * kMiB, 4 * kMiB));
  Isolated greedy(daemon, "greedy");
  CHECK_THAT(greedy.cutOffReason(), Catch::Contains("more of an isolated function: 0 B of 4 MiB are given out (executors.host_store)"));
  RunningDaemon large(with(1, 64 * kMiB, 400 * kMiB));
  Isolated refused(large, "greedy");
  CHECK_THAT(refused.cutOffReason(), Catch::Contains("too much for a guest"));
}
