// What a process is told of its GPUs without a session, and that it gets those when it attaches.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/roused/prospects.h"
#include "test/control/daemon_fixture.h"

using namespace rouse;
using namespace rouse::test;
using channel::Describe;
using channel::Described;

namespace {

Described described(const channel::Message& message) {
  if (const auto* error = std::get_if<Error>(&message.body)) FAIL(error->message);
  return std::get<Described>(message.body);
}

Describe request(std::string token = "", std::uint64_t session = 0) { return {channel::kProtocolVersion, wire::kWireHash, std::move(token), session}; }

std::string describedGpu(RunningDaemon& daemon, const std::string& token) {
  Client client(daemon.settings.socket);
  const Described answer = described(client.call(request(token)));
  REQUIRE(answer.devices.size() == 1);
  return answer.devices[0].properties.uuid;
}

std::shared_ptr<const wire::OwnedFd> pidfd(pid_t pid) { return std::make_shared<const wire::OwnedFd>(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

}  // namespace

TEST_CASE("a process without a session is told its GPUs, and there is none afterwards either") {
  RunningDaemon daemon({.gpus = 2});
  Client client(daemon.settings.socket);
  const std::string token = daemon.prepare({.name = "two", .gpus = 2, .gpuMemory = 3 << 20});
  const Described answer = described(client.call(request(token)));
  REQUIRE(answer.devices.size() == 2);
  for (const Described::Device& device : answer.devices) {
    CHECK(device.properties.memoryBytes == daemon.settings.memory);
    CHECK(device.properties.driverVersion == "");
    CHECK(device.memoryLimit == 4 << 20);  // whole granules
    CHECK(device.freeBytes == 4 << 20);
    CHECK(device.busyNs == 0);
    CHECK(device.pcieGeneration == 4);
    CHECK(device.pcieWidthAtMost == 16);
  }
  CHECK(answer.devices[0].properties.uuid != answer.devices[1].properties.uuid);
  CHECK(daemon.status()["functions"].empty());
  const Described whole = described(client.call(request()));
  CHECK(whole.devices.at(0).memoryLimit == daemon.settings.memory);
  CHECK(whole.devices.at(0).freeBytes == daemon.settings.memory / 2);  // as the executor says
}

TEST_CASE("who was told of a GPU gets it, whoever comes first, and so does its whole program") {
  RunningDaemon daemon({.gpus = 2});
  const std::string token = daemon.prepare({.name = "first"}), other = daemon.prepare({.name = "second"});
  const std::string told = describedGpu(daemon, token);
  CHECK(describedGpu(daemon, token) == told);
  // What is promised counts: the next one is told of the other GPU.
  const std::string toldOther = describedGpu(daemon, other);
  CHECK(toldOther != told);
  std::vector<std::unique_ptr<Client>> clients;
  const auto attach = [&](const std::string& which) {
    clients.push_back(std::make_unique<Client>(daemon.settings.socket));
    return attached(clients.back()->attach(which)).devices.at(0).properties.uuid;
  };
  for (int i = 0; i < 3; ++i) attach(other);
  for (int i = 0; i < 3; ++i) CHECK(attach(token) == told);
  CHECK(describedGpu(daemon, token) == told);
}

TEST_CASE("beside a session a process is told of that one's GPUs; a number that is not its user's tells nothing") {
  RunningDaemon daemon({.gpus = 2});
  Client first(daemon.settings.socket), second(daemon.settings.socket);
  const channel::Attached one = attached(first.attach()), two = attached(second.attach());
  CHECK(one.devices.at(0).properties.uuid != two.devices.at(0).properties.uuid);
  Client asking(daemon.settings.socket);
  CHECK(described(asking.call(request("", one.sessionId))).devices.at(0).properties.uuid == one.devices[0].properties.uuid);
  CHECK(described(asking.call(request("", two.sessionId))).devices.at(0).properties.uuid == two.devices[0].properties.uuid);
  CHECK(described(asking.call(request("", 12345))).devices.size() == 1);
  CHECK(described(asking.call(request("", one.sessionId))).devices.at(0).busyNs == 1'000'000'000);  // as the executor says of that session
}

TEST_CASE("a session's number tells another user nothing") {
  if (::geteuid() != 0) return;
  RunningDaemon daemon({.gpus = 2});
  Client first(daemon.settings.socket);
  const channel::Attached session = attached(first.attach());
  fs::permissions(daemon.scratch.path(), fs::perms(0755));
  fs::permissions(fs::path(daemon.settings.socket).parent_path(), fs::perms(0755));
  fs::permissions(daemon.settings.socket, fs::perms(0777));
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    auto fd = channel::SyncChannel::connect(daemon.settings.socket);
    if (!fd.ok()) ::_exit(3);
    channel::SyncChannel asking(std::move(*fd));
    if (!asking.send(1, request("", session.sessionId)).ok()) ::_exit(4);
    auto answer = asking.receive(5000ms);
    if (!answer.ok() || !answer->has_value()) ::_exit(5);
    const auto* told = std::get_if<Described>(&(*answer)->body);
    if (told == nullptr || told->devices.size() != 1) ::_exit(6);
    // The GPU that it would have itself: the one with less to do.
    ::_exit(told->devices[0].properties.uuid != session.devices[0].properties.uuid && told->devices[0].busyNs == 0 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("whoever may not attach is not told, and hears why") {
  RunningDaemon daemon({.change = [](daemon::Settings& settings) { settings.anonymous = false; }});
  Client client(daemon.settings.socket);
  CHECK_THAT(refusal(client.call(request())), Catch::Contains("functions.anonymous"));
  CHECK_THAT(refusal(client.call(request("0123"))), Catch::Contains("ROUSE_TOKEN"));
  CHECK_THAT(refusal(client.call(Describe{channel::kProtocolVersion, 1, "", 0})), Catch::Contains("another build"));
  CHECK_THAT(refusal(client.call(Describe{99, wire::kWireHash, "", 0})), Catch::Contains("protocol 99"));
}

TEST_CASE("what was told is true for as long as the process lives, and of a program the first one counts") {
  daemon::Prospects prospects;
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  prospects.keep({.family = 7, .pid = child}, {1, 0}, pidfd(child));
  prospects.keep({.family = 7, .pid = ::getpid()}, {1, 0}, pidfd(::getpid()));
  prospects.keep({.family = 0, .pid = ::getpid()}, {1}, pidfd(::getpid()));
  CHECK(prospects.of({.family = 7, .pid = 1}) == std::vector<std::uint32_t>{1, 0});
  CHECK(prospects.of({.family = 0, .pid = 1}).empty());
  CHECK(prospects.on(1, [](const daemon::Prospects::Who&) { return false; }) == 2);
  CHECK(prospects.on(0, [](const daemon::Prospects::Who&) { return false; }) == 1);
  CHECK(prospects.on(1, [](const daemon::Prospects::Who& who) { return who.family == 7; }) == 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(prospects.of({.family = 7, .pid = 1}).empty());
  CHECK(prospects.of({.family = 0, .pid = ::getpid()}) == std::vector<std::uint32_t>{1});
  for (std::uint32_t i = 0; i < daemon::Prospects::kMost; ++i) prospects.keep({.family = 100 + i, .pid = 1}, {3}, pidfd(::getpid()));
  CHECK(prospects.of({.family = 0, .pid = ::getpid()}).empty());
  CHECK(prospects.on(3, [](const daemon::Prospects::Who&) { return false; }) == daemon::Prospects::kMost);
}
