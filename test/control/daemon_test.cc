#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <set>

#include "memory/start_failure.h"
#include "schemas/wire/round_trips.h"
#include "schemas/wire/segment.h"
#include "server/roused/listening_socket.h"
#include "server/roused/start_failure.h"
#include "test/control/fake_mode.h"
#include "test/control/daemon_fixture.h"

using namespace rouse;
using namespace rouse::test;
using channel::Attached;
using channel::Message;

namespace {

wire::OwnedFd memfdOf(const std::string& text) {
  wire::OwnedFd fd(::memfd_create("module", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return fd;
}

std::vector<wire::OwnedFd> one(wire::OwnedFd fd) {
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(fd));
  return fds;
}

using test::Environment;

}  // namespace

TEST_CASE("a process that attaches gets its segments, windows and devices") {
  RunningDaemon daemon({.gpus = 2});
  const std::string token = daemon.prepare({"model", 2, std::uint64_t{256} << 20});
  Client client(daemon.settings.socket);
  const Message answer = client.attach(token);
  const Attached& got = attached(answer);
  REQUIRE(got.devices.size() == 2);
  REQUIRE(answer.fds.size() == 6);
  auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
  REQUIRE(session.ok());
  CHECK(session->checkHeader().ok());
  CHECK(session->header().sessionId == got.sessionId);
  CHECK(session->header().deviceCount == 2);
  CHECK(wire::checkSealedMemfd(answer.fds[1].get(), "host window", got.hostWindow.bytes).ok());
  CHECK(got.hostWindow.bytes == daemon.settings.hostMemory + wire::kStagingBytes);
  std::set<std::string> uuids;
  for (std::uint32_t i = 0; i < 2; ++i) {
    CHECK(session->header().devices[i].state.load() == wire::DeviceState::serving);
    CHECK(got.devices[i].memoryLimit == std::uint64_t{256} << 20);
    // However little memory it is: programs reserve addresses that suit any GPU. (With sanitizers there are 3 TiB of them in all.)
    CHECK(got.devices[i].window.bytes >= std::uint64_t{16} << 30);
    uuids.insert(got.devices[i].properties.uuid);
    auto ring = wire::RingSegment::map(answer.fds[2 + 2 * i].get(), wire::ForkedChild::without);
    REQUIRE(ring.ok());
    CHECK(ring->checkHeader(i).ok());
    const std::uint64_t wake = 1;
    CHECK(::write(answer.fds[3 + 2 * i].get(), &wake, sizeof wake) == sizeof wake);
  }
  CHECK(uuids.size() == 2);
  CHECK_FALSE(got.devices[0].window.overlaps(got.devices[1].window));
  CHECK_FALSE(got.devices[0].window.overlaps(got.hostWindow));

  Client second(daemon.settings.socket);
  const Message other = second.attach();
  CHECK_FALSE(attached(other).devices[0].window.overlaps(got.devices[0].window));
  CHECK_FALSE(attached(other).hostWindow.overlaps(got.hostWindow));
}

TEST_CASE("functions are spread over the least loaded GPUs") {
  RunningDaemon daemon({.gpus = 3});
  std::vector<std::unique_ptr<Client>> clients;
  std::map<std::string, int> perGpu;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<Client>(daemon.settings.socket));
    const Message answer = clients.back()->attach();
    ++perGpu[attached(answer).devices.at(0).properties.uuid];
  }
  CHECK(perGpu.size() == 3);
  for (const auto& [uuid, count] : perGpu) CHECK(count == 2);
}

TEST_CASE("processes of one program see the same GPUs, in the same order") {
  RunningDaemon daemon({.gpus = 3});
  const auto gpusOf = [](const Message& answer) {
    std::vector<std::string> uuids;
    for (const auto& device : attached(answer).devices) uuids.push_back(device.properties.uuid);
    return uuids;
  };
  const std::string pair = daemon.prepare({"pair", 2, 0}), other = daemon.prepare({"other", 2, 0});
  Client parent(daemon.settings.socket), child(daemon.settings.socket), stranger(daemon.settings.socket), last(daemon.settings.socket);
  const auto parents = gpusOf(parent.attach(pair));
  CHECK(gpusOf(stranger.attach(other)) != parents);  // the third, and the least loaded of these
  CHECK(gpusOf(child.attach(pair)) == parents);
  CHECK(gpusOf(last.attach(pair)) == parents);
}

