// The rouse-executor binary with the CPU back end: real processes, real memory.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "memory/address_plan.h"
#include "schemas/wire/slot_wait.h"
#include "server/control/sync_channel.h"
#include "test/executor/client.h"

namespace rouse::executor {
namespace {

using namespace std::chrono_literals;
constexpr wire::Handle kLegacy = wire::kLegacyStream;
constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

// A function's process as far as the executor can tell, with the host window mapped.
struct Function : Client {
  Function(std::uint64_t id, std::uint64_t limit = kMemory)
      : Client(id, limit, memory::AddressPlan::defaultRange().base) {
    void* at = ::mmap(nullptr, kHostBytes, PROT_READ | PROT_WRITE, MAP_SHARED, hostFd.get(), 0);
    REQUIRE(at != MAP_FAILED);
    host = static_cast<std::byte*>(at);
  }
  ~Function() { ::munmap(host, kHostBytes); }

  void sync() {
    send(wire::SlotSignal{.stream = kLegacy, .value = ++mark, .slot = 1});
    await(1, mark);
  }
  void await(std::uint32_t slot, std::uint64_t wanted) {
    flush();
    wire::SpinBudget spin;
    int patience = 100;
    REQUIRE(wire::waitUntil(segment.slot(slot), wanted, spin, [&] { return --patience > 0; }) ==
            wire::WaitResult::reached);
  }
  void give(std::uint64_t granules) {
    send(wire::MemReserve{.bytes = granules * kGranuleBytes, .value = 1, .slot = 2});
    await(2, 1);
    REQUIRE(result(2) == CudaError::success);
    send(wire::MemMap{.base = window(), .bytes = granules * kGranuleBytes});
  }

  std::byte* host;
  std::uint64_t mark = 0;
};

struct ExecutorProcess {
  explicit ExecutorProcess(std::vector<std::string> extra = {"--memory", std::to_string(kMemory)}) {
    int sockets[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    REQUIRE(::fcntl(sockets[0], F_SETFD, FD_CLOEXEC) == 0);
    std::vector<std::string> arguments{ROUSE_EXECUTOR, "--backend-dir",           ROUSE_BACKENDS, "--workers", "2",
                                       "--control-fd", std::to_string(sockets[1])};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    std::vector<char*> raw;
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    pid = ::fork();
    if (pid == 0) {
      ::execv(raw[0], raw.data());
      ::_exit(127);
    }
    REQUIRE(pid > 0);
    ::close(sockets[1]);
    daemon = std::make_unique<channel::SyncChannel>(wire::OwnedFd(sockets[0]));
  }
  ~ExecutorProcess() {
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  int end() {
    int status = 0;
    for (int i = 0; i < 1000; ++i) {
      if (::waitpid(pid, &status, WNOHANG) == pid) {
        pid = 0;
        REQUIRE(WIFEXITED(status));
        return WEXITSTATUS(status);
      }
      std::this_thread::sleep_for(10ms);
    }
    FAIL("the executor does not end");
    return -1;
  }

  channel::Message receive() {
    auto message = daemon->receive(30s);
    REQUIRE(message.ok());
    REQUIRE(message->has_value());
    return std::move(**message);
  }
  template <class Expected>
  Expected ask(const channel::Body& body, std::vector<wire::OwnedFd> fds = {}) {
    REQUIRE(daemon->send(7, body, std::move(fds)).ok());
    channel::Message answer = receive();
    REQUIRE(answer.id == 7);
    if (const auto* error = std::get_if<Error>(&answer.body)) INFO(error->message);
    REQUIRE(std::holds_alternative<Expected>(answer.body));
    return std::get<Expected>(answer.body);
  }
  void open(Function& function) { ask<channel::Ok>(function.request, function.fds()); }
  void close(Function& function) { ask<channel::Ok>(channel::CloseSession{function.request.sessionId}); }

  pid_t pid = 0;
  std::unique_ptr<channel::SyncChannel> daemon;
};

}  // namespace

TEST_CASE("bytes go to device memory and back") {
  ExecutorProcess executor;
  REQUIRE(std::get<channel::ExecutorReady>(executor.receive().body).device.memoryBytes == kMemory);
  Function function(1);
  executor.open(function);
  function.give(4);

  constexpr std::size_t kBytes = 3 << 20;
  for (std::size_t i = 0; i < kBytes; ++i) function.host[i] = static_cast<std::byte>(i * 7 + (i >> 11));
  std::byte* back = function.host + wire::kStagingBytes;
  function.send(wire::HostMap{.base = function.pinned(), .bytes = 4 << 20});
  function.send(wire::Copy{
      .stream = kLegacy, .destination = function.window() + 64, .source = function.staging(), .bytes = kBytes});
  function.send(
      wire::Fill{.stream = kLegacy, .destination = function.window() + 64, .count = 5, .value = 9, .elementBytes = 4});
  function.send(wire::Copy{
      .stream = kLegacy, .destination = function.pinned(), .source = function.window(), .bytes = kBytes + 128});
  function.sync();
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(back[i] == std::byte{0});
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(back[64 + 4 * i] == std::byte{9});
  REQUIRE(std::memcmp(back + 64 + 20, function.host + 20, kBytes - 20) == 0);

  const std::byte inlined[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  function.send(wire::CopyInline{.stream = kLegacy, .destination = function.window()},
                std::span<const std::byte>(inlined));
  function.send(wire::Copy3D{.stream = kLegacy,
                             .destination = function.staging(),
                             .destinationPitch = 2,
                             .source = function.window(),
                             .sourcePitch = 1,
                             .width = 1,
                             .height = 3,
                             .depth = 1});
  function.sync();
  REQUIRE(function.host[0] == std::byte{1});
  REQUIRE(function.host[2] == std::byte{2});
  REQUIRE(function.host[4] == std::byte{3});

  function.send(wire::HostUnmap{.base = function.pinned(), .bytes = 4 << 20, .value = 1, .slot = 3});
  function.await(3, 1);
  REQUIRE(function.latched() == CudaError::success);
  executor.close(function);
}

TEST_CASE("nobody sees what another function left behind") {
  ExecutorProcess executor;
  executor.receive();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    Function function(id);
    executor.open(function);
    const std::uint64_t granules = kMemory / kGranuleBytes;
    function.give(granules);
    // Everything there is reads as zero, then is written all over.
    for (std::uint64_t at = 0; at < kMemory; at += wire::kStagingBytes) {
      std::memset(function.host, 0xaa, wire::kStagingBytes);
      function.send(wire::Copy{.stream = kLegacy,
                               .destination = function.staging(),
                               .source = function.window() + at,
                               .bytes = wire::kStagingBytes});
      function.sync();
      const std::vector<std::byte> zeros(wire::kStagingBytes);
      REQUIRE(std::memcmp(function.host, zeros.data(), zeros.size()) == 0);
    }
    function.send(wire::Fill{
        .stream = kLegacy, .destination = function.window(), .count = kMemory, .value = 0x5a, .elementBytes = 1});
    if (id != 2) function.sync();  // the second is closed while its work is under way
    executor.close(function);
  }
}

TEST_CASE("a stream waits for a slot that the client writes, and a reset drops such a wait") {
  ExecutorProcess executor;
  executor.receive();
  Function function(1);
  executor.open(function);
  function.give(1);
  function.send(wire::SlotWait{.stream = kLegacy, .value = 5, .slot = 8});
  function.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 3});
  function.flush();
  std::this_thread::sleep_for(30ms);
  REQUIRE(function.value(3) == 0);
  wire::signal(function.segment.slot(8), 5);
  function.await(3, 1);

