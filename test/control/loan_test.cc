// Memory that the GPU which a function has left lends the one to which it has gone: as the daemon sees it, with executors that refuse, keep
// what they have, want it back, and die at any point of it.
#include "server/roused/loan.h"

#include "test/control/two_gpus.h"

using namespace rouse;
using namespace rouse::test;

namespace {

struct Peers {
  Environment mode{"peers"};
  TwoGpus daemon;

  std::uint32_t other(const AttachedFunction& function) { return static_cast<std::uint32_t>(1 - daemon.gpuOf(function.id)); }
  std::uint64_t lent() {
    std::uint64_t bytes = 0;
    const auto status = daemon.status();  // which a loop over what it has must not outlive
    for (const auto& gpu : status["gpus"]) bytes += gpu.value("lent_bytes", std::uint64_t{0});
    return bytes;
  }
  // Served by this GPU, and nothing of it left on the other.
  void settled(std::uint64_t gpu) {
    CHECK(daemon.sessionsAre(gpu == 0, gpu == 1));
    CHECK(lent() == 0);
  }
};

}  // namespace

TEST_CASE("where a GPU reads the other's memory fast it is lent what the function leaves there, piece by piece") {
  Peers peers;
  AttachedFunction function(peers.daemon, "model");
  for (int round = 0; round < 4; ++round) {
    const std::uint32_t gpu = peers.other(function);
    CHECK(peers.daemon.outcome("model", gpu) == "done");
    CHECK(peers.daemon.gpuOf(function.id) == gpu);
    CHECK(peers.daemon.deviceOf(function.id)["peer_bytes"] == 2 * 4096);
    CHECK(peers.daemon.deviceOf(function.id)["commands"] == 1);
    CHECK(function.load(round % 2 == 0 ? "xyz" : "abc") == (round % 2 == 0 ? "kernel_x" : "kernel_a"));
  }
  peers.settled(peers.daemon.gpuOf(function.id));
}

TEST_CASE("what is not lent, or not borrowed, is nobody's trouble") {
  Peers peers;
  for (const std::string step : {"share", "borrow"}) {
    INFO(step);
    AttachedFunction function(peers.daemon, step + "-refused");
    const std::uint32_t gpu = peers.other(function);
    CHECK(peers.daemon.outcome(step + "-refused", gpu) == "done");
    CHECK(peers.daemon.deviceOf(function.id)["peer_bytes"] == 0);
    peers.settled(gpu);
  }
}

TEST_CASE("who keeps what was lent is asked to stop after a while, and the function goes on meanwhile") {
  Peers peers;
  AttachedFunction function(peers.daemon, "keeps");
  const auto before = std::chrono::steady_clock::now();
  const std::uint32_t gpu = peers.other(function);
  CHECK(peers.daemon.outcome("keeps", gpu) == "done");
  CHECK(peers.daemon.deviceOf(function.id)["migrating"] == false);
  CHECK(function.load("abc") == "kernel_a");
  CHECK(peers.lent() == 2 * 4096);
  CHECK(std::chrono::steady_clock::now() - before < daemon::Loan::kAtMost);
  CHECK(eventually([&] { return peers.lent() == 0; }));
  CHECK(std::chrono::steady_clock::now() - before >= daemon::Loan::kAtMost);
  peers.settled(gpu);
}

TEST_CASE("who needs what it has lent gets it back at once") {
  Peers peers;
  AttachedFunction function(peers.daemon, "wanted");
  const auto before = std::chrono::steady_clock::now();
  const std::uint32_t gpu = peers.other(function);
  CHECK(peers.daemon.outcome("wanted", gpu) == "done");
  CHECK(eventually([&] { return peers.lent() == 0; }));
  CHECK(std::chrono::steady_clock::now() - before < daemon::Loan::kAtMost);
  peers.settled(gpu);
}

TEST_CASE("who goes on, or back, while something is lent to it does not wait") {
  Peers peers;
  AttachedFunction function(peers.daemon, "keeps");
  const auto before = std::chrono::steady_clock::now();
  for (int round = 0; round < 5; ++round) {
    const std::uint32_t gpu = peers.other(function);
    CHECK(peers.daemon.outcome("keeps", gpu) == "done");
    CHECK(peers.daemon.gpuOf(function.id) == gpu);
  }
  CHECK(std::chrono::steady_clock::now() - before < daemon::Loan::kAtMost);
  function.channel.shutdown();
}

TEST_CASE("the function ends while something is lent to it") {
  Peers peers;
  {
    AttachedFunction function(peers.daemon, "keeps");
    CHECK(peers.daemon.outcome("keeps", peers.other(function)) == "done");
    CHECK(peers.lent() == 2 * 4096);
  }
  const auto before = std::chrono::steady_clock::now();
  CHECK(peers.daemon.sessionsAre(0, 0));
  CHECK(std::chrono::steady_clock::now() - before < daemon::Loan::kAtMost / 2);
}

TEST_CASE("executors that die while one lends: before it is resumed as ever, afterwards the lender's death costs nothing") {
  const std::string name = GENERATE("share-dies", "borrow-dies", "lent-dies", "end-dies");
  INFO(name);
  Peers peers;
  AttachedFunction function(peers.daemon, name);
  const std::uint32_t here = static_cast<std::uint32_t>(peers.daemon.gpuOf(function.id)), there = 1 - here;
  const std::string outcome = peers.daemon.outcome(name, there);
  const auto serving = [&] {
    return eventually([&] {
      const auto gpus = peers.daemon.status()["gpus"];
      return gpus[0]["state"] == "serving" && gpus[1]["state"] == "serving";
    });
  };
  if (name == "lent-dies") {
    CHECK(outcome == "done");
    CHECK(serving());
    CHECK(function.state() == wire::DeviceState::serving);
    CHECK(peers.daemon.gpuOf(function.id) == there);
    CHECK(function.load("abc") == "kernel_a");
    peers.settled(there);
  } else if (name == "borrow-dies") {
    CHECK_THAT(outcome, Catch::Contains("GPU " + std::to_string(there) + " was lost"));
    CHECK(serving());
    CHECK(function.state() == wire::DeviceState::serving);
    CHECK(peers.daemon.gpuOf(function.id) == here);
    CHECK(function.load("abc") == "kernel_a");
    peers.settled(here);
  } else {
    CHECK(eventually([&] { return function.state() == wire::DeviceState::lost; }));
    CHECK(serving());
    CHECK(peers.daemon.sessionsAre(0, 0));
    CHECK(peers.lent() == 0);
  }
  AttachedFunction next(peers.daemon, "model");
  CHECK(peers.daemon.outcome("model", peers.other(next)) == "done");
}

TEST_CASE("the daemon stops while something is lent") {
  Peers peers;
  AttachedFunction function(peers.daemon, "keeps");
  CHECK(peers.daemon.outcome("keeps", peers.other(function)) == "done");
  const auto begin = std::chrono::steady_clock::now();
  peers.daemon.stop();
  CHECK(std::chrono::steady_clock::now() - begin < daemon::Loan::kAtMost);
}
