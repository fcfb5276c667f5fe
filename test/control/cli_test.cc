#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/control/daemon_fixture.h"

using namespace rouse;
using namespace rouse::test;

namespace {

// An installation whose executor is the fake one: bin/rouse, bin/roused, bin/rouse-executor, lib/rouse.
class Installation {
 public:
  Installation() {
    fs::create_directories(root() / "bin");
    fs::create_directories(root() / "run");
    fs::copy(ROUSE_PATH, root() / "bin/rouse");
    fs::copy(ROUSED_PATH, root() / "bin/roused");
    fs::copy(FAKE_EXECUTOR_PATH, root() / "bin/rouse-executor");
    scratch.write("lib/rouse/libcudart.so.13", "");
    fs::copy(ROUSE_REDIRECT_PATH, root() / "lib/rouse/librouse-redirect.so");
    scratch.write("lib/rouse-backends/librouse-device-cpu.so", "");  // the fake executor loads none
  }
  const fs::path& root() const { return scratch.path(); }
  std::string rouse() const { return root() / "bin/rouse"; }
  bool runFolderIsEmpty() const { return fs::is_empty(root() / "run"); }

  Scratch scratch;
};

struct Outcome {
  int exit = -1;
  std::string out, err;
};

struct Process {
  pid_t pid = -1;
  wire::OwnedFd out, err;
};

Process begin(const std::vector<std::string>& argv, const std::vector<std::string>& environment = {}) {
  int out[2], err[2];
  REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
  REQUIRE(::pipe2(err, O_CLOEXEC) == 0);
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    ::unsetenv("ROUSE_SOCKET");
    for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
    ::execv(pointers[0], pointers.data());
    ::_exit(99);
  }
  ::close(out[1]);
  ::close(err[1]);
  return {pid, wire::OwnedFd(out[0]), wire::OwnedFd(err[0])};
}

std::string readLine(int fd) {
  std::string line;
  char byte;
  while (::read(fd, &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

std::string readAll(int fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = ::read(fd, bytes, sizeof bytes)) > 0;) text.append(bytes, static_cast<std::size_t>(got));
  return text;
}

Outcome finish(Process process) {
  Outcome outcome;
  outcome.out = readAll(process.out.get());
  outcome.err = readAll(process.err.get());
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return outcome;
}

struct PrivateRuns {
  Installation installation;
  std::vector<std::string> environment(const std::string& fake = "") const {
    std::vector<std::string> result = {"XDG_RUNTIME_DIR=" + (installation.root() / "run").string()};
    if (!fake.empty()) result.push_back("FAKE_EXECUTOR=" + fake);
    return result;
  }
  Outcome run(std::vector<std::string> arguments, const std::string& fake = "",
              const std::vector<std::string>& more = {}) const {
    arguments.insert(arguments.begin(), {installation.rouse(), "run"});
    std::vector<std::string> variables = environment(fake);
    variables.insert(variables.end(), more.begin(), more.end());
    return finish(begin(arguments, variables));
  }
};

}  // namespace

TEST_CASE("rouse run ends as the program does") {
  PrivateRuns runs;
  CHECK(runs.run({"--device", "cpu", "--", "/bin/sh", "-c", "exit 7"}).exit == 7);
  CHECK(runs.run({"--device", "cpu", "/bin/sh", "-c", "exit 8"}).exit == 8);
  CHECK(runs.run({"--private", "--", "/bin/sh", "-c", "kill -9 $$"}).exit == 128 + 9);
  const Outcome missing = runs.run({"--private", "--", "no-such-program"});
  CHECK(missing.exit == 127);
  CHECK_THAT(missing.err, Catch::Contains("no-such-program"));
  CHECK(runs.run({"--private", "--", "/etc/passwd"}).exit == 126);
  const Outcome output = runs.run({"--private", "--", "/bin/echo", "--gpus", "x"});
  CHECK(output.out == "--gpus x\n");
  CHECK(output.err == "");
  CHECK(runs.installation.runFolderIsEmpty());
}

TEST_CASE("of a program that carries a runtime of its own, it is said that it does not come to the pool") {
  PrivateRuns runs;
  CHECK_THAT(runs.run({"--private", "--", DOCTOR_PROGRAMS "/static"}).err, Catch::Contains("The CUDA runtime is linked into it"));
  CHECK_THAT(runs.run({"--private", "--", DOCTOR_PROGRAMS "/shared"}).err, !Catch::Contains("linked into it"));
}

