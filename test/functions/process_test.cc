// Real processes: users, devices, limits, output, ends. What takes root is said to be left out where there is none.
#include "server/functions/process.h"

#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/functions/cgroup.h"
#include "server/functions/supervisor.h"
#include "server/router/queue_gate.h"

using namespace rouse;
using namespace rouse::functions;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/rouse-process-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    ::chmod(name, 0755);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

std::string text(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Runs a shell script to its end, and returns what it printed.
std::string run(ProcessPlan plan, const std::string& script, std::vector<std::string>* notApplied = nullptr) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  wire::OwnedFd reading(ends[0]), writing(ends[1]);
  plan.argv = {"/bin/sh", "-c", script};
  plan.environment.push_back("PATH=/usr/bin:/bin");
  plan.output = writing.get();
  if (plan.directory.empty()) plan.directory = "/";
  auto process = startProcess(plan);
  INFO((process ? "" : process.error().message));
  REQUIRE(process.ok());
  if (notApplied != nullptr) *notApplied = process->notApplied;
  writing.reset();
  std::string printed;
  char piece[4096];
  for (ssize_t got; (got = ::read(reading.get(), piece, sizeof piece)) > 0;)
    printed.append(piece, static_cast<std::size_t>(got));
  ::waitpid(process->pid, nullptr, 0);
  return printed;
}

bool root() {
  if (::geteuid() == 0) return true;
  WARN("not root: not tested here");
  return false;
}

}  // namespace

TEST_CASE("a process has what it was given, and nothing else of the daemon's") {
  const Folder folder;
  ::setenv("SECRET", "x", 1);
  ProcessPlan plan;
  plan.environment = {"A=b"};
  plan.directory = folder.path;
  const std::string printed = run(plan,
                                  "pwd; echo $A; echo secret: $SECRET; ls /proc/self/fd | wc -l; ps -o pid=,sid= -p $$ "
                                  "2>/dev/null | awk '{print $1 == $2}'");
  CHECK_THAT(printed, Catch::StartsWith(folder.path.string() + "\nb\nsecret:\n4\n"));
}

TEST_CASE("programs that cannot be started are told at once, with the step and why") {
  ProcessPlan plan;
  plan.output = STDERR_FILENO;
  plan.argv = {"/no/such/program"};
  plan.directory = "/";
  auto none = startProcess(plan);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message == "starting its program: No such file or directory (/no/such/program)");
  plan.argv = {"/bin/true"};
  plan.directory = "/no/such/folder";
  auto nowhere = startProcess(plan);
  REQUIRE_FALSE(nowhere.ok());
  CHECK(nowhere.error().message == "entering its directory: No such file or directory (/no/such/folder)");
}

TEST_CASE("limits that need no control group") {
  ProcessPlan plan;
  plan.dataLimit = 64 << 20;
  CHECK(run(plan, "ulimit -d; ulimit -c") == "65536\n0\n");
}

TEST_CASE("as its own user, without devices, and without a way back") {
  if (!root()) return;
  const Folder folder;
  ProcessPlan plan;
  plan.user = User{1879050000, 1879050000};
  plan.ownUser = true;
  plan.processLimit = 20;
  fs::create_directory(folder.path / "dev");
  plan.deviceFolder = folder.path / "dev";
  std::vector<std::string> notApplied;
  const std::string printed =
      run(plan,
          "id -u; id -g; id -G; ls /dev; ls -ld /dev/null | cut -c1-10; echo ok > /dev/null && echo wrote; "
          "head -c 4 /dev/urandom | wc -c; echo x > /dev/shm/x && echo shm; touch /dev/y 2>/dev/null || echo no; "
          "grep NoNewPrivs /proc/self/status; ulimit -u 2>/dev/null || true",
          &notApplied);
  for (const std::string& what : notApplied) WARN(what);
  if (notApplied.empty())
    CHECK_THAT(printed, Catch::StartsWith("1879050000\n1879050000\n1879050000\nfull\nnull\nrandom\nshm\ntty\nurandom\nz"
                                          "ero\ncrw-rw-rw-\nwrote\n4\nshm\nno\nNoNewPrivs:\t1\n"));
  CHECK(fs::is_empty(folder.path / "dev"));  // it was theirs alone
  CHECK(fs::exists("/dev/full"));
}