TEST_CASE("whoever does not fit is refused with the reason and may try again") {
  RunningDaemon daemon({.gpus = 1, .change = [](daemon::Settings& settings) { settings.maxSessions = 1; }});
  Client client(daemon.settings.socket);
  auto wrongProtocol = Client::attachment();
  wrongProtocol.protocol = 9;
  CHECK_THAT(refusal(client.call(wrongProtocol)), Catch::Contains("control protocol 9, this daemon 1"));
  auto wrongWire = Client::attachment();
  wrongWire.wireHash += 1;
  CHECK_THAT(refusal(client.call(wrongWire)), Catch::Contains("another build"));
  auto wrongNames = Client::attachment();
  wrongNames.apiNames = 400;
  CHECK_THAT(refusal(client.call(wrongNames)), Catch::Contains("400 names"));
  CHECK_THAT(refusal(client.attach("no such token")), Catch::Contains("token"));
  attached(client.attach());
  Client second(daemon.settings.socket);
  CHECK_THAT(refusal(second.attach()), Catch::Contains("functions.max_sessions"));
}

TEST_CASE("tokens name the function; without one only where anonymous functions are allowed") {
  RunningDaemon daemon({.gpus = 1, .change = [](daemon::Settings& settings) { settings.anonymous = false; }});
  const std::string token = daemon.prepare({"resnet", 1, 0});
  CHECK(token.size() == 32);
  CHECK(token != daemon.prepare({"resnet", 1, 0}));
  Client anonymous(daemon.settings.socket);
  CHECK_THAT(refusal(anonymous.attach()), Catch::Contains("functions.anonymous"));
  Client first(daemon.settings.socket), child(daemon.settings.socket);
  attached(first.attach(token));
  attached(child.attach(token));
  const auto status = daemon.status();
  REQUIRE(status["functions"].size() == 2);
  CHECK(status["functions"][0]["name"] == "resnet");
  CHECK(status["functions"][1]["name"] == "resnet");
  CHECK(status["functions"][0]["pid"] == ::getpid());
}

TEST_CASE("a user's tokens are bounded, the oldest is forgotten, others' stay") {
  daemon::TokenTable tokens;
  const std::string others = tokens.issue(1000, {.name = "other"});
  const std::string oldest = tokens.issue(1001, {.name = "oldest"});
  for (std::size_t i = 0; i < daemon::TokenTable::kTokensPerUser; ++i) tokens.issue(1001, {.name = "more"});
  CHECK_FALSE(tokens.find(oldest, 1001));
  CHECK(tokens.find(others, 1000)->name == "other");
  CHECK_FALSE(tokens.find(others, 1001));
  CHECK(tokens.find(others, 0));
  CHECK(tokens.size() == daemon::TokenTable::kTokensPerUser + 1);
  // Those of functions that the daemon starts stay until they are taken back, however many their user asks for.
  const std::string lasting = tokens.issueLasting(1001, {.name = "function", .supervised = true});
  for (std::size_t i = 0; i < 2 * daemon::TokenTable::kTokensPerUser; ++i) tokens.issue(1001, {.name = "more"});
  REQUIRE(tokens.find(lasting, 1001));
  CHECK(tokens.find(lasting, 1001)->supervised);
  CHECK_FALSE(tokens.find(lasting, 1002));
  tokens.forget(lasting);
  CHECK_FALSE(tokens.find(lasting, 1001));
}

TEST_CASE("what cannot be had is refused when it is prepared") {
  RunningDaemon daemon(
      {.gpus = 2, .change = [](daemon::Settings& settings) { settings.gpuMemory = std::uint64_t{512} << 20; }});
  Client client(daemon.settings.socket);
  CHECK_THAT(refusal(client.call(channel::Prepare{"f", 3, 0})),
             Catch::Contains("3 GPUs were asked for, this pool has 2"));
  CHECK_THAT(refusal(client.call(channel::Prepare{"f", 1, std::uint64_t{1} << 30})),
             Catch::Contains("functions.gpu_memory"));
}

