// A whole executor on a thread of its own, seen as the daemon and its clients see it.
#include "server/executor/executor.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "schemas/wire/commands.h"
#include "schemas/wire/slot_wait.h"
#include "server/control/sync_channel.h"
#include "test/executor/client.h"
#include "test/executor/fake_device.h"

namespace rouse::executor {
namespace {

using namespace std::chrono_literals;
constexpr wire::Handle kLegacy = wire::kLegacyStream;

struct Running {
  explicit Running(unsigned cores = 2) : Running(ExecutorOptions{.cores = cores}) {}
  explicit Running(const ExecutorOptions& options) {
    int sockets[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
    daemon = std::make_unique<channel::SyncChannel>(wire::OwnedFd(sockets[0]));
    auto owned = std::make_unique<FakeDevice>(256);
    device = owned.get();
    executor = Executor::create(std::move(owned), wire::OwnedFd(sockets[1]), options).value();
    thread = std::thread([this] { status = executor->run(); });
    const channel::Message ready = receive();
    REQUIRE(std::get<channel::ExecutorReady>(ready.body).wireHash == wire::kWireHash);
    REQUIRE(std::get<channel::ExecutorReady>(ready.body).device.name == "fake");
  }
  ~Running() { stop(); }
  void stop() {
    daemon->shutdown();
    if (thread.joinable()) thread.join();
  }

  channel::Message receive() {
    auto message = daemon->receive(10s);
    REQUIRE(message.ok());
    REQUIRE(message->has_value());
    return std::move(**message);
  }
  channel::Message ask(const channel::Body& body, std::vector<wire::OwnedFd> fds = {}) {
    REQUIRE(daemon->send(++request, body, std::move(fds)).ok());
    channel::Message answer = receive();
    while (answer.id == 0 && std::holds_alternative<channel::SessionWaits>(answer.body)) answer = receive();
    REQUIRE(answer.id == request);
    return answer;
  }
  template <class Expected>
  Expected ask(const channel::Body& body, std::vector<wire::OwnedFd> fds = {}) {
    channel::Message answer = ask(body, std::move(fds));
    REQUIRE(std::holds_alternative<Expected>(answer.body));
    return std::get<Expected>(answer.body);
  }
  void open(Client& client) { ask<channel::Ok>(client.request, client.fds()); }
  void close(Client& client) { ask<channel::SessionClosed>(channel::CloseSession{client.request.sessionId}); }

  std::unique_ptr<channel::SyncChannel> daemon;
  FakeDevice* device;
  std::unique_ptr<Executor> executor;
  Status status;
  std::thread thread;
  std::uint64_t request = 0;
};

wire::OwnedFd module(std::string_view text, int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) {
  wire::OwnedFd fd(::memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  if (seals) REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}
std::vector<wire::OwnedFd> one(wire::OwnedFd fd) {
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(fd));
  return fds;
}

// A blocking call: a signal and a wait for it.
void roundTrip(Client& client, std::uint64_t value) {
  client.send(wire::SlotSignal{.stream = kLegacy, .value = value, .slot = 1});
  client.flush();
  wire::SpinBudget spin;
  int patience = 100;
  REQUIRE(wire::waitUntil(client.segment.slot(1), value, spin, [&] { return --patience > 0; }) ==
          wire::WaitResult::reached);
}

double cpuSeconds(std::thread& thread) {
  clockid_t clock;
  REQUIRE(::pthread_getcpuclockid(thread.native_handle(), &clock) == 0);
  timespec time;
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

TEST_CASE("a session is opened, served, closed, and nothing is left") {
  Running running;
  Client client(1);
  running.open(client);
  REQUIRE(client.segment.header().devices[0].state == wire::DeviceState::serving);
  REQUIRE(client.segment.header().devices[0].totalBytes == 256 * kGranuleBytes);
  for (std::uint64_t value = 1; value < 200; ++value) roundTrip(client, value);
  client.send(wire::MemReserve{.bytes = 4 * kGranuleBytes, .value = 1, .slot = 2});
  client.send(wire::MemMap{.base = client.window(), .bytes = 2 * kGranuleBytes});
  roundTrip(client, 200);

  auto status = running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{});
  REQUIRE(status.freeBytes == 252 * kGranuleBytes);
  REQUIRE(status.sessions.size() == 1);
  REQUIRE(status.sessions[0].reservedBytes == 4 * kGranuleBytes);
  REQUIRE(status.sessions[0].mappedBytes == 2 * kGranuleBytes);
  REQUIRE(status.sessions[0].commands == 202);

  running.close(client);
  status = running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{});
  REQUIRE(status.freeBytes == status.totalBytes);
  REQUIRE(status.sessions.empty());
  REQUIRE(status.commands == 202);
  running.stop();
  REQUIRE(running.status.ok());
  REQUIRE(running.device->contexts() == 0);
}

TEST_CASE("round trips work from every kind of rest") {
  Running running(GENERATE(1u, 2u));
  Client client(1);
  running.open(client);
  std::uint64_t value = 0;
  for (int i = 0; i < 50; ++i) {
    roundTrip(client, ++value);
    std::this_thread::sleep_for(std::chrono::microseconds(i * i * 3));
  }
}

TEST_CASE("a client that breaks a rule is reported and reclaimed, its neighbour goes on") {
  Running running;
  Client good(1), bad(2);
  running.open(good);
  running.open(bad);
  bad.send(wire::MemReserve{.bytes = 4 * kGranuleBytes, .value = 1, .slot = 2});
  bad.send(wire::MemMap{.base = bad.window(), .bytes = 4 * kGranuleBytes});
  bad.send(wire::Copy{.stream = kLegacy, .destination = good.window(), .source = bad.window(), .bytes = 8});
  bad.flush();
  const channel::Message told = running.receive();
  REQUIRE(told.id == 0);
  const auto& fault = std::get<channel::SessionFault>(told.body);
  REQUIRE(fault.sessionId == 2);
  REQUIRE(fault.error.message.substr(0, 21) == "Copy.destination = 0x");
  roundTrip(good, 1);
  running.close(bad);
  REQUIRE(running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).freeBytes == 256 * kGranuleBytes);
  roundTrip(good, 2);
}

TEST_CASE("one session waits for its work, the other is served") {
  Running running;
  Client waiting(1), other(2);
  running.open(waiting);
  running.open(other);
  waiting.send(wire::MemReserve{.bytes = kGranuleBytes, .value = 1, .slot = 2});
  waiting.send(wire::MemMap{.base = waiting.window(), .bytes = kGranuleBytes});
  waiting.send(wire::SlotWait{.stream = kLegacy, .value = 1, .slot = 7});
  waiting.send(wire::MemUnmap{.base = waiting.window(), .bytes = kGranuleBytes});
  waiting.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 1});
  waiting.flush();
  for (std::uint64_t value = 1; value < 50; ++value) roundTrip(other, value);
  REQUIRE(waiting.value(1) == 0);
  wire::signal(waiting.segment.slot(7), 1);
  wire::SpinBudget spin;
  int patience = 100;
  REQUIRE(wire::waitUntil(waiting.segment.slot(1), 1, spin, [&] { return --patience > 0; }) ==
          wire::WaitResult::reached);
}

