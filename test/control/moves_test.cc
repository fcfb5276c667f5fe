// Functions moved by hand: who may, which are meant, and what comes of executors that refuse, die or say nothing.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/roused/move_functions.h"
#include "test/control/fake_mode.h"
#include "test/control/daemon_fixture.h"

using namespace rouse;
using namespace rouse::test;
using channel::Move;
using channel::MoveAction;
using channel::Moved;

namespace {

RunningDaemon::Options withStore(std::uint32_t gpus = 1) {
  return {.gpus = gpus, .change = [](daemon::Settings& settings) { settings.hostStore = std::uint64_t{64} << 20; }};
}

// A function of this name, on all GPUs that it asks for.
struct MovingFunction : test::Client {
  MovingFunction(RunningDaemon& daemon, const std::string& name, std::uint32_t gpus = 1) : test::Client(daemon.settings.socket) {
    const channel::Message answer = attach(daemon.prepare({.name = name, .gpus = gpus, .gpuMemory = 0}));
    if (const auto* error = std::get_if<rouse::Error>(&answer.body)) FAIL(error->message);
    id = std::get<channel::Attached>(answer.body).sessionId;
  }
  std::uint64_t id = 0;
};

Moved move(RunningDaemon& daemon, const std::string& function, MoveAction action) {
  test::Client tool(daemon.settings.socket);
  const channel::Message answer = tool.call(Move{function, action});
  if (const auto* error = std::get_if<rouse::Error>(&answer.body)) FAIL(error->message);
  return std::get<Moved>(answer.body);
}

using test::Environment;

}  // namespace

TEST_CASE("a function is meant by its session's number or its name, and all that bear it are") {
  RunningDaemon daemon(withStore(2));
  MovingFunction first(daemon, "model"), second(daemon, "model"), other(daemon, "other", 2);
  const Moved both = move(daemon, "model", MoveAction::pin);
  REQUIRE(both.results.size() == 2);
  for (const auto& result : both.results) {
    CHECK(result.status.ok());
    CHECK(result.name == "model");
    CHECK((result.sessionId == first.id || result.sessionId == second.id));
  }
  const Moved one = move(daemon, std::to_string(first.id), MoveAction::unpin);
  REQUIRE(one.results.size() == 1);
  CHECK(one.results[0].sessionId == first.id);
  const Moved wide = move(daemon, "other", MoveAction::unload);
  REQUIRE(wide.results.size() == 2);
  CHECK(wide.results[0].gpu != wide.results[1].gpu);

  const nlohmann::json functions = daemon.status()["functions"];
  for (const auto& function : functions) {
    const auto& gpu = function["gpus"][0];
    CHECK(gpu["home_bytes"] == 2048);
    CHECK(gpu["home_shared_bytes"] == 1024);
    CHECK(function["home_shared_bytes"] == 1024 * function["gpus"].size());
    CHECK(gpu["pinned"] == (function["session"] == second.id));
    CHECK(gpu["place"] == (function["session"] == other.id ? "home" : "resident"));
    CHECK(gpu["resting_bytes"] == (function["session"] == other.id ? 1024 : 0));
    CHECK(gpu["returned_bytes"] == 0);
    if (function["session"] == other.id) {
      CHECK(gpu["last_saved_bytes"] == 512);
      CHECK(gpu["last_departure_ns"] == 99);
    } else {
      CHECK(gpu["last_saved_bytes"].is_null());
      CHECK(gpu["last_departure_ns"].is_null());
    }
  }
}

TEST_CASE("a name that looks like a number is a name where no session has the number") {
  RunningDaemon daemon(withStore());
  MovingFunction function(daemon, "4711");
  CHECK(move(daemon, "4711", MoveAction::load).results.at(0).sessionId == function.id);
}

TEST_CASE("nothing is moved that is not there, and nothing at all without a host store") {
  RunningDaemon daemon(withStore());
  test::Client tool(daemon.settings.socket);
  for (const std::string name : {"nobody", "", "7", "18446744073709551616", "-1", "mod\x1b[31mel"}) {
    const std::string text = refusal(tool.call(Move{name, MoveAction::load}));
    CHECK_THAT(text, Catch::StartsWith("no function '") && Catch::Contains("is attached"));
    CHECK(text.find('\x1b') == std::string::npos);
  }
  RunningDaemon without;
  MovingFunction function(without, "model");
  test::Client other(without.settings.socket);
  CHECK_THAT(refusal(other.call(Move{"model", MoveAction::pin})), Catch::Contains("no host store (devices.host_store, --host-store)"));
}