  function.send(wire::SlotWait{.stream = kLegacy, .value = 6, .slot = 8});
  function.send(wire::SlotSignal{.stream = kLegacy, .value = 2, .slot = 3});
  function.send(wire::Reset{.value = 1, .slot = 4});
  function.await(4, 1);
  REQUIRE(function.value(3) == 2);
  function.give(1);
  function.send(
      wire::Fill{.stream = kLegacy, .destination = function.window(), .count = 8, .value = 1, .elementBytes = 1});
  function.sync();
  REQUIRE(function.result(1) == CudaError::success);
}

TEST_CASE("functions that come and go leave neither memory nor descriptors nor mappings") {
  ExecutorProcess executor;
  executor.receive();
  const auto count = [&](const char* what) {
    FILE* pipe = ::popen(("ls /proc/" + std::to_string(executor.pid) + "/fd | wc -l; grep -c . /proc/" +
                          std::to_string(executor.pid) + "/maps")
                             .c_str(),
                         "r");
    long fds = 0, maps = 0;
    REQUIRE(std::fscanf(pipe, "%ld %ld", &fds, &maps) == 2);
    ::pclose(pipe);
    return std::string(what) == "fd" ? fds : maps;
  };
  const auto serve = [&](std::uint64_t id) {
    Function function(id, kMemory / 8);
    executor.open(function);
    function.give(2);
    function.send(wire::HostMap{.base = function.pinned(), .bytes = 8192});
    function.send(wire::SlotWait{.stream = kLegacy, .value = 6, .slot = 8});  // never comes
    function.flush();
    executor.close(function);
  };
  for (std::uint64_t id = 1; id < 10; ++id) serve(id);
  const long fds = count("fd"), maps = count("maps");
  for (std::uint64_t id = 10; id < 60; ++id) serve(id);
  REQUIRE(count("fd") == fds);
  REQUIRE(count("maps") < maps + 10);
  const auto status = executor.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{});
  REQUIRE(status.freeBytes == kMemory);
  REQUIRE(status.sessions.empty());
}

TEST_CASE("the executor ends with the daemon's connection, or when it is told") {
  ExecutorProcess executor;
  executor.receive();
  Function function(1);
  executor.open(function);
  SECTION("connection closed") { executor.daemon->shutdown(); }
  SECTION("shutdown") { REQUIRE(executor.daemon->send(0, channel::Shutdown{}).ok()); }
  REQUIRE(executor.end() == 0);
  REQUIRE(function.segment.header().devices[0].state == wire::DeviceState::lost);
}

TEST_CASE("what cannot be started says so with its exit code") {
  SECTION("no such back end") { REQUIRE(ExecutorProcess({"--device", "abacus"}).end() == 3); }
  SECTION("not a name") { REQUIRE(ExecutorProcess({"--device", "../cpu"}).end() == 3); }
  SECTION("an unknown option") { REQUIRE(ExecutorProcess({"--frobnicate"}).end() == 2); }
}

}  // namespace rouse::executor
