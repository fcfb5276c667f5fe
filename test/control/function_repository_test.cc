// Functions as Triton's models: what becomes of a load and an unload, whatever happens meanwhile.
#include "server/roused/function_repository.h"

#include "server/router/queue_gate.h"
#include "test/control/daemon_fixture.h"

using namespace rouse;
using namespace std::chrono_literals;
using daemon::FunctionRepository;
using functions::Supervisor;

namespace {

// Functions whose processes never answer: none of them becomes ready.
struct RepositoryWorld {
  test::Scratch scratch;
  boost::asio::io_context io;
  router::QueueGate gate{io};
  std::unique_ptr<Supervisor> supervisor;
  std::unique_ptr<FunctionRepository> repository;
  std::vector<std::string> brought;

  RepositoryWorld() {
    spdlog::set_level(spdlog::level::off);
    fs::permissions(scratch.path(), fs::perms::others_exec | fs::perms::group_exec, fs::perm_options::add);
    supervisor = std::make_unique<Supervisor>(io,
                                              functions::SupervisorOptions{.folder = scratch.path() / "functions.d",
                                                                           .runtimeFolder = scratch.path() / "run",
                                                                           .clientLibraries = "/lib/rouse",
                                                                           .daemonSocket = "/none",
                                                                           .cgroup = "",
                                                                           .users = {1879051100, 1879051200}},
                                              gate,
                                              Supervisor::Events{.openDoor = nullptr,
                                                                 .issueToken = [](const functions::FunctionSpec&, uid_t) { return std::string("token"); },
                                                                 .revokeToken = [](const std::string&) {},
                                                                 .restoreToken = nullptr,
                                                                 .onProcess =
                                                                     [this] {
                                                                       if (repository) repository->look();
                                                                     },
                                                                 .onReady = [](const functions::FunctionSpec&) {},
                                                                 .onProcessGone = [](const std::string&) {}});
    repository = std::make_unique<FunctionRepository>(io, *supervisor, [this](const std::string& function, std::function<void(Status)> done) {
      brought.push_back(function);
      done({});
    });
    scratch.write("functions.d/f.toml", "command = [\"/bin/sleep\", \"1000\"]\nstart_timeout = \"10m\"\nstop_timeout = \"1s\"\n");
    scratch.write("functions.d/broken.toml", "command = 1\n");
    supervisor->reload();
  }
  ~RepositoryWorld() {
    bool over = false;
    supervisor->stop(5s, [&] { over = true; });
    CHECK(until([&] { return over; }));
  }
  bool until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_for(5ms);
    }
    return condition();
  }
  struct Answer {
    int times = 0;
    Status status;
  };
  std::shared_ptr<Answer> ask(bool load, const std::string& function) {
    auto answer = std::make_shared<Answer>();
    const auto done = [answer](Status status) {
      ++answer->times;
      answer->status = std::move(status);
    };
    load ? repository->load(function, done) : repository->unload(function, done);
    return answer;
  }
  std::string stateOf(const std::string& name) const {
    for (const auto& model : repository->models())
      if (model.name == name) return std::string(model.state);
    return "";
  }
};

}  // namespace

TEST_CASE("a load waits for its function, and is told what became of it instead") {
  RepositoryWorld world;
  CHECK(world.stateOf("f") == "LOADING");
  CHECK(world.stateOf("broken") == "UNAVAILABLE");
  const auto load = world.ask(true, "f");
  world.io.run_for(200ms);
  CHECK((load->times == 0 && world.stateOf("f") == "LOADING"));
  SECTION("stopped by somebody else") {
    REQUIRE(world.supervisor->order("f", Supervisor::Order::stop).ok());
    REQUIRE(world.until([&] { return load->times == 1; }));
    CHECK(load->status.error().message == "it has been stopped meanwhile");
  }
  SECTION("ended by itself") {
    ::kill(world.supervisor->functions().at("f")->pid(), SIGKILL);
    REQUIRE(world.until([&] { return load->times == 1; }));
    CHECK_THAT(load->status.error().message, Catch::Contains("process") && Catch::Contains("signal"));
  }
  SECTION("removed") {
    fs::remove(world.scratch.path() / "functions.d/f.toml");
    world.supervisor->reload();
    REQUIRE(world.until([&] { return load->times == 1; }));
    CHECK(load->status.error().message == "it has been removed meanwhile");
  }
  SECTION("the daemon ends") {
    world.repository->close();
    CHECK(load->times == 1);
    CHECK(load->status.error().code == CudaError::devicesUnavailable);
    CHECK(world.ask(true, "f")->status.error().code == CudaError::devicesUnavailable);
  }
  world.io.restart();
  world.io.run_for(50ms);
  CHECK(load->times == 1);
  CHECK(world.brought.empty());
}

TEST_CASE("an unload is over when no process is left, and of what is unknown or broken nothing is done") {
  RepositoryWorld world;
  const pid_t pid = world.supervisor->functions().at("f")->pid();
  const auto unload = world.ask(false, "f");
  REQUIRE(world.until([&] { return unload->times == 1; }));
  CHECK(unload->status.ok());
  CHECK(::kill(pid, 0) != 0);
  CHECK(world.stateOf("f") == "UNAVAILABLE");
  CHECK(world.ask(true, "nobody")->status.error().message == "no function 'nobody' is configured");
  CHECK_THAT(world.ask(false, "broken")->status.error().message, Catch::Contains("broken.toml:1: command"));
  const auto again = world.ask(false, "f");
  REQUIRE(world.until([&] { return again->times == 1; }));
  CHECK(again->status.ok());
}
