// Functions taken from one GPU to another: what the daemon makes of executors that refuse, and that die at any point of it.
#include "server/roused/move_functions.h"
#include "test/control/two_gpus.h"

using namespace rouse;
using namespace rouse::test;

TEST_CASE("a function is served by another GPU, and only by that one") {
  TwoGpus daemon;
  AttachedFunction function(daemon, "model");
  REQUIRE(function.load("abc") == "kernel_a");
  const auto first = daemon.gpuOf(function.id);
  for (std::uint32_t gpu = static_cast<std::uint32_t>(1 - first), round = 0; round < 6; gpu = 1 - gpu, ++round) {
    const Moved moved = daemon.move("model", gpu);
    REQUIRE(moved.results.at(0).status.ok());
    CHECK(moved.results[0].gpu == gpu);
    CHECK(daemon.gpuOf(function.id) == gpu);
    CHECK(daemon.sessionsAre(gpu == 0, gpu == 1));
    CHECK(daemon.deviceOf(function.id)["commands"] == 1);  // it is the one that serves
    CHECK(function.state() == wire::DeviceState::serving);
    CHECK(daemon.outcome("model", gpu) == "done");  // it is there
    CHECK(function.load(round % 2 == 0 ? "xyz" : "abc") == (round % 2 == 0 ? "kernel_x" : "kernel_a"));
  }
  const auto status = daemon.status();
  CHECK(status["daemon"]["migrations"] == 6);
  CHECK(daemon.deviceOf(function.id)["migrations"] == 6);
}

TEST_CASE("what is refused leaves the function where it is, and nothing where it is not") {
  TwoGpus daemon;
  for (const std::string step : {"dormant", "module", "export", "import"}) {
    INFO(step);
    AttachedFunction function(daemon, step + "-refused");
    REQUIRE(function.load("abc") == "kernel_a");
    const auto here = daemon.gpuOf(function.id);
    CHECK_THAT(daemon.outcome(step + "-refused", static_cast<std::uint32_t>(1 - here)), Catch::Contains(step + " is refused"));
    CHECK(daemon.gpuOf(function.id) == here);
    CHECK(daemon.deviceOf(function.id)["commands"] == 1);
    CHECK(daemon.sessionsAre(here == 0, here == 1));
    CHECK(function.state() == wire::DeviceState::serving);
    CHECK(function.load("xyz") == "kernel_x");
  }
  CHECK(daemon.status()["daemon"]["migrations"] == 0);
}

TEST_CASE("a target that dies before it has taken the function leaves it where it is") {
  TwoGpus daemon;
  for (const std::string step : {"dormant", "module", "import"}) {
    INFO(step);
    AttachedFunction function(daemon, step + "-dies");
    REQUIRE(function.load("abc") == "kernel_a");
    const auto here = daemon.gpuOf(function.id);
    CHECK_THAT(daemon.outcome(step + "-dies", static_cast<std::uint32_t>(1 - here)),
               Catch::Contains("GPU " + std::to_string(1 - here) + " was lost"));
    CHECK(function.state() == wire::DeviceState::serving);
    CHECK(daemon.deviceOf(function.id)["commands"] == 1);
    CHECK(eventually([&] { return daemon.status()["gpus"][1 - here]["state"] == "serving"; }));
    CHECK(daemon.sessionsAre(here == 0, here == 1));
    CHECK(function.load("xyz") == "kernel_x");
  }
}

TEST_CASE("a function is lost with the executor that has it: the first one before, the second one after") {
  for (const std::string name : {"export-dies", "exported-dies", "resume-dies"}) {
    INFO(name);
    TwoGpus daemon;
    AttachedFunction function(daemon, name);
    const auto here = daemon.gpuOf(function.id);
    const std::string outcome = daemon.outcome(name, static_cast<std::uint32_t>(1 - here));
    CHECK_THAT(outcome, Catch::Contains("GPU " + std::to_string(name == "resume-dies" ? 1 - here : here) + " was lost"));
    CHECK(eventually([&] { return function.state() == wire::DeviceState::lost; }));
    CHECK(function.segment->header().devices[0].error.load() == static_cast<std::uint32_t>(CudaError::devicesUnavailable));
    CHECK(eventually([&] {
      const auto gpus = daemon.status()["gpus"];
      return gpus[0]["state"] == "serving" && gpus[1]["state"] == "serving";
    }));
    CHECK(daemon.sessionsAre(0, 0));
    // Neither has anything of it: a new one finds both as they should be.
    AttachedFunction next(daemon, "model");
    CHECK(daemon.outcome("model", static_cast<std::uint32_t>(1 - daemon.gpuOf(next.id))) == "done");
  }
}

