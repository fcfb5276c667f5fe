// The rouse-executor binary with the CPU back end, and functions that use it: real processes, real memory.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "memory/address_plan.h"
#include "schemas/wire/slot_wait.h"
#include "server/control/sync_channel.h"
#include "test/executor/client.h"

namespace rouse::executor {

using namespace std::chrono_literals;
inline constexpr wire::Handle kLegacy = wire::kLegacyStream;
inline constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

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
  void close(Function& function) { ask<channel::SessionClosed>(channel::CloseSession{function.request.sessionId}); }

  pid_t pid = 0;
  std::unique_ptr<channel::SyncChannel> daemon;
};

}  // namespace rouse::executor