TEST_CASE("progress from the device's threads wakes a sleeping reactor") {
  Running running;
  Client client(1);
  running.open(client);
  running.device->hold = true;
  client.send(wire::MemReserve{.bytes = kGranuleBytes, .value = 1, .slot = 2});
  client.send(wire::MemMap{.base = client.window(), .bytes = kGranuleBytes});
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 1, .elementBytes = 1});
  client.send(wire::HostMap{.base = client.pinned(), .bytes = 4096});
  client.send(wire::HostUnmap{.base = client.pinned(), .bytes = 4096, .value = 1, .slot = 3});
  client.flush();
  std::this_thread::sleep_for(20ms);
  REQUIRE(client.value(3) == 0);
  running.device->hold = false;
  running.device->progress();
  wire::SpinBudget spin;
  int patience = 100;
  REQUIRE(wire::waitUntil(client.segment.slot(3), 1, spin, [&] { return --patience > 0; }) ==
          wire::WaitResult::reached);
}

TEST_CASE("modules are loaded off the reactor, once, and forgotten with their last session") {
  Running running;
  memory::KernelDescription kernel;
  kernel.name = "kernel";
  kernel.parameterBytes = 4;
  running.device->image.described.kernels.push_back(kernel);
  Client a(1), b(2);
  running.open(a);
  running.open(b);
  const channel::InstallModule first{.sessionId = 1, .moduleId = 9, .size = 4};
  auto info = running.ask<channel::ModuleInfo>(first, one(module("good")));
  REQUIRE(info.moduleId == 9);
  REQUIRE(info.description.kernels.at(0).name == "kernel");
  running.ask<channel::ModuleInfo>(channel::InstallModule{.sessionId = 2, .moduleId = 9, .size = 4},
                                   one(module("good")));
  REQUIRE(running.device->loads == 1);

  a.send(wire::ModuleBind{.module = {0, 0}, .moduleId = 9}, std::span<const std::uint64_t>());
  const std::byte parameters[4] = {};
  a.send(wire::Launch{.stream = kLegacy, .grid = {1, 1, 1}, .block = {1, 1, 1}},
         std::span<const std::byte>(parameters));
  roundTrip(a, 1);
  REQUIRE(running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).launches == 1);

  running.close(a);
  running.close(b);
  Client c(3);
  running.open(c);
  running.ask<channel::ModuleInfo>(channel::InstallModule{.sessionId = 3, .moduleId = 9, .size = 4},
                                   one(module("good")));
  REQUIRE(running.device->loads == 2);
}

