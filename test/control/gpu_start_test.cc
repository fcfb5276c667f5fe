// GPUs that do not open, or are being started again, and who waits for them.
#include <signal.h>

#include "memory/start_failure.h"
#include "server/roused/start_failure.h"
#include "test/control/daemon_fixture.h"
#include "test/control/fake_mode.h"

using namespace rouse;
using namespace rouse::test;

namespace {

// Returns when the daemon knows.
void killExecutor(RunningDaemon& daemon) {
  const auto before = daemon.status()["gpus"][0];
  REQUIRE(::kill(before["executor_pid"], SIGKILL) == 0);
  REQUIRE(eventually([&] {
    const auto now = daemon.status()["gpus"][0];
    return now["state"] == "lost" || now["restarts"] != before["restarts"];
  }));
}

RunningDaemon::Options patience(std::uint32_t seconds) {
  return {.change = [seconds](daemon::Settings& settings) { settings.attachWait = seconds; }};
}

}  // namespace

TEST_CASE("whoever attaches while a GPU is started again waits for it") {
  RunningDaemon daemon(patience(5));
  Client first(daemon.settings.socket), second(daemon.settings.socket);
  killExecutor(daemon);
  const auto attachment = Client::attachment();
  REQUIRE(first.channel.send(1, attachment).ok());
  REQUIRE(second.channel.send(1, attachment).ok());
  for (Client* client : {&first, &second}) {
    auto answer = client->channel.receive(5000ms);
    REQUIRE((answer.ok() && answer->has_value()));
    attached(**answer);
  }
  CHECK(daemon.status()["gpus"][0]["sessions"] == 2);
}

TEST_CASE("an attach under way when an executor dies is begun again with the next one") {
  std::optional<Environment> mode("deaf");
  RunningDaemon daemon({.waitUntilServing = false});
  Client client(daemon.settings.socket);
  REQUIRE(client.channel.send(1, Client::attachment()).ok());
  CHECK_FALSE(client.channel.receive(100ms).ok());
  mode.reset();
  REQUIRE(::kill(daemon.status()["gpus"][0]["executor_pid"], SIGKILL) == 0);
  auto answer = client.channel.receive(5000ms);
  REQUIRE((answer.ok() && answer->has_value()));
  attached(**answer);
  CHECK(daemon.status()["gpus"][0]["sessions"] == 1);
}

TEST_CASE("waiting for a GPU has an end") {
  using Clock = std::chrono::steady_clock;
  SECTION("the limit, which the message names") {
    RunningDaemon daemon(patience(1));
    const Environment silent("silent");
    killExecutor(daemon);
    Client client(daemon.settings.socket);
    const auto began = Clock::now();
    CHECK_THAT(refusal(client.attach()), Catch::Contains("0 of 1 are being served") &&
                                             Catch::Contains("within 1 s (functions.attach_wait)"));
    CHECK(Clock::now() - began >= 900ms);
  }
  SECTION("at once, where the limit is 0") {
    RunningDaemon daemon(patience(0));
    const Environment silent("silent");
    killExecutor(daemon);
    Client client(daemon.settings.socket);
    const auto began = Clock::now();
    CHECK_THAT(refusal(client.attach()), Catch::Contains("0 of 1 are being served"));
    CHECK(Clock::now() - began < 900ms);
  }
  SECTION("the daemon's own") {
    RunningDaemon daemon(patience(4000));
    const Environment silent("silent");
    killExecutor(daemon);
    Client client(daemon.settings.socket), gone(daemon.settings.socket);
    REQUIRE(client.channel.send(1, Client::attachment()).ok());
    REQUIRE(gone.channel.send(1, Client::attachment()).ok());
    gone.channel.shutdown();
    CHECK_FALSE(client.channel.receive(100ms).ok());
    const auto began = Clock::now();
    daemon.stop();
    CHECK(Clock::now() - began < 5s);
  }
}

TEST_CASE("an executor that opens no session") {
  const Environment refuse("refuse");
  RunningDaemon daemon;
  Client client(daemon.settings.socket);
  CHECK_THAT(refusal(client.attach()), Catch::Contains("the executor has no room"));
  CHECK(daemon.status()["functions"].empty());
}

TEST_CASE("a daemon with no GPU to serve stops, and leaves the reason beside its socket until one starts") {
  struct Case {
    const char* mode;
    int exitCode;
    const char* reason;
  };
  const Case wanted = GENERATE(Case{"dead", 16, "GPU 0: the executor exited with status 3"},
                               Case{"other-wire", 16, "GPU 0: speaks another wire than this daemon"},
                               Case{"refused", 13, "GPU 0 is taken"});
  Scratch scratch;
  const std::string socket = scratch.path() / "rouse.sock";
  const auto change = [&](daemon::Settings& settings) { settings.socket = socket; };
  {
    const Environment environment(wanted.mode);
    RunningDaemon daemon({.change = change, .waitUntilServing = false});
    daemon.thread.join();
    CHECK(daemon.daemon->exitCode() == wanted.exitCode);
    CHECK_FALSE(fs::exists(socket));
  }
  CHECK_THAT(daemon::readStartFailure(socket), Catch::StartsWith(wanted.reason));
  const RunningDaemon works({.change = change});
  CHECK(daemon::readStartFailure(socket) == "");
}

TEST_CASE("what is left beside a socket is read as one printable line, whoever left it") {
  Scratch scratch;
  const std::string socket = scratch.path() / "rouse.sock";
  CHECK(daemon::readStartFailure(socket) == "");
  daemon::leaveStartFailure(socket, "first\nsecond \x1b[31m" + std::string(5000, 'x'));
  const std::string left = daemon::readStartFailure(socket);
  CHECK_THAT(left, Catch::StartsWith("first?second ?[31mxxx"));
  CHECK(left.size() < 1024);
  scratch.write("rouse.sock.failed", "a\x07line\nand more");
  CHECK(daemon::readStartFailure(socket) == "a?line");
  fs::remove(socket + ".failed");
  fs::create_symlink("/etc/passwd", socket + ".failed");
  CHECK(daemon::readStartFailure(socket) == "");
  daemon::forgetStartFailure(socket);
  CHECK_FALSE(fs::is_symlink(socket + ".failed"));
}

TEST_CASE("each reason has its exit code") {
  using daemon::exitCodeOf;
  CHECK(exitCodeOf(memory::kNoDriver) == 10);
  CHECK(exitCodeOf(memory::kDriverTooOld) == 11);
  CHECK(exitCodeOf(memory::kNoGpu) == 12);
  CHECK(exitCodeOf(memory::kNoSuchGpu) == 12);
  CHECK(exitCodeOf(memory::kGpuTaken) == 13);
  CHECK(exitCodeOf(memory::kGpuFull) == 14);
  CHECK(exitCodeOf(memory::kNotPinned) == 15);
  CHECK(exitCodeOf(CudaError::systemNotReady) == 16);
}

TEST_CASE("a GPU that does not open beside one that does is reported with its reason, and tried again") {
  const Environment environment("second-refused");
  RunningDaemon daemon({.gpus = 2});
  const auto status = daemon.status();
  CHECK(status["gpus"][0]["state"] == "serving");
  CHECK_FALSE(status["gpus"][0].contains("problem"));
  CHECK(status["gpus"][1]["state"] == "lost");
  CHECK(status["gpus"][1]["problem"] == "GPU 1 is taken; give it back");
  CHECK(eventually([&] { return daemon.status()["gpus"][1]["restarts"] > 1; }));
}