TEST_CASE("processes that left their session end with the rest of their user's") {
  if (!root()) return;
  const Folder folder;
  fs::permissions(folder.path, fs::perms::all);
  ProcessPlan plan;
  plan.user = User{1879050001, 1879050001};
  const std::string mark = folder.path / "pid";
  run(plan, "setsid sh -c 'echo $$ > " + mark + "; exec >/dev/null 2>&1; sleep 1000' & sleep 0.3");
  const pid_t escaped = std::stoi(text(mark));
  CHECK(::kill(escaped, 0) == 0);
  killAllOf(*plan.user);
  for (int i = 0; i < 500 && text("/proc/" + std::to_string(escaped) + "/stat").find(") S") != std::string::npos; ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(text("/proc/" + std::to_string(escaped) + "/stat").find(") S") == std::string::npos);
}

TEST_CASE("control groups: what is written where, and what cannot be is said") {
  const Folder folder;  // not a real one: the kernel's files are made here by hand
  for (const char* file : {"cgroup.procs", "memory.max", "cpu.max", "cgroup.kill"}) {
    fs::create_directories(folder.path / "f");
    std::ofstream(folder.path / "f" / file).flush();
  }
  std::vector<std::string> notApplied;
  auto group = ControlGroup::make(folder.path, "f", {.memory = 1000000, .cpus = 1.5, .processes = 7}, notApplied);
  REQUIRE(group.ok());
  CHECK(text(folder.path / "f/memory.max") == "1000000");
  CHECK(text(folder.path / "f/cpu.max") == "150000 100000");
  REQUIRE(notApplied.size() == 1);
  CHECK_THAT(notApplied[0], Catch::StartsWith("processes (pids.max: No such file"));
  CHECK(group->kill());
  CHECK(text(folder.path / "f/cgroup.kill") == "1");
  CHECK_FALSE(functionGroups(""));
  CHECK_FALSE(functionGroups("/tmp"));
}

TEST_CASE("control groups: in their own unit's, else in the daemon's, where one of them is delegated") {
  const Folder folder;  // files by hand, as above; what systemd marks is marked
  const fs::path slice = folder.path / "system.slice", own = slice / "roused.service", unit = slice / "rouse-functions.service";
  for (const fs::path& group : {own, unit}) {
    fs::create_directories(group);
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control"}) std::ofstream(group / file).flush();
  }
  std::ofstream(folder.path / "list") << "1:name=systemd:/x\n0::/system.slice/roused.service\n";
  const auto groups = [&] { return functionGroups("auto", folder.path, folder.path / "list"); };

  auto none = groups();
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message, Catch::Contains("rouse-functions.service") && Catch::Contains("functions.cgroup"));
  if (::setxattr(unit.c_str(), "user.delegate", "1", 1, 0) != 0) {
    WARN("no extended attributes of users in the temporary folder: the rest is not tested here");
    return;
  }
  std::ofstream(unit / "cgroup.procs") << "4711\n";
  fs::create_directories(unit / "keeper");
  std::ofstream(unit / "keeper/cgroup.procs").flush();
  auto ofUnit = groups();
  REQUIRE(ofUnit.ok());
  CHECK(*ofUnit == unit / "functions");
  CHECK(text(unit / "keeper/cgroup.procs") == "4711");  // what keeps the unit is in a leaf now
  CHECK_THAT(text(unit / "cgroup.subtree_control"), Catch::StartsWith("+pids"));  // the last of three writes to a file that is no kernel's
  CHECK(text(own / "cgroup.subtree_control").empty());      // else no other daemon could be started there
  CHECK_FALSE(fs::exists(own / "daemon"));

  ::removexattr(unit.c_str(), "user.delegate");
  REQUIRE(::setxattr(own.c_str(), "user.delegate", "1", 1, 0) == 0);
  fs::create_directories(own / "daemon");
  std::ofstream(own / "daemon/cgroup.procs").flush();
  auto ofOwn = groups();
  REQUIRE(ofOwn.ok());
  CHECK(*ofOwn == own / "functions");
  CHECK(text(own / "daemon/cgroup.procs") == "0");
}