TEST_CASE("modules that cannot be had say why") {
  Running running;
  Client client(1);
  running.open(client);
  const auto install = [&](std::uint64_t session, std::uint64_t size, std::vector<wire::OwnedFd> fds) {
    return running.ask<Error>(channel::InstallModule{.sessionId = session, .moduleId = 9, .size = size}, std::move(fds))
        .message;
  };
  REQUIRE(install(1, 3, one(module("bad"))) == "line 1: bad");
  REQUIRE(install(1, 9, one(module("good"))) == "module 9: 9 bytes of a file of 4");
  REQUIRE(install(1, 4, one(module("good", 0))) == "module 9: not a memfd sealed against writing and shrinking");
  REQUIRE(install(1, 4, {}) == "install module: 0 descriptors, needed is 1");
  REQUIRE(install(5, 4, one(module("good"))) == "no session 5");
}

TEST_CASE("requests that make no sense are answered, not obeyed") {
  Running running;
  Client client(1);
  running.open(client);
  REQUIRE(running.ask<Error>(client.request, client.fds()).message == "session 1 is open already");
  REQUIRE(running.ask<Error>(channel::CloseSession{4}).message == "no session 4");
  REQUIRE(running.ask<Error>(channel::StatusRequest{}).message == "an executor does not take statusRequest");
  roundTrip(client, 1);
}

TEST_CASE("closing a session whose kernel does not stop is answered when it has stopped") {
  Running running;
  Client client(1), other(2);
  running.open(client);
  running.open(other);
  running.device->hold = true;
  running.device->keepRunningWhenCancelled = true;
  client.send(wire::MemReserve{.bytes = kGranuleBytes, .value = 1, .slot = 2});
  client.send(wire::MemMap{.base = client.window(), .bytes = kGranuleBytes});
  client.send(wire::Fill{.stream = kLegacy, .destination = client.window(), .count = 1, .elementBytes = 1});
  client.flush();
  while (running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).sessions[0].commands != 3) {
  }
  REQUIRE(running.daemon->send(50, channel::CloseSession{1}).ok());
  roundTrip(other, 1);
  REQUIRE(running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).sessions.size() == 2);
  running.device->hold = false;
  running.device->progress();
  const channel::Message answer = running.receive();
  REQUIRE(answer.id == 50);
  REQUIRE(std::holds_alternative<channel::SessionClosed>(answer.body));
}

TEST_CASE("shutdown ends it and tells the programs") {
  Running running;
  Client client(1);
  running.open(client);
  REQUIRE(running.daemon->send(0, channel::Shutdown{}).ok());
  running.thread.join();
  REQUIRE(running.status.ok());
  REQUIRE(client.segment.header().devices[0].state == wire::DeviceState::lost);
}