TEST_CASE("a target that will not serve what it has taken: the function is told") {
  TwoGpus daemon;
  AttachedFunction function(daemon, "resume-refused");
  const auto here = daemon.gpuOf(function.id);
  CHECK(daemon.outcome("resume-refused", static_cast<std::uint32_t>(1 - here)) == "resume is refused");
  CHECK(eventually([&] { return function.state() == wire::DeviceState::lost; }));
}

TEST_CASE("the function's process ends in the middle: both executors forget it") {
  TwoGpus daemon;
  auto function = std::make_unique<AttachedFunction>(daemon, "held");
  auto held = std::make_unique<Environment>("holds");
  const auto here = daemon.gpuOf(function->id);
  test::Client tool(daemon.settings.socket);
  REQUIRE(tool.channel.send(1, Move{"held", MoveAction::migrate, static_cast<std::uint32_t>(1 - here)}).ok());
  CHECK(eventually([&] { return daemon.deviceOf(function->id)["migrating"] == true; }));
  CHECK_THAT(daemon.outcome("held", static_cast<std::uint32_t>(1 - here)), Catch::Contains("already"));
  function.reset();
  CHECK(eventually([&] { return daemon.status()["functions"].empty(); }));
  held.reset();
  auto answer = tool.channel.receive(5000ms);
  REQUIRE((answer.ok() && answer->has_value()));
  CHECK(std::get<Moved>((*answer)->body).results.at(0).status.error().message == "it has ended");
  CHECK(daemon.sessionsAre(0, 0));
  CHECK(daemon.status()["functions"].empty());
}

TEST_CASE("a module that is asked for in the middle is installed where the function is afterwards") {
  TwoGpus daemon;
  AttachedFunction function(daemon, "slow");
  const auto here = daemon.gpuOf(function.id);
  test::Client tool(daemon.settings.socket);
  REQUIRE(tool.channel.send(1, Move{"slow", MoveAction::migrate, static_cast<std::uint32_t>(1 - here)}).ok());
  CHECK(eventually([&] { return daemon.deviceOf(function.id)["migrating"] == true; }));
  CHECK(function.load("abc") == "kernel_a");
  CHECK(daemon.gpuOf(function.id) == 1 - here);
  auto answer = tool.channel.receive(5000ms);
  REQUIRE((answer.ok() && answer->has_value()));
}

TEST_CASE("the daemon stops in the middle, and nobody waits for anybody") {
  TwoGpus daemon;
  AttachedFunction function(daemon, "slow");
  const auto here = daemon.gpuOf(function.id);
  test::Client tool(daemon.settings.socket);
  REQUIRE(tool.channel.send(1, Move{"slow", MoveAction::migrate, static_cast<std::uint32_t>(1 - here)}).ok());
  CHECK(eventually([&] { return daemon.deviceOf(function.id)["migrating"] == true; }));
  const auto begin = std::chrono::steady_clock::now();
  daemon.stop();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("what cannot be: no such GPU, several GPUs, no host store") {
  TwoGpus daemon;
  AttachedFunction wide(daemon, "wide", 2);
  CHECK_THAT(daemon.move("wide", 0).results.at(0).status.error().message, Catch::Contains("only functions with one are taken to another"));
  test::Client tool(daemon.settings.socket);
  CHECK(refusal(tool.call(Move{"wide", MoveAction::migrate, 2})) == "there is no GPU 2: this pool has 2");
  RunningDaemon without({.gpus = 2});
  AttachedFunction function(without, "model");
  test::Client other(without.settings.socket);
  CHECK_THAT(refusal(other.call(Move{"model", MoveAction::migrate, 1})), Catch::Contains("no host store"));
}

TEST_CASE("who waits for room is taken to a GPU that has some, unless it is told not to") {
  {
    TwoGpus daemon;
    AttachedFunction function(daemon, "waits");
    CHECK(eventually([&] { return daemon.status()["daemon"]["migrations"] == 1; }));
    CHECK(eventually([&] { return daemon.deviceOf(function.id)["migrating"] == false; }));
    CHECK(daemon.deviceOf(function.id)["commands"] == 1);
    CHECK(daemon.status()["daemon"]["migrations"] == 1);
  }
  RunningDaemon still({.gpus = 2, .change = [](daemon::Settings& settings) {
                         settings.hostStore = std::uint64_t{64} << 20;
                         settings.rebalance = false;
                       }});
  AttachedFunction function(still, "waits");
  std::this_thread::sleep_for(100ms);
  CHECK(still.status()["daemon"]["migrations"] == 0);
}

TEST_CASE("nothing is left of functions that have moved: no descriptor, no address") {
  TwoGpus daemon;
  const auto before = openFds();
  for (int round = 0; round < 4; ++round) {
    AttachedFunction function(daemon, "model");
    const auto here = daemon.gpuOf(function.id);
    CHECK(daemon.outcome("model", static_cast<std::uint32_t>(1 - here)) == "done");
  }
  CHECK(daemon.sessionsAre(0, 0));
  CHECK(eventually([&] { return openFds() <= before; }));
}