TEST_CASE("output: lines to the log with a limit, the last of them kept, none too long") {
  boost::asio::io_context io;
  std::vector<std::string> logged;
  OutputLog log(io, [&](const std::string& line) { logged.push_back(line); });
  auto fd = log.open();
  REQUIRE(fd.ok());
  std::thread writer([&] {
    std::string all = "first\n\x1b[31mred\n";
    for (int i = 0; i < 3000; ++i) all += "line " + std::to_string(i) + "\n";
    all += std::string(5000, 'x') + "\nunended";
    for (std::string_view rest = all; !rest.empty();) {
      const ssize_t put = ::write(fd->get(), rest.data(), rest.size());
      if (put <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    fd->reset();
  });
  io.run();
  writer.join();
  CHECK(logged.at(0) == "first");
  CHECK(logged.at(1) == "?[31mred");
  CHECK((logged.size() >= 500 && logged.size() < 1000));
  CHECK(log.dropped() > 2000);
  CHECK(log.lastLine() == "unended");
  CHECK(log.last(3) == std::string(2000, 'x') + "\n" + std::string(1000, 'x') + "\nunended\n");
  CHECK(log.last(100000).size() < OutputLog::kKeptBytes + OutputLog::kKeptLines + OutputLog::kLineBytes);
}

namespace {

struct Supervised {
  Folder folder;
  boost::asio::io_context io;
  router::QueueGate gate{io};
  std::vector<std::string> tokens, revoked;
  std::unique_ptr<Supervisor> supervisor;

  explicit Supervised(rouse::daemon::UserRange users = {1879050100, 1879050200}) {
    spdlog::set_level(spdlog::level::off);
    fs::create_directory(folder.path / "functions.d");
    supervisor = std::make_unique<Supervisor>(
        io,
        SupervisorOptions{.folder = folder.path / "functions.d",
                          .runtimeFolder = folder.path / "run",
                          .clientLibraries = "/lib/rouse",
                          .daemonSocket = "/none",
                          .cgroup = "",
                          .users = users},
        gate,
        Supervisor::Events{.openDoor = nullptr,
                           .issueToken =
                               [this](const FunctionSpec& spec, uid_t) {
                                 tokens.push_back(spec.name + std::to_string(tokens.size()));
                                 return tokens.back();
                               },
                           .revokeToken = [this](const std::string& token) { revoked.push_back(token); },
                           .onReady = [](const FunctionSpec&) {},
                           .onProcessGone = [](const std::string&) {}});
  }
  // A server that answers everything, in Python; `more` are lines of its file.
  void write(const std::string& name, const std::string& more = "", const std::string& program = kServer) {
    std::ofstream(folder.path / "functions.d" / (name + ".toml"))
        << "command = [\"/usr/bin/python3\", \"-c\", '''" << program
        << "''']\nhealth_interval = \"50ms\"\nstop_timeout = \"300ms\"\n"
        << more;
  }
  static inline const std::string kServer = R"(
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind(os.environ["ROUSE_FUNCTION_SOCKET"])
s.listen(16)
print("serving", os.environ["ROUSE_TOKEN"], flush=True)
while True:
    c = s.accept()[0]
    c.recv(4096)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    c.close()
)";
  bool until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_for(5ms);
    }
    return condition();
  }
  Function& at(const std::string& name) { return *supervisor->functions().at(name); }
  bool ready(const std::string& name) {
    return until([&] { return supervisor->ready(name); });
  }
  ~Supervised() {
    bool over = false;
    supervisor->stop(5s, [&] { over = true; });
    CHECK(until([&] { return over; }));
    CHECK(revoked.size() == tokens.size());
  }
};

}  // namespace

TEST_CASE("functions are started from their files, and killed ones come back") {
  Supervised world;
  world.write("f");
  CHECK(world.supervisor->reload().empty());
  REQUIRE(world.ready("f"));
  CHECK(world.supervisor->allReady());
  CHECK_THAT(world.supervisor->log("f", 10).value(), Catch::Contains("serving f0"));
  const pid_t first = world.at("f").pid();
  if (::geteuid() == 0) CHECK(world.at("f").target()->owner.value() >= 1879050100);
  ::kill(first, SIGKILL);
  CHECK(world.until([&] { return world.at("f").pid() != first && world.supervisor->ready("f"); }));
  CHECK(world.at("f").starts() == 2);
}