TEST_CASE("what one daemon has asked about memory of other processes the next is not told") {
  constexpr std::uint64_t kStore = 1024 * kGranuleBytes;
  const std::string path = "/tmp/rouse-adoption-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int store = ::memfd_create("store", MFD_CLOEXEC);
  REQUIRE(::ftruncate(store, kStore) == 0);
  Running running(ExecutorOptions{.cores = 2, .homesFd = store, .homesBytes = kStore, .adoptionSocket = path, .orphanNs = 30'000'000'000});
  const auto give = [](Client& client, std::uint64_t granules) {
    client.send(wire::MemReserve{.bytes = granules * kGranuleBytes, .value = 1, .slot = 9});
    client.send(wire::MemMap{.base = client.window(), .bytes = granules * kGranuleBytes});
    roundTrip(client, 1);
    REQUIRE(client.result(9) == CudaError::success);
  };
  // The exporter is at home, and those who have its GPU are at work.
  Client exporter(1, kStore), b(2, kStore), c(3, kStore), importer(4);
  for (Client* client : {&exporter, &b, &c, &importer}) running.open(*client);
  give(exporter, 90);
  give(b, 100);
  give(c, 90);
  const auto places = [&] {
    std::vector<channel::Place> found;
    for (const auto& session : running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).sessions) found.push_back(session.place);
    found.resize(4);
    return found;
  };
  using enum channel::Place;
  for (std::uint64_t value = 2; places() != std::vector{home, device, device, device}; ++value) {
    REQUIRE(value < 500);
    roundTrip(b, value);
    roundTrip(c, value);
    std::this_thread::sleep_for(20ms);
  }
  running.device->hold = true;
  for (Client* client : {&b, &c}) {
    client->send(wire::Fill{.stream = kLegacy, .destination = client->window(), .count = 8, .elementBytes = 1});
    client->flush();
  }
  wire::IpcHandle handle{.kind = wire::IpcKind::memory, .sessionId = 1};
  handle.secret.fill(7);
  running.ask<channel::Shared>(
      channel::Ipc{.action = channel::IpcAction::exportMemory, .sessionId = 1, .range = {exporter.window(), kGranuleBytes}, .handle = handle});
  const channel::Ipc open{.action = channel::IpcAction::openMemory, .sessionId = 4, .handle = handle};
  REQUIRE(running.daemon->send(77, open).ok());
  running.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{});  // it has come to that

  wire::OwnedFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  running.daemon->shutdown();
  wire::OwnedFd next(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(next);
  ::unlink(path.c_str());
  running.daemon = std::make_unique<channel::SyncChannel>(std::move(next));
  for (;;) {
    const channel::Message message = running.receive();
    if (!std::holds_alternative<channel::Offered>(message.body)) continue;
    CHECK(std::get<channel::Offered>(message.body).sessions == 4);
    REQUIRE(running.daemon->send(message.id, channel::Adopted{}).ok());
    break;
  }
  running.device->release();
  // There is room for it now, and what the one before had asked would be answered: to one that has not asked.
  for (int tries = 0; tries < 50; ++tries) {
    places();
    std::this_thread::sleep_for(10ms);
  }
  CHECK(running.ask<channel::Shared>(open).range == AddressRange{exporter.window(), kGranuleBytes});
  for (Client* client : {&importer, &exporter, &b, &c}) running.close(*client);
}

TEST_CASE("50 idle sessions cost next to nothing") {
  Running running;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t id = 1; id <= 50; ++id) {
    clients.push_back(std::make_unique<Client>(id));
    running.open(*clients.back());
    roundTrip(*clients.back(), 1);
  }
  std::this_thread::sleep_for(50ms);
  const double before = cpuSeconds(running.thread);
  std::this_thread::sleep_for(500ms);
  const double used = cpuSeconds(running.thread) - before;
  REQUIRE(used < 0.005);
  for (auto& client : clients) roundTrip(*client, 2);
}

}  // namespace rouse::executor