TEST_CASE("a connection that breaks the rules is cut off with the reason; others go on") {
  RunningDaemon daemon;
  Client neighbour(daemon.settings.socket);
  attached(neighbour.attach());
  SECTION("a module before attaching") {
    Client client(daemon.settings.socket);
    REQUIRE(client.channel.send(1, channel::LoadModule{0, 1, 0}, one(memfdOf("x"))).ok());
    CHECK_THAT(client.cutOffReason(), Catch::Contains("loadModule before attach"));
  }
  SECTION("attaching twice") {
    Client client(daemon.settings.socket);
    attached(client.attach());
    REQUIRE(client.channel.send(2, Client::attachment()).ok());
    CHECK_THAT(client.cutOffReason(), Catch::Contains("attached already"));
  }
  SECTION("a message that only executors send") {
    Client client(daemon.settings.socket);
    REQUIRE(client.channel.send(1, channel::ExecutorReady{}).ok());
    CHECK_THAT(client.cutOffReason(), Catch::Contains("unexpected message executorReady"));
  }
  SECTION("a descriptor where none belongs") {
    Client client(daemon.settings.socket);
    REQUIRE(client.channel.send(1, channel::StatusRequest{}, one(memfdOf("x"))).ok());
    CHECK_THAT(client.cutOffReason(), Catch::Contains("statusRequest with a descriptor"));
  }
  SECTION("garbage") {
    Client client(daemon.settings.socket);
    REQUIRE(::send(client.channel.socket(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) == 18);
    CHECK_THAT(client.cutOffReason(), Catch::Contains("bad magic"));
  }
  SECTION("an executor reports that it broke the wire's rules") {
    Client client(daemon.settings.socket);
    attached(client.attach(daemon.prepare({"fault", 1, 0})));
    CHECK_THAT(client.cutOffReason(), Catch::Contains("MemReserve: bytes 7"));
    CHECK(eventually([&] { return daemon.status()["functions"].size() == 1; }));
  }
  CHECK(daemon.status()["functions"].size() == 1);
}

TEST_CASE("stories are told in pages of bounded size") {
  RunningDaemon daemon({.gpus = 1});
  Client client(daemon.settings.socket);
  const auto ask = [&](std::uint32_t most, std::uint64_t after) {
    return client.call(channel::StatusRequest{.unsupported = false, .stories = most, .after = after}).body;
  };
  const auto refusal = ask(channel::StatusRequest::kMostStories + 1, 0);
  CHECK_THAT(std::get<Error>(refusal).message, Catch::Contains("513 requests") && Catch::Contains("the limit is 512"));
  for (const std::uint64_t after : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    const auto told = nlohmann::json::parse(std::get<channel::StatusReply>(ask(channel::StatusRequest::kMostStories, after)).json);
    CHECK(told["requests"].empty());
    CHECK(told["next"] == 0);
  }
}

TEST_CASE("closing a connection frees everything") {
  RunningDaemon daemon({.gpus = 2});
  {
    Client warmUp(daemon.settings.socket);
    attached(warmUp.attach());
  }
  REQUIRE(
      eventually([&] { return daemon.status()["functions"].empty() && daemon.status()["gpus"][0]["sessions"] == 0; }));
  const std::size_t before = openFds();
  for (int round = 0; round < 20; ++round) {
    Client client(daemon.settings.socket);
    const Message answer = client.attach(daemon.prepare({"f", 2, 0}));
    attached(answer);
    client.call(channel::LoadModule{0, 1, 0}, one(memfdOf("m")));
  }
  CHECK(eventually([&] {
    const auto status = daemon.status();
    return status["functions"].empty() && status["gpus"][0]["sessions"] == 0 && status["gpus"][1]["sessions"] == 0;
  }));
  CHECK(eventually([&] { return openFds() <= before + 1; }));  // the one content that is kept for the next
}

TEST_CASE("a process that dies is noticed even when its child keeps the socket open") {
  RunningDaemon daemon;
  const std::string socket = daemon.settings.socket;
  // Parent: attaches and exits. Child: holds the inherited socket until told to go.
  int release[2];
  REQUIRE(::pipe2(release, O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto fd = channel::SyncChannel::connect(socket);
    channel::SyncChannel channel(std::move(*fd));
    (void)channel.send(1, Client::attachment());
    auto answer = channel.receive(5000ms);
    if (!answer || !*answer || !std::holds_alternative<Attached>((*answer)->body)) ::_exit(1);
    if (::fork() == 0) {
      char byte;
      ::close(release[1]);
      (void)!::read(release[0], &byte, 1);
      ::_exit(0);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(parent, &status, 0) == parent);
  REQUIRE(WEXITSTATUS(status) == 0);
  CHECK(eventually([&] { return daemon.status()["functions"].empty(); }));
  ::close(release[1]);
  ::close(release[0]);
}

TEST_CASE("an executor that dies is started again; its sessions are told that the device is lost") {
  RunningDaemon daemon({.gpus = 2});
  Client client(daemon.settings.socket);
  const Message answer = client.attach(daemon.prepare({"f", 2, 0}));
  auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
  REQUIRE(session.ok());
  const auto before = daemon.status();
  const std::string victim = attached(answer).devices[0].properties.uuid;
  const std::size_t gpu = before["gpus"][0]["uuid"] == victim ? 0 : 1;
  const pid_t pid = before["gpus"][gpu]["executor_pid"];
  REQUIRE(::kill(pid, SIGKILL) == 0);

  auto& lost = session->header().devices[0];
  CHECK(eventually([&] { return lost.state.load() == wire::DeviceState::lost; }));
  CHECK(lost.error.load() == static_cast<std::uint32_t>(CudaError::devicesUnavailable));
  CHECK(std::strlen(lost.message) > 0);
  CHECK(session->header().devices[1].state.load() == wire::DeviceState::serving);
  const Message refused = client.call(channel::LoadModule{0, 1, 0}, one(memfdOf("m")));
  CHECK_THAT(refusal(refused), Catch::Contains("lost"));
  CHECK(std::holds_alternative<channel::ModuleInfo>(client.call(channel::LoadModule{0, 1, 1}, one(memfdOf("m"))).body));

  REQUIRE(eventually([&] { return daemon.status()["gpus"][gpu]["state"] == "serving"; }));
  const auto after = daemon.status();
  CHECK(after["gpus"][gpu]["executor_pid"] != pid);
  CHECK(after["gpus"][gpu]["restarts"] == 1);
  Client fresh(daemon.settings.socket);
  attached(fresh.attach(daemon.prepare({"g", 2, 0})));
  // The old session's end must not disturb the new executor, which never heard of it.
  client.channel.shutdown();
  CHECK(eventually([&] { return daemon.status()["functions"].size() == 1; }));
  CHECK(daemon.status()["gpus"][gpu]["sessions"] == 1);
}

TEST_CASE("an executor that dies while a session opens fails the attach, nothing else") {
  RunningDaemon daemon({.gpus = 1});
  Client client(daemon.settings.socket);
  CHECK_THAT(refusal(client.attach(daemon.prepare({"crash", 1, 0}))), Catch::Contains("was lost"));
  REQUIRE(eventually([&] { return daemon.status()["gpus"][0]["state"] == "serving"; }));
  CHECK(daemon.status()["gpus"][0]["restarts"] == 2);  // tried once more: it might have been another's fault
  attached(client.attach());
}

TEST_CASE("a process is told its own fault rather than that the executor ended of it") {
  const auto [fault, told] = GENERATE(std::pair{CudaError::illegalAddress, CudaError::illegalAddress},
                                      std::pair{CudaError::invalidValue, CudaError::devicesUnavailable});
  RunningDaemon daemon;
  Client client(daemon.settings.socket);
  const Message answer = client.attach();
  auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
  REQUIRE(session.ok());
  auto& device = session->header().devices[0];
  std::strcpy(device.message, "what the kernel did");  // as an executor writes it
  device.error.store(static_cast<std::uint32_t>(fault));
  REQUIRE(::kill(daemon.status()["gpus"][0]["executor_pid"], SIGKILL) == 0);
  REQUIRE(eventually([&] { return device.state.load() == wire::DeviceState::lost; }));
  CHECK(device.error.load() == static_cast<std::uint32_t>(told));
  CHECK((std::string(device.message) == "what the kernel did") == (fault == told));
}

TEST_CASE("an executor that hangs is killed, and another one serves; one that is idle is left alone") {
  RunningDaemon daemon({.change = [](daemon::Settings& settings) { settings.liveness = 400; }});
  const pid_t pid = daemon.status()["gpus"][0]["executor_pid"];
  Client idle(daemon.settings.socket);
  attached(idle.attach());
  std::this_thread::sleep_for(1200ms);
  CHECK(daemon.status()["gpus"][0]["executor_pid"] == pid);
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  CHECK(eventually([&] {
    const auto gpu = daemon.status()["gpus"][0];
    return gpu["state"] == "serving" && gpu["executor_pid"] != pid;
  }));
  CHECK(::kill(pid, 0) != 0);
  Client after(daemon.settings.socket);
  attached(after.attach());
}

TEST_CASE("a module is kept once, installed once, and described") {
  RunningDaemon daemon({.gpus = 1, .change = [](daemon::Settings& settings) { settings.moduleMemory = 100; }});
  Client client(daemon.settings.socket), second(daemon.settings.socket);
  attached(client.attach());
  attached(second.attach());
  const auto load = [](Client& from, const std::string& text, std::uint64_t offset, std::uint64_t size,
                       std::uint32_t device = 0) {
    return from.call(channel::LoadModule{offset, size, device}, one(memfdOf(text)));
  };
  const auto a = std::get<channel::ModuleInfo>(load(client, "..abc..", 2, 3).body);
  CHECK(a.description.kernels.at(0).name == "kernel_a");
  CHECK(std::get<channel::ModuleInfo>(load(client, "abc", 0, 3).body).moduleId == a.moduleId);
  CHECK(std::get<channel::ModuleInfo>(load(second, "xabc", 1, 3).body).moduleId == a.moduleId);
  CHECK(std::get<channel::ModuleInfo>(load(client, "abd", 0, 3).body).moduleId != a.moduleId);
  CHECK(daemon.status()["daemon"]["module_contents"] == 2);

  CHECK_THAT(refusal(load(client, "abc", 1, 3)), Catch::Contains("3 bytes at offset 1 of a file of 3"));
  CHECK_THAT(refusal(load(client, "abc", ~0ull, 2)), Catch::Contains("of a file of 3"));
  CHECK_THAT(refusal(load(client, "abc", 0, 0)), Catch::Contains("0 bytes"));
  CHECK_THAT(refusal(load(client, "abc", 0, ~0ull)), Catch::Contains("the limit is 1073741824"));
  CHECK_THAT(refusal(load(client, "abc", 0, 3, 1)), Catch::Contains("module for device 1, the session has 1"));
  CHECK_THAT(refusal(load(client, std::string(98, 'x'), 0, 98)), Catch::Contains("functions.module_memory"));
}

TEST_CASE("only descriptors that prove that their holder may read are taken") {
  RunningDaemon daemon;
  Client client(daemon.settings.socket);
  attached(client.attach());
  const fs::path file = daemon.scratch.write("module", "content");
  const auto load = [&](int flags) {
    wire::OwnedFd fd(::open(file.c_str(), flags | O_CLOEXEC));
    REQUIRE(fd);
    return client.call(channel::LoadModule{0, 7, 0}, one(std::move(fd)));
  };
  CHECK(std::holds_alternative<channel::ModuleInfo>(load(O_RDONLY).body));
  CHECK_THAT(refusal(load(O_PATH)), Catch::Contains("not open for reading"));
  CHECK_THAT(refusal(load(O_WRONLY)), Catch::Contains("not open for reading"));
  wire::OwnedFd folder(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK_THAT(refusal(client.call(channel::LoadModule{0, 7, 0}, one(std::move(folder)))),
             Catch::Contains("neither a regular file"));
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  const wire::OwnedFd writing(pipe[1]);
  CHECK_THAT(refusal(client.call(channel::LoadModule{0, 7, 0}, one(wire::OwnedFd(pipe[0])))),
             Catch::Contains("neither a regular file"));
}

TEST_CASE("calls of unsupported names are summed over live and ended processes") {
  RunningDaemon daemon;
  {
    Client client(daemon.settings.socket);
    const Message answer = client.attach();
    auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
    REQUIRE(session.ok());
    session->header().unsupportedCalls[1].store(3);
    CHECK(daemon.status(true)["unsupported_calls"]["cudaBeta"] == 3);
  }
  REQUIRE(eventually([&] { return daemon.status()["functions"].empty(); }));
  Client client(daemon.settings.socket);
  const Message answer = client.attach();
  auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
  session->header().unsupportedCalls[1].store(4);
  session->header().unsupportedCalls[2].store(1);
  session->header().unsupportedCalls[1000].store(1);  // no such name
  wire::roundTrips(session->header()).store(12);
  CHECK(daemon.status(true)["functions"][0]["round_trips"] == 12);
  const auto calls = daemon.status(true)["unsupported_calls"];
  CHECK(calls == nlohmann::json{{"cudaBeta", 7}, {"cudaGamma", 1}});
  CHECK_FALSE(daemon.status(false).contains("unsupported_calls"));
}

TEST_CASE("what functions have used is counted by name, also of those that have ended") {
  RunningDaemon daemon;
  const auto used = [&] {
    const auto status = daemon.status();
    for (const auto& one : status["usage"])
      if (one["name"] == "resnet") return one;
    return nlohmann::json();
  };
  const auto token = [&] { return daemon.prepare({"resnet", 1, 0}); };
  CHECK(used().is_null());
  {
    Client first(daemon.settings.socket);
    first.attach(token());
    CHECK(used()["sessions"] == 1);
    CHECK(used()["gpu_seconds"] == 1.0);
    CHECK(used()["launches"] == 5);
  }
  // As of its end, not of the last look.
  REQUIRE(eventually([&] { return used()["gpu_seconds"] == 2.5; }));
  Client second(daemon.settings.socket);
  second.attach(token());
  const auto sum = used();
  CHECK(sum["sessions"] == 2);
  CHECK(sum["gpu_seconds"] == 3.5);
  CHECK(sum["gpu_byte_seconds"] == 110.0);
  CHECK(sum["host_byte_seconds"] == 55.0);
  CHECK(sum["launches"] == 11);
  CHECK(sum["saved_bytes"] == 4096);
}

TEST_CASE("status says what there is") {
  RunningDaemon daemon({.gpus = 2});
  Client client(daemon.settings.socket);
  attached(client.attach("", "/opt/bin/tr\nain"));
  const auto status = daemon.status();
  CHECK(status["schema"] == 1);
  CHECK(status["daemon"]["pid"] == ::getpid());
  CHECK(status["daemon"]["device_kind"] == "cpu");
  REQUIRE(status["gpus"].size() == 2);
  CHECK(status["gpus"][1]["name"] == "fake GPU");
  CHECK(status["gpus"][1]["memory_total_bytes"] == 1 << 30);
  CHECK(status["gpus"][1]["memory_free_bytes"] == 1 << 29);
  CHECK(status["gpus"][1]["launches"] == 10);
  const auto function = status["functions"].at(0);
  CHECK(function["name"] == "tr?ain");
  CHECK(function["mapped_bytes"] == 2048);
  CHECK(function["host_bytes"] == 1024);
  CHECK(function["gpus"][0]["limit_bytes"] == 1 << 30);
}

TEST_CASE("SIGHUP changes the limits, or nothing") {
  Scratch config;
  config.write("rouse.toml", "[functions]\nmax_sessions = 2\n");
  std::optional<daemon::Settings> base;
  RunningDaemon::Options options;
  std::atomic<int> reloads = 0;
  options.reload = [&]() -> std::variant<daemon::Settings, daemon::ConfigErrors> {
    ++reloads;
    auto read = daemon::readConfig(
        {.file = config.path() / "rouse.toml", .required = true, .environment = nullptr, .flags = {}});
    if (auto* fresh = std::get_if<daemon::Settings>(&read)) {
      daemon::Settings merged = *base;
      merged.maxSessions = fresh->maxSessions;
      merged.anonymous = fresh->anonymous;
      if (fresh->count != 0) merged.count = fresh->count;
      return merged;
    }
    return read;
  };
  RunningDaemon daemon(options);
  base = daemon.settings;
  const auto reload = [&] {
    const int before = reloads;
    REQUIRE(::kill(::getpid(), SIGHUP) == 0);
    REQUIRE(eventually([&] { return reloads > before; }));
    daemon.status();  // answered after the reload
  };
  const auto refusedWith = [&] {
    Client client(daemon.settings.socket);
    return refusal(client.attach());
  };
  config.write("rouse.toml", "[functions]\nanonymous = false\n");
  reload();
  CHECK_THAT(refusedWith(), Catch::Contains("functions.anonymous"));
  config.write("rouse.toml", "[functions]\nanonymous = true\nmax_sesions = 1\n");
  reload();
  CHECK_THAT(refusedWith(), Catch::Contains("functions.anonymous"));
  config.write("rouse.toml", "[functions]\nanonymous = true\n[devices]\ncount = 4\n");
  reload();
  CHECK_THAT(refusedWith(), Catch::Contains("functions.anonymous"));
  config.write("rouse.toml", "[functions]\nanonymous = true\n");
  reload();
  CHECK(refusedWith() == "not refused");
}

TEST_CASE("SIGTERM leaves nothing over") {
  const std::size_t before = openFds();
  {
    std::optional<Environment> mode;
    if (GENERATE(false, true)) mode.emplace("linger");
    RunningDaemon daemon({.gpus = 2});
    Client client(daemon.settings.socket);
    const Message answer = client.attach();
    auto session = wire::SessionSegment::map(answer.fds[0].get(), wire::ForkedChild::without);
    const auto status = daemon.status();
    REQUIRE(::kill(::getpid(), SIGTERM) == 0);
    CHECK_THAT(client.cutOffReason(), Catch::Contains("shutting down"));
    daemon.thread.join();
    CHECK(session->header().devices[0].state.load() == wire::DeviceState::lost);
    CHECK(daemon.daemon->exitCode() == 0);
    CHECK_FALSE(fs::exists(daemon.settings.socket));
    for (const auto& gpu : status["gpus"]) CHECK(::kill(gpu["executor_pid"].get<pid_t>(), 0) == -1);
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(openFds() == before);
}

TEST_CASE("the socket is made with its mode, taken over when dead, refused when alive") {
  Scratch scratch;
  const std::string path = scratch.path() / "deep" / "rouse.sock";
  {
    auto socket = daemon::makeListeningSocket(path, 0620, "");
    REQUIRE(socket.ok());
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0620);
    auto second = daemon::makeListeningSocket(path, 0600, "");
    REQUIRE_FALSE(second.ok());
    CHECK_THAT(second.error().message, Catch::Contains("another daemon listens"));
  }
  CHECK(daemon::makeListeningSocket(path, 0600, "").ok());
  const std::string file = scratch.write("file", "precious");
  CHECK_THAT(daemon::makeListeningSocket(file, 0600, "").error().message, Catch::Contains("not a socket"));
  CHECK(fs::exists(file));
  CHECK_THAT(daemon::makeListeningSocket(scratch.path() / std::string(200, 'x'), 0600, "").error().message,
             Catch::Contains(scratch.path().string() + "/xxx") && Catch::Contains("limit is 107") && !Catch::Contains("daemon.socket"));
  CHECK_THAT(daemon::makeListeningSocket(scratch.path() / "s", 0600, "no-such-group").error().message,
             Catch::StartsWith("there is no group 'no-such-group' for " + scratch.path().string()));
}
