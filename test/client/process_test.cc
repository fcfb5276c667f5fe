// The process singleton. Each case runs in a child forked before anything is attached, because a process attaches once.
#include "client-shim/core/process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "client-shim/core/copy.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/host_memory.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Process;

// The line at which a check failed in the child, or 0.
int inChild(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int line = body();
    std::fflush(nullptr);
    ::_exit(line == 0 ? 0 : line % 250 + 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return -WTERMSIG(status);
  return WEXITSTATUS(status);
}
#define EXPECT(condition) \
  if (!(condition)) return std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), __LINE__

TEST_CASE("without a daemon every attach says so, and one that comes later is found") {
  CHECK(inChild([] {
          ::setenv("ROUSE_SOCKET", "/nonexistent/sock", 1);
          EXPECT(Process::get().attach() == CudaError::noDevice);
          EXPECT(Process::get().attach() == CudaError::noDevice);
          EXPECT(!Process::get().attached());
          FakeServer server;
          ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
          EXPECT(Process::get().attach() == CudaError::success);
          EXPECT(Process::get().deviceCount() == 1);
          return 0;
        }) == 0);
}

TEST_CASE("a refusal is final") {
  CHECK(inChild([] {
          {
            FakeServer server({.refusal = CudaError::insufficientDriver});
            ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
            EXPECT(Process::get().attach() == CudaError::insufficientDriver);
          }
          FakeServer server;
          ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
          EXPECT(Process::get().attach() == CudaError::insufficientDriver);
          return 0;
        }) == 0);
}

TEST_CASE("calls that are not supported are counted before and after the attach") {
  CHECK(inChild([] {
          FakeServer server({.token = "t"});
          ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
          ::setenv("ROUSE_TOKEN", "t", 1);
          Process::get().describeFace({"libtest.so", 10});
          Process::get().countUnsupported(5);
          Process::get().countUnsupported(5);
          Process::get().countUnsupported(100'000);
          EXPECT(Process::get().attach() == CudaError::success);
          Process::get().countUnsupported(5);
          EXPECT(server.unsupportedCalls(5) == 3);
          EXPECT(server.unsupportedCalls(4) == 0);
          return 0;
        }) == 0);
}

TEST_CASE("a forked child gets errors, its parent goes on, and their memory is apart") {
  CHECK(inChild([] {
          FakeServer server;
          ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
          Process& process = Process::get();
          EXPECT(process.attach() == CudaError::success);
          void* pinned = nullptr;
          EXPECT(process.hostMemory().allocate(100'000, client::MemoryKind::pinned, 0, 0, &pinned) ==
                 CudaError::success);
          std::memset(pinned, 1, 100'000);
          std::vector<char> registered(100'000, 2);
          EXPECT(process.hostMemory().registerRange(registered.data(), registered.size(), 0, 0) == CudaError::success);
          EXPECT(process.device(0).legacyStream().synchronize() == CudaError::success);

          const pid_t child = ::fork();
          if (child == 0) {
            auto* bytes = static_cast<char*>(pinned);
            bool good = process.attach() == CudaError::initializationError && !process.attached();
            good = good && bytes[0] == 1 && bytes[99'999] == 1 && registered[0] == 2 && registered[99'999] == 2;
            bytes[0] = 9;
            registered[0] = 9;
            process.countUnsupported(3);
            // And its own children likewise.
            if (const pid_t grandchild = ::fork(); grandchild == 0) {
              ::_exit(process.attach() == CudaError::initializationError && registered[0] == 9 ? 0 : 1);
            } else {
              int status = 1;
              ::waitpid(grandchild, &status, 0);
              good = good && status == 0;
            }
            ::_exit(good ? 0 : 1);
          }
          int status = 1;
          ::waitpid(child, &status, 0);
          EXPECT(status == 0);
          EXPECT(*static_cast<char*>(pinned) == 1);
          EXPECT(registered[0] == 2);

          // The parent's memory is still the device's.
          std::uint64_t address = 0;
          EXPECT(process.device(0).memory().allocate(100'000, &address) == CudaError::success);
          auto& stream = process.device(0).legacyStream();
          EXPECT(copy(stream, reinterpret_cast<void*>(address), registered.data(), registered.size(),
                      client::CopyKind::hostToDevice, client::Completion::finished) == CudaError::success);
          std::memset(registered.data(), 0, registered.size());
          EXPECT(copy(stream, registered.data(), reinterpret_cast<void*>(address), registered.size(),
                      client::CopyKind::deviceToHost, client::Completion::finished) == CudaError::success);
          EXPECT(registered[99'999] == 2);
          EXPECT(process.hostMemory().unregisterRange(registered.data()) == CudaError::success);
          return 0;
        }) == 0);
}

TEST_CASE("a child of a process that never attached attaches for itself") {
  CHECK(inChild([] {
          FakeServer server;
          ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
          EXPECT(!Process::get().attached());
          const pid_t child = ::fork();
          if (child == 0) {
            const bool good = Process::get().attach() == CudaError::success &&
                              Process::get().device(0).legacyStream().synchronize() == CudaError::success;
            ::_exit(good ? 0 : 1);
          }
          int status = 1;
          ::waitpid(child, &status, 0);
          EXPECT(status == 0);
          return 0;
        }) == 0);
}

TEST_CASE("handles are found through the process") {
  CHECK(inChild([] {
          FakeServer server;
          ::setenv("ROUSE_SOCKET", server.socketPath().c_str(), 1);
          Process& process = Process::get();
          EXPECT(process.attach() == CudaError::success);
          client::Stream& legacy = process.device(0).legacyStream();
          EXPECT(process.findStream(legacy.handle()) == &legacy);
          EXPECT(process.findStream(12345) == nullptr);
          EXPECT(process.findEvent(legacy.handle()) == nullptr);
          client::MemoryPool& pool = process.device(0).defaultPool();
          EXPECT(process.findPool(pool.handle()) == &pool);
          EXPECT(process.findPool(1) == nullptr);
          return 0;
        }) == 0);
}

}  // namespace
}  // namespace rouse::test