TEST_CASE("the program finds its pool, and nothing of it is left afterwards") {
  PrivateRuns runs;
  const std::string script =
      "echo $ROUSE_SOCKET; echo $ROUSE_TOKEN; echo $LD_LIBRARY_PATH; echo $LD_AUDIT; echo $GLIBC_TUNABLES; " + runs.installation.rouse() + " status --json";
  auto environment = runs.environment();
  environment.push_back("LD_LIBRARY_PATH=/before");
  environment.push_back("GLIBC_TUNABLES=glibc.malloc.check=0");
  const Outcome outcome = finish(begin({runs.installation.rouse(), "run", "--device", "cpu", "--gpus", "2",
                                        "--gpu-memory", "256MiB", "--", "/bin/sh", "-c", script},
                                       environment));
  REQUIRE(outcome.exit == 0);
  std::istringstream lines(outcome.out);
  std::string socket, token, path, auditors, tunables;
  std::getline(lines, socket);
  std::getline(lines, token);
  std::getline(lines, path);
  std::getline(lines, auditors);
  std::getline(lines, tunables);
  CHECK_THAT(socket, Catch::StartsWith((runs.installation.root() / "run").string()));
  CHECK(token.size() == 32);
  CHECK(path == (runs.installation.root() / "lib/rouse").string() + ":/before");
  CHECK(auditors == (runs.installation.root() / "lib/rouse/librouse-redirect.so").string());
  CHECK(tunables == "glibc.rtld.optional_static_tls=16384:glibc.malloc.check=0");
  const auto status = nlohmann::json::parse(lines);
  REQUIRE(status["gpus"].size() == 2);
  CHECK(status["gpus"][0]["memory_total_bytes"] == 256 << 20);
  for (const auto& gpu : status["gpus"]) CHECK(::kill(gpu["executor_pid"].get<pid_t>(), 0) == -1);
  CHECK(::kill(status["daemon"]["pid"].get<pid_t>(), 0) == -1);
  CHECK_FALSE(fs::exists(socket));
  CHECK(runs.installation.runFolderIsEmpty());
}

TEST_CASE("signals sent to rouse reach the program") {
  PrivateRuns runs;
  Process process = begin({runs.installation.rouse(), "run", "--private", "--", "/bin/sh", "-c",
                           "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done"},
                          runs.environment());
  REQUIRE(readLine(process.out.get()) == "ready");
  REQUIRE(::kill(process.pid, SIGTERM) == 0);
  const Outcome outcome = finish(std::move(process));
  CHECK(outcome.out == "caught\n");
  CHECK(outcome.exit == 3);
  CHECK(runs.installation.runFolderIsEmpty());
}

