// Sessions whose kernels' accesses are checked: executors know every allocation as the program does, to the byte, what lies behind one is nobody's, and
// what has been freed is not somebody else's at once.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "client-shim/core/access_check.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "schemas/wire/access_errors.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::AccessCheck;
using client::MemoryKind;

struct Checked {
  explicit Checked(std::uint32_t check = 100) : server({.check = check}), session(server.attach()), device(session->device(0)) {}
  // Whether the executor comes to know so many bytes there; 0: none.
  bool told(std::uint64_t address, std::uint64_t bytes) {
    for (int round = 0; round < 5000; ++round) {
      if (server.executor(0).allocatedAt(address) == bytes) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  std::uint64_t allocate(std::uint64_t bytes) {
    std::uint64_t address = 0;
    REQUIRE(device.memory().allocate(bytes, &address) == CudaError::success);
    return address;
  }

  FakeServer server;
  std::unique_ptr<client::Session> session;
  client::Device& device;
};

}  // namespace

TEST_CASE("device memory is told to the byte, and has gaps behind it") {
  Checked it;
  const std::uint64_t a = it.allocate(400), b = it.allocate(256), c = it.allocate(1);
  CHECK(it.told(a, 400));
  CHECK(it.told(b, 256));
  CHECK(it.told(c, 1));
  CHECK(b >= a + 400 + AccessCheck::kGapBytes);
  CHECK(c >= b + 256 + AccessCheck::kGapBytes);
  REQUIRE(it.device.memory().release(b) == CudaError::success);
  CHECK(it.told(b, 0));
  // Its place would be the best for the next.
  CHECK(it.allocate(256) != b);
  CHECK(it.device.heap().live().size() == 3);
}

TEST_CASE("where nothing is checked, freed places are used again and blocks are rounded") {
  Checked it(0);
  REQUIRE(it.session->check() == nullptr);
  const std::uint64_t a = it.allocate(400), b = it.allocate(256), c = it.allocate(1);
  CHECK(b == a + 512);
  CHECK(c == b + 512);
  CHECK(it.told(a, 512));
  CHECK(it.told(b, 512));
  REQUIRE(it.device.memory().release(b) == CudaError::success);
  CHECK(it.allocate(256) == b);
}

TEST_CASE("freed addresses come back when there are no others") {
  Checked it;
  constexpr std::uint64_t kBlock = std::uint64_t{100} << 20;
  // Of a window of 1 GiB.
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t address = it.allocate(kBlock);
    CHECK(it.told(address, kBlock));
    REQUIRE(it.device.memory().release(address) == CudaError::success);
  }
}

TEST_CASE("blocks of pools are told while they are in use, as they were asked for") {
  Checked it;
  client::Stream& stream = it.device.legacyStream();
  std::uint64_t a = 0, b = 0;
  REQUIRE(it.device.defaultPool().allocate(400, stream, &a) == CudaError::success);
  CHECK(it.told(a, 400));
  REQUIRE(client::releaseAsync(a, stream) == CudaError::success);
  CHECK(it.told(a, 0));
  REQUIRE(it.device.defaultPool().allocate(300, stream, &b) == CudaError::success);
  CHECK(it.told(b, 300));
  REQUIRE(it.device.defaultPool().trimTo(0) == CudaError::success);
  CHECK(it.told(b, 300));
  CHECK(it.device.heap().live().size() == 1);
  REQUIRE(client::releaseAsync(b, stream) == CudaError::success);
  CHECK(it.device.heap().live().empty());
}

TEST_CASE("host memory is told to every device, and again after a reset") {
  Checked it;
  void *small = nullptr, *large = nullptr;
  client::HostHeap& heap = it.session->hostHeap();
  REQUIRE(heap.allocate(400, MemoryKind::pinned, 0, 0, &small) == CudaError::success);
  REQUIRE(heap.allocate(1000001, MemoryKind::managed, 0, 0, &large) == CudaError::success);
  const auto address = [](void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); };
  CHECK(it.told(address(small), 400));
  CHECK(it.told(address(large), 1000001));
  CHECK(heap.live().size() == 2);
  REQUIRE(it.device.reset() == CudaError::success);
  CHECK(it.told(address(small), 400));
  CHECK(it.told(address(large), 1000001));
  REQUIRE(heap.release(small) == CudaError::success);
  REQUIRE(heap.release(large) == CudaError::success);
  CHECK(it.told(address(small), 0));
  CHECK(it.told(address(large), 0));
  CHECK(heap.live().empty());
}

TEST_CASE("what is found is counted where the command line tool looks") {
  char path[] = "/tmp/rouse-check-XXXXXX";
  const int file = ::mkstemp(path);
  REQUIRE(file >= 0);
  REQUIRE(::ftruncate(file, sizeof(wire::CheckRecord)) == 0);
  ::setenv(wire::kCheckRecordVariable, path, 1);
  ::setenv(wire::kCheckLeaksVariable, "full", 1);
  ::setenv(wire::kCheckApiVariable, "all", 1);
  {
    Checked it(1);
    AccessCheck& check = *it.session->check();
    CHECK(check.wantsLeaks());
    wire::accessErrors(it.device.status()).store(3);
    check.collect();
    check.collect();
    wire::accessErrors(it.device.status()).store(5);
    check.collect();
    check.apiError("cudaFree", 1, "cudaErrorInvalidValue", "invalid argument");
    it.allocate(100);
    check.leaked(it.device.heap().live());
  }
  std::uint64_t record[sizeof(wire::CheckRecord) / 8];
  REQUIRE(::pread(file, record, sizeof record, 0) == sizeof record);
  CHECK(record[0] == 1);    // sessions
  CHECK(record[1] == 5);    // invalid accesses
  CHECK(record[2] == 1);    // calls
  CHECK(record[3] == 1);    // leaks
  CHECK(record[4] == 100);  // of so many bytes
  // No record of that size: nothing is counted elsewhere, and nothing breaks.
  REQUIRE(::ftruncate(file, 8) == 0);
  {
    Checked it(1);
    it.session->check()->apiError("cudaFree", 1, "cudaErrorInvalidValue", "invalid argument");
  }
  ::unsetenv(wire::kCheckRecordVariable);
  ::unsetenv(wire::kCheckLeaksVariable);
  ::unsetenv(wire::kCheckApiVariable);
  ::close(file);
  ::unlink(path);
}

}  // namespace rouse::test