TEST_CASE("each session answers for itself: refused, lost, or too late") {
  RunningDaemon daemon(withStore());
  MovingFunction busy(daemon, "busy");
  const Moved refused = move(daemon, "busy", MoveAction::unload);
  CHECK(refused.results.at(0).status.error().message == "it is busy");
  CHECK(refused.results.at(0).status.error().code == CudaError::notReady);

  MovingFunction last(daemon, "last");
  CHECK_THAT(move(daemon, "last", MoveAction::unload).results.at(0).status.error().message, Catch::Contains("GPU 0 was lost"));
  CHECK_THAT(move(daemon, "busy", MoveAction::unload).results.at(0).status.error().message, Catch::Contains("this GPU was lost"));

  const Environment environment("stuck");
  auto options = withStore();
  options.movePatience = 200ms;
  RunningDaemon stuck(options);
  MovingFunction function(stuck, "model");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(move(stuck, "model", MoveAction::load).results.at(0).status.error().message ==
        "its executor has not answered within 200 ms");
  CHECK(std::chrono::steady_clock::now() - begin >= 190ms);
  CHECK(stuck.status()["functions"].size() == 1);
}

TEST_CASE("a tool that leaves before its answer, and a daemon that stops before it, are nobody's trouble") {
  const Environment environment("stuck");
  auto options = withStore();
  RunningDaemon daemon(options);
  MovingFunction function(daemon, "model");
  {
    test::Client tool(daemon.settings.socket);
    REQUIRE(tool.channel.send(1, Move{"model", MoveAction::load}).ok());
    CHECK(daemon.status()["functions"].size() == 1);
  }
  test::Client tool(daemon.settings.socket);
  REQUIRE(tool.channel.send(1, Move{"model", MoveAction::load}).ok());
  CHECK(daemon.status()["functions"].size() == 1);
  const auto begin = std::chrono::steady_clock::now();
  daemon.stop();  // ends the executors, and with them the requests: it does not wait for their limit
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

// As root alone can one be somebody else.
TEST_CASE("who may: root, the daemon's user, and whose function it is") {
  if (::geteuid() != 0) {
    WARN("not root: other users' requests are not tested");
    return;
  }
  auto options = withStore();
  const auto change = options.change;
  options.change = [&](daemon::Settings& settings) {
    change(settings);
    settings.socketMode = 0666;
  };
  RunningDaemon daemon(options);
  fs::permissions(daemon.scratch.path(), fs::perms::all);
  fs::permissions(daemon.scratch.path() / "run", fs::perms::all);
  MovingFunction function(daemon, "model");
  // In a process of its own: credentials are the process's, and this one has threads.
  int report[2];
  REQUIRE(::pipe2(report, O_CLOEXEC) == 0);
  const auto asNobody = [&](const Move& request, bool attach) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      std::string text = "cannot become another user";
      if (::setgid(65534) == 0 && ::setuid(65534) == 0) {
        auto socket = channel::SyncChannel::connect(daemon.settings.socket);
        text = socket ? "" : socket.error().message;
        if (socket) {
          channel::SyncChannel channel(std::move(*socket));
          if (attach) {
            auto attachment = test::Client::attachment("", "/bin/own");
            (void)channel.send(1, attachment);
            auto answer = channel.receive(5000ms);
            if (answer && *answer) attach = std::holds_alternative<channel::Attached>((*answer)->body);
          }
          channel::SyncChannel tool(std::move(channel::SyncChannel::connect(daemon.settings.socket)).value());
          (void)tool.send(1, request);
          auto answer = tool.receive(5000ms);
          if (answer && *answer) {
            if (const auto* moved = std::get_if<Moved>(&(*answer)->body)) {
              for (const auto& result : moved->results) text += result.status.ok() ? "done;" : result.status.error().message + ";";
            } else if (const auto* error = std::get_if<rouse::Error>(&(*answer)->body)) {
              text = error->message;
            }
          }
        }
      }
      (void)!::write(report[1], text.data(), text.size());
      ::_exit(0);
    }
    char text[1024] = {};
    pollfd readable{report[0], POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 10000) == 1);
    const ssize_t got = ::read(report[0], text, sizeof text);
    ::waitpid(pid, nullptr, 0);
    return std::string(text, static_cast<std::size_t>(got));
  };
  CHECK(asNobody({"model", MoveAction::pin}, false) ==
        "it belongs to user 0: only that user, root and the daemon's own user (0) may ask this of it;");
  CHECK(daemon.status()["functions"][0]["gpus"][0]["pinned"] == false);
  CHECK(asNobody({"own", MoveAction::pin}, true) == "done;");
}