TEST_CASE("when rouse is killed, its daemon and the program end") {
  PrivateRuns runs;
  Process process = begin({runs.installation.rouse(), "run", "--private", "--", "/bin/sh", "-c",
                           runs.installation.rouse() + " status --json | tr -d '\\n'; echo; echo $$; exec sleep 100"},
                          runs.environment());
  const auto status = nlohmann::json::parse(readLine(process.out.get()));
  const pid_t program = std::stoi(readLine(process.out.get()));
  const pid_t daemon = status["daemon"]["pid"], executor = status["gpus"][0]["executor_pid"];
  // Its orphans become ours, to be seen ending.
  REQUIRE(::prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  REQUIRE(::kill(process.pid, SIGKILL) == 0);
  REQUIRE(::waitpid(process.pid, nullptr, 0) == process.pid);
  CHECK(eventually([&] {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return ::kill(program, 0) == -1 && ::kill(daemon, 0) == -1 && ::kill(executor, 0) == -1;
  }));
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_CASE("rouse's own failures are 125 and say why") {
  PrivateRuns runs;
  const Outcome dead = runs.run({"--private", "--", "/bin/true"}, "dead");
  CHECK(dead.exit == 125);
  CHECK(dead.err == "rouse: no private daemon: GPU 0: the executor exited with status 3\n");
  const Outcome refused = runs.run({"--private", "--", "/bin/true"}, "refused");
  CHECK(refused.exit == 125);
  CHECK(refused.err == "rouse: no private daemon: GPU 0 is taken; give it back\n");
  const Outcome aborted = runs.run({"--private", "--", "/bin/true"}, "aborts");
  CHECK(aborted.exit == 125);
  CHECK_THAT(aborted.err, Catch::StartsWith("first line\nlibrary: "));  // passed on as it is
  CHECK_THAT(aborted.err,
             Catch::EndsWith("rouse: no private daemon: GPU 0: the executor was killed by signal 6 (Aborted): "
                             "library: ?[31massertion failed\n"));
  fs::remove(runs.installation.root() / "lib/rouse-backends/librouse-device-cpu.so");
  const std::string backends = runs.installation.root() / "lib/rouse-backends";
  const std::string noSubstitute = "; and this installation has no CPU device to use instead: " + backends +
                                   "/librouse-device-cpu.so is not there (package rouse-device-cpu, or daemon.backends)\n";
  const Outcome neither = runs.run({"--private", "--", "/bin/true"});
  CHECK(neither.exit == 125);
  CHECK(neither.err ==
        "rouse: no private daemon: no GPU: " + backends + "/librouse-device-cuda.so is not there (package rouse-server, or daemon.backends)" + noSubstitute);
  runs.installation.scratch.write("lib/rouse-backends/librouse-device-cuda.so", "");
  const Outcome driverless = runs.run({"--private", "--", "/bin/true"}, "refused", {"ROUSE_LIBCUDA=/nonexistent"});
  CHECK(driverless.exit == 125);
  CHECK(driverless.err ==
        "rouse: no private daemon: GPU 0 is taken; give it back" + noSubstitute);
  fs::remove(runs.installation.root() / "lib/rouse-backends/librouse-device-cuda.so");
  runs.installation.scratch.write("lib/rouse-backends/librouse-device-cpu.so", "");
  const Outcome unreachable = runs.run({"--socket", "/nonexistent/rouse.sock", "--", "/bin/true"});
  CHECK(unreachable.exit == 125);
  CHECK_THAT(unreachable.err, Catch::Contains("/nonexistent/rouse.sock"));
  fs::remove(runs.installation.root() / "lib/rouse/libcudart.so.13");
  const Outcome noLibrary = runs.run({"--private", "--", "/bin/true"});
  CHECK(noLibrary.exit == 125);
  CHECK_THAT(noLibrary.err, Catch::Contains("lib/rouse/libcudart.so.13"));
  CHECK(runs.installation.runFolderIsEmpty());
}

TEST_CASE("with a running daemon rouse becomes the program, under the name it prepared") {
  Scratch libraries;
  libraries.write("libcudart.so.13", "");
  RunningDaemon daemon(
      {.gpus = 2, .change = [&](daemon::Settings& settings) { settings.clientLibraries = libraries.path(); }});
  Process process = begin({ROUSE_PATH, "run", "--socket", daemon.settings.socket, "--gpus", "2", "--name", "model",
                           "--", "/bin/sh", "-c", "echo $$ $ROUSE_TOKEN"});
  const pid_t pid = process.pid;
  const Outcome outcome = finish(std::move(process));
  REQUIRE(outcome.exit == 0);
  std::istringstream words(outcome.out);
  pid_t program = 0;
  std::string token;
  words >> program >> token;
  CHECK(program == pid);
  Client client(daemon.settings.socket);
  const channel::Message answer = client.attach(token);
  CHECK(std::get<channel::Attached>(answer.body).devices.size() == 2);

  const Outcome ps = finish(begin({ROUSE_PATH, "ps", "--socket", daemon.settings.socket}));
  CHECK(ps.exit == 0);
  CHECK_THAT(ps.out, Catch::Contains("model") && Catch::StartsWith("SESSION"));
  const Outcome json = finish(begin({ROUSE_PATH, "ps", "--json"}, {"ROUSE_SOCKET=" + daemon.settings.socket}));
  CHECK(nlohmann::json::parse(json.out)["functions"].at(0)["name"] == "model");
  CHECK_THAT(ps.out, Catch::Contains("GPU 0 resident, GPU 1 resident") || Catch::Contains("GPU 1 resident, GPU 0 resident"));
  const Outcome status = finish(begin({ROUSE_PATH, "status", "--socket", daemon.settings.socket}));
  CHECK_THAT(status.out, Catch::Contains("fake GPU") && Catch::Contains("1 functions"));

  auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
  session->header().unsupportedCalls[2].store(5);
  const Outcome unsupported =
      finish(begin({ROUSE_PATH, "status", "--unsupported", "--socket", daemon.settings.socket}));
  CHECK_THAT(unsupported.out, Catch::Contains("5      cudaGamma"));

  const Outcome tooMany =
      finish(begin({ROUSE_PATH, "run", "--socket", daemon.settings.socket, "--gpus", "3", "--", "/bin/true"}));
  CHECK(tooMany.exit == 125);
  CHECK_THAT(tooMany.err, Catch::Contains("this pool has 2"));
}

TEST_CASE("load, unload, pin and unpin say what is so afterwards, and end with 1 if something is not") {
  RunningDaemon daemon({.change = [](daemon::Settings& settings) { settings.hostStore = std::uint64_t{64} << 20; }});
  const auto attach = [&](const std::string& name) {
    auto client = std::make_unique<Client>(daemon.settings.socket);
    const channel::Message answer = client->attach(daemon.prepare({.name = name, .gpus = 1, .gpuMemory = 0}));
    REQUIRE(std::holds_alternative<channel::Attached>(answer.body));
    return client;
  };
  const auto rouse = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all{ROUSE_PATH};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return finish(begin(all, {"ROUSE_SOCKET=" + daemon.settings.socket}));
  };
  const auto first = attach("model"), busy = attach("busy");
  const Outcome pinned = rouse({"pin", "model"});
  CHECK(pinned.exit == 0);
  CHECK(pinned.out == "session 1 (model), GPU 0: pinned\n");
  CHECK(pinned.err == "");
  CHECK_THAT(rouse({"ps"}).out, Catch::Contains("GPU 0 resident pinned"));
  CHECK(rouse({"unpin", "1"}).out == "session 1 (model), GPU 0: not pinned\n");
  CHECK(rouse({"unload", "1", "--socket", daemon.settings.socket}).out == "session 1 (model), GPU 0: at home\n");
  CHECK_THAT(rouse({"ps"}).out, Catch::Contains("GPU 0 home") && Catch::Contains("512 B"));
  CHECK(rouse({"load", "model"}).out == "session 1 (model), GPU 0: resident\n");

  CHECK(rouse({"migrate", "model", "0"}).out == "session 1 (model), GPU 0: served there\n");  // it is there
  CHECK_THAT(rouse({"migrate", "model", "1"}).err, Catch::Contains("there is no GPU 1: this pool has 1"));
  CHECK(rouse({"migrate", "model"}).exit == 2);
  CHECK(rouse({"migrate", "model", "-1"}).exit == 2);

  const Outcome refused = rouse({"unload", "busy"});
  CHECK(refused.exit == 1);
  CHECK(refused.out == "");
  CHECK(refused.err == "rouse: session 2 (busy), GPU 0: it is busy\n");
  const auto second = attach("model"), third = attach("busy");
  const Outcome both = rouse({"unload", "model"});
  CHECK(both.exit == 0);
  CHECK_THAT(both.out, Catch::EndsWith("2 of 2 sessions named 'model' at home\n"));
  const Outcome neither = rouse({"unload", "busy"});
  CHECK(neither.exit == 1);
  CHECK(neither.out == "0 of 2 sessions named 'busy' at home\n");

  const Outcome nobody = rouse({"pin", "nobody"});
  CHECK(nobody.exit == 1);
  CHECK_THAT(nobody.err, Catch::StartsWith("rouse: no function 'nobody' is attached"));
  CHECK(rouse({"pin"}).exit == 2);
  CHECK(rouse({"pin", "a", "b"}).exit == 2);
  CHECK(finish(begin({ROUSE_PATH, "load", "model"}, {"ROUSE_SOCKET=/nonexistent"})).exit == 3);
}

TEST_CASE("exit codes of usage and of an absent daemon") {
  CHECK(finish(begin({ROUSE_PATH})).exit == 2);
  CHECK(finish(begin({ROUSE_PATH, "run"})).exit == 2);
  CHECK(finish(begin({ROUSE_PATH, "run", "--gpus", "17", "--", "x"})).exit == 2);
  CHECK(finish(begin({ROUSE_PATH, "run", "--gpu-memory", "lots", "--", "x"})).exit == 2);
  CHECK(finish(begin({ROUSE_PATH, "run", "--private", "--socket", "s", "--", "x"})).exit == 2);
  CHECK(finish(begin({ROUSE_PATH, "status", "--socket", "/nonexistent"})).exit == 3);
  CHECK(finish(begin({ROUSE_PATH, "ps"}, {"ROUSE_SOCKET=/nonexistent"})).exit == 3);
  const Outcome unknown = finish(begin({ROUSE_PATH, "staus"}));
  CHECK(unknown.exit == 2);
  CHECK_THAT(unknown.err, Catch::StartsWith("rouse: there is no command 'staus'"));
  CHECK(finish(begin({ROUSE_PATH, "explain", "", "--socket", "/nonexistent"})).exit == 2);
  const Outcome nowhere = finish(begin({ROUSE_PATH, "run", "--private", "--device", "cpu", "--", "x"}, {"TMPDIR=/nonexistent", "XDG_RUNTIME_DIR="}));
  CHECK(nowhere.exit == 125);
  CHECK_THAT(nowhere.err, Catch::Contains("no folder for a private daemon: /nonexistent: No such file or directory"));
  // A flag that is empty says so, and is not as if it were not there.
  for (const char* flag : {"--gpus", "--device", "--socket"}) {
    INFO(flag);
    CHECK(finish(begin({ROUSED_PATH, "--no-config", flag, ""})).exit == 2);
  }
  const Outcome version = finish(begin({ROUSE_PATH, "--version"}));
  CHECK(version.exit == 0);
  CHECK_THAT(version.out, Catch::StartsWith("rouse "));
  CHECK(finish(begin({ROUSED_PATH, "--colour"})).exit == 2);
}

TEST_CASE("a guard whose daemon has ended before it looks for it does not wait for another process") {
  Scratch scratch;
  // Our parent is not theirs: as if the daemon had gone, and left the guard to the first process.
  const Outcome guard = finish(begin({ROUSED_PATH, "--guard", scratch.path() / "none.state", "--guard-ms", "100", "--guard-of", "1"}));
  CHECK(guard.exit == 0);
}

TEST_CASE("config check names file, line and key; the shipped example is right, and every key is in it") {
  Scratch scratch;
  const std::string bad = scratch.write("rouse.toml", "[devices]\nmemory = \"much\"\nlinks = 1\n");
  const Outcome wrong = finish(begin({ROUSE_PATH, "config", "check", "--config", bad}));
  CHECK(wrong.exit == 4);
  CHECK_THAT(wrong.err,
             Catch::Contains(bad + ":2: devices.memory: ") && Catch::Contains(bad + ":3: unknown key 'devices.links'"));
  scratch.write("functions.d/f.toml", "command = [\"x\"]\n");
  CHECK_THAT(finish(begin({ROUSE_PATH, "config", "check", "--config", bad})).err, Catch::Contains("links'") && Catch::Contains("functions.d/f.toml:1: command: 'x' is not an absolute path"));
  const Outcome daemon = finish(begin({ROUSED_PATH, "--config", bad}));
  CHECK(daemon.exit == 2);
  CHECK_THAT(daemon.err, Catch::Contains(bad + ":2: "));

  const Outcome example = finish(begin({ROUSE_PATH, "config", "check", "--config", EXAMPLE_CONFIG}));
  CHECK(example.exit == 0);
  CHECK(example.out == std::string(EXAMPLE_CONFIG) + "\n");
  // Every key with its default, commented out: with the marks taken away it must still be right, and complete.
  std::ifstream file(EXAMPLE_CONFIG);
  std::string live, line;
  std::size_t keys = 0;
  while (std::getline(file, line)) {
    const bool setting =
        line.starts_with("# ") && line.find(" = ") != std::string::npos && line.find(" = ") == line.find(' ', 2);
    keys += setting ? 1 : 0;
    live += (setting ? line.substr(2) : line) + "\n";
  }
  CHECK(keys == daemon::settingKeys().size());
  const std::string all = scratch.write("all/rouse.toml", live);
  auto read = daemon::readConfig({.file = all, .required = true, .environment = nullptr, .flags = {}});
  if (const auto* errors = std::get_if<daemon::ConfigErrors>(&read)) FAIL(errors->messages.at(0));
  CHECK(std::get<daemon::Settings>(read) == daemon::Settings{});
}

TEST_CASE("roused's manual page has every flag in its synopsis and by itself, and every variable") {
  std::stringstream read;
  read << std::ifstream(std::string(MANUAL_PAGES) + "/roused.8").rdbuf();
  std::string page = read.str();
  for (std::size_t at = 0; (at = page.find("\\-", at)) != std::string::npos;) page.replace(at, 2, "-");
  const std::size_t description = page.find(".SH DESCRIPTION");
  REQUIRE(description != std::string::npos);
  const std::string help = finish(begin({ROUSED_PATH, "--help"})).out;
  std::size_t flags = 0;
  for (std::size_t at = 0; (at = help.find("\n  --", at)) != std::string::npos; ++flags) {
    at += 3;
    const std::string flag = help.substr(at, help.find_first_of(" \n", at) - at);
    if (flag == "--version") continue;
    INFO(flag);
    CHECK(page.substr(0, description).find(flag) != std::string::npos);
    const std::string rest = page.substr(description);
    CHECK((rest.find("\n.BI " + flag + " ") != std::string::npos || rest.find("\n.B " + flag + "\n") != std::string::npos));
  }
  CHECK(flags >= 17);
  for (const daemon::SettingKey& key : daemon::settingKeys()) {
    if (key.environment == nullptr) continue;
    INFO(key.environment);
    CHECK(page.find(std::string(" ") + key.environment + " ", page.find(".SH ENVIRONMENT")) != std::string::npos);
  }
}

TEST_CASE("a daemon on its own: ready for systemd, gone without a trace") {
  Installation installation;
  const std::string socket = installation.root() / "run/rouse.sock";
  const std::string notify = installation.root() / "notify";
  const wire::OwnedFd service(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, notify.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(service.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  Process process = begin({installation.root() / "bin/roused", "--no-config", "--device", "cpu", "--socket", socket,
                           "--log-level", "error"},
                          {"NOTIFY_SOCKET=" + notify, "WATCHDOG_USEC=2000000"});
  std::string told;
  const auto next = [&] {
    char text[256] = {};
    pollfd readable{service.get(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 5000) == 1);
    const ssize_t got = ::recv(service.get(), text, sizeof text, 0);
    told += std::string(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))) + "\n";
  };
  while (told.find("READY=1") == std::string::npos) next();
  CHECK(finish(begin({ROUSE_PATH, "status", "--socket", socket})).exit == 0);
  while (told.find("STATUS=1 of 1 GPUs (cpu)") == std::string::npos || told.find("WATCHDOG=1") == std::string::npos)
    next();
  REQUIRE(::kill(process.pid, SIGTERM) == 0);
  const Outcome outcome = finish(std::move(process));
  CHECK(outcome.exit == 0);
  CHECK(outcome.err == "");
  CHECK_FALSE(fs::exists(socket));
}

TEST_CASE("a daemon offers the pool to containers while it serves") {
  Scratch folder;
  const fs::path file = folder.path() / "cdi/rouse.json";
  const auto spec = [&] {
    std::ifstream stream(file);
    return nlohmann::json::parse(stream, nullptr, false);
  };
  {
    RunningDaemon daemon({.change = [&](daemon::Settings& settings) { settings.cdi = file; }});
    REQUIRE(fs::exists(file));
    const auto edits = spec()["devices"][0]["containerEdits"];
    CHECK(edits["env"].back() == "ROUSE_SOCKET=" + daemon.settings.socket);
    // The same by hand, of what the daemon says.
    const Outcome printed = finish(begin({ROUSE_PATH, "cdi", "generate", "--socket", daemon.settings.socket}));
    CHECK(printed.exit == 0);
    CHECK(nlohmann::json::parse(printed.out) == spec());
    const fs::path other = folder.path() / "by-hand.json";
    CHECK(finish(begin({ROUSE_PATH, "cdi", "generate", "--output", other, "--socket", daemon.settings.socket})).exit == 0);
    CHECK(fs::exists(other));
  }
  CHECK_FALSE(fs::exists(file));
  const Outcome refused = finish(begin({ROUSE_PATH, "cdi", "generate", "--socket", "/tmp/rouse.sock"}));
  CHECK(refused.exit == 1);
  CHECK_THAT(refused.err, Catch::Contains("daemon.socket"));
}

TEST_CASE("doctor asks the daemon what its pool has: code without PTX is a problem on the CPU device") {
  RunningDaemon daemon;
  const std::string program = std::string(DOCTOR_PROGRAMS) + "/no-ptx";
  const Outcome there = finish(begin({ROUSE_PATH, "doctor", "--socket", daemon.settings.socket, program}));
  CHECK(there.exit == 4);
  CHECK_THAT(there.out, Catch::Contains("cannot use the pool as it is") && Catch::Contains("no PTX"));
  const Outcome unknown = finish(begin({ROUSE_PATH, "doctor", "--json", program}, {"HOME=/nonexistent"}));
  CHECK(unknown.exit == 0);
  CHECK(nlohmann::json::parse(unknown.out)["files"][0]["verdict"] == "partly");
  const Outcome nobody = finish(begin({ROUSE_PATH, "doctor", "--socket", "/nonexistent/rouse.sock", program}));
  CHECK(nobody.exit == 3);
}