TEST_CASE("a broken file keeps what was there; a changed one changes it; a removed one ends it") {
  Supervised world;
  world.write("f");
  world.supervisor->reload();
  REQUIRE(world.ready("f"));
  const pid_t pid = world.at("f").pid();

  world.write("f", "concurrency = 0\n");
  const auto errors = world.supervisor->reload();
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0], Catch::Contains("f.toml:15: concurrency"));
  CHECK((world.at("f").pid() == pid && world.supervisor->ready("f")));
  CHECK(world.supervisor->broken().contains("f"));

  world.write("f", "concurrency = 3\ndeadline = \"5s\"\n");
  CHECK(world.supervisor->reload().empty());
  CHECK((world.at("f").pid() == pid && world.at("f").spec().concurrency == 3 &&
         world.supervisor->find("f")->deadline == 5s));

  world.write("f", "environment = {A = \"b\"}\n");
  CHECK(world.supervisor->reload().empty());
  CHECK(world.until([&] { return world.at("f").pid() != pid && world.supervisor->ready("f"); }));

  fs::remove(world.folder.path / "functions.d" / "f.toml");
  CHECK(world.supervisor->reload().empty());
  CHECK(world.supervisor->find("f") == nullptr);
  CHECK(world.until([&] { return world.supervisor->functions().empty(); }));
}

TEST_CASE("a function that has no user is told of, whoever reads its file") {
  Supervised world({1879050100, 1879050100});
  world.write("f", "user = \"no such user\"\n");
  auto errors = world.supervisor->reload();
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0], Catch::EndsWith("f.toml:15: user: there is no user 'no such user'"));
  CHECK(world.supervisor->broken().contains("f"));
  CHECK_FALSE(world.supervisor->order("f", Supervisor::Order::start).ok());
  // Where roused is root each function has a number of its own, and here there is one.
  if (::geteuid() != 0) return;
  world.write("f");
  world.write("g");
  errors = world.supervisor->reload();
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0], Catch::Contains("g.toml:1: no user number is left for it (functions.users)"));
  CHECK(world.ready("f"));
}

TEST_CASE("operators start, stop and restart; a function that will not end is killed") {
  Supervised world;
  world.write("f", "", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + Supervised::kServer);
  world.supervisor->reload();
  REQUIRE(world.ready("f"));
  const pid_t pid = world.at("f").pid();
  CHECK(world.supervisor->order("f", Supervisor::Order::stop).ok());
  CHECK(world.until([&] { return world.at("f").state() == Function::State::stopped; }));
  CHECK(::kill(pid, 0) != 0);
  CHECK(world.supervisor->order("f", Supervisor::Order::start).ok());
  REQUIRE(world.ready("f"));
  const pid_t second = world.at("f").pid();
  CHECK(world.supervisor->order("f", Supervisor::Order::restart).ok());
  CHECK(world.until([&] { return world.at("f").pid() != second && world.supervisor->ready("f"); }));
  CHECK_FALSE(world.supervisor->order("g", Supervisor::Order::start).ok());
}

TEST_CASE("one that cannot be started, ends at once, or never answers, is tried again and said to be so") {
  Supervised world;
  world.write("ends", "", "import sys; print('why', flush=True); sys.exit(3)");
  world.write("hangs", "start_timeout = \"200ms\"\n", "import time; time.sleep(1000)");
  std::ofstream(world.folder.path / "functions.d" / "none.toml") << "command = [\"/no/such/program\"]\n";
  world.supervisor->reload();
  CHECK(world.until([&] {
    return world.at("ends").starts() >= 3 && world.at("hangs").starts() >= 2 && world.at("none").starts() >= 3;
  }));
  CHECK_FALSE(world.supervisor->allReady());
  CHECK_THAT(world.at("ends").problem(), Catch::Contains("exited with status 3"));
  CHECK_THAT(world.at("none").problem(), Catch::Contains("/no/such/program"));
  CHECK_THAT(world.supervisor->log("ends", 10).value(), Catch::Contains("why\n(rouse) process"));
}

TEST_CASE("a lost GPU is a new process at once") {
  Supervised world;
  world.write("f");
  world.supervisor->reload();
  REQUIRE(world.ready("f"));
  const pid_t pid = world.at("f").pid();
  world.supervisor->onGpuLost("f");
  CHECK(world.supervisor->losses("f") == 1);
  CHECK(world.until([&] { return world.at("f").pid() != pid && world.supervisor->ready("f"); }));
}
