#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <random>

#include "client-shim/core/copy.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/error_codes.h"
#include "client-shim/core/event.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Allocation;
using client::Completion;
using client::CopyKind;
using client::MemoryKind;

constexpr std::uint64_t kMega = 1 << 20;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// What each block holds is checked at its end: two blocks that share a byte, or one that loses its backing, show.
TEST_CASE("device memory: blocks keep their contents whatever else is allocated and freed") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    FakeServer server({.memoryLimit = 96 * kMega, .seed = seed});
    const auto session = server.attach();
    client::Device& device = session->device(0);
    client::Stream* streams[3];
    for (auto& stream : streams) REQUIRE(device.createStream({.nonBlocking = true}, &stream) == CudaError::success);
    std::mt19937_64 random(seed);
    struct Block {
      std::uint64_t bytes;
      std::uint32_t word;
    };
    std::map<std::uint64_t, Block> blocks;
    std::uint64_t used = 0;
    int wrong = 0;
    for (int step = 0; step < 300; ++step) {
      if (!blocks.empty() && random() % 100 < 45) {
        const auto it = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
        std::vector<std::uint32_t> words(it->second.bytes / 4);
        REQUIRE(copy(*streams[random() % 3], words.data(), pointer(it->first), it->second.bytes, CopyKind::deviceToHost,
                     Completion::finished) == CudaError::success);
        for (const std::uint32_t word : words) wrong += word != it->second.word;
        REQUIRE(device.memory().release(it->first) == CudaError::success);
        used -= it->second.bytes;
        blocks.erase(it);
        continue;
      }
      const std::uint64_t bytes = 4 * (1 + random() % (random() % 8 == 0 ? 2 * kMega : 20'000));
      std::uint64_t address = 0;
      const CudaError error = device.memory().allocate(bytes, &address);
      if (error == CudaError::memoryAllocation) {
        // Refusals are exact to within what the last granules of blocks waste.
        REQUIRE(used + bytes + blocks.size() * 2 * kMega > 96 * kMega);
        continue;
      }
      REQUIRE(error == CudaError::success);
      REQUIRE(isAligned(address, bytes >= kMega ? 4096 : client::kAllocationUnit));  // large ones begin with a page, as CUDA's do
      const auto word = static_cast<std::uint32_t>(random());
      blocks[address] = {bytes, word};
      used += bytes;
      client::Stream& stream = *streams[random() % 3];
      REQUIRE(fill(stream, pointer(address), word, 4, bytes / 4, Completion::queued) == CudaError::success);
      // Reading happens on any stream: order it.
      REQUIRE(stream.synchronize() == CudaError::success);
    }
    CHECK(wrong == 0);
    for (const auto& [address, block] : blocks) REQUIRE(device.memory().release(address) == CudaError::success);
    client::Event* event = nullptr;
    REQUIRE(createEvent(device, {}, &event) == CudaError::success);
    REQUIRE(event->record(device.legacyStream()) == CudaError::success);
    REQUIRE(event->synchronize() == CudaError::success);
    CHECK(server.executor(0).mappedBytes() <= 64 * kMega);
  }
}

TEST_CASE("the whole limit can be had, not one byte more, and again after it was freed") {
  FakeServer server({.memoryLimit = 64 * kMega});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  std::uint64_t freeBytes = 0, totalBytes = 0;
  REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
  CHECK(freeBytes == 64 * kMega);
  CHECK(totalBytes == 64 * kMega);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::uint64_t> blocks;
    std::uint64_t address = 0;
    for (int i = 0; i < 16; ++i) {
      REQUIRE(device.memory().allocate(4 * kMega, &address) == CudaError::success);
      blocks.push_back(address);
    }
    CHECK(device.memory().allocate(1, &address) == CudaError::memoryAllocation);
    CHECK(address == 0);
    REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
    CHECK(freeBytes == 0);
    for (const std::uint64_t block : blocks) REQUIRE(device.memory().release(block) == CudaError::success);
    REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
    CHECK(freeBytes == 64 * kMega);
    REQUIRE(device.memory().allocate(64 * kMega, &address) == CudaError::success);
    REQUIRE(device.memory().release(address) == CudaError::success);
  }
  std::uint64_t address = 0;
  CHECK(device.memory().allocate(64 * kMega + 1, &address) == CudaError::memoryAllocation);
  CHECK(device.memory().allocate(~std::uint64_t{0}, &address) == CudaError::memoryAllocation);
  CHECK(device.memory().allocate(0, &address) == CudaError::success);
  CHECK(address == 0);
  CHECK(device.asyncError() == CudaError::success);
}

TEST_CASE("a fence comes only where freed memory is used again, and none after a synchronisation") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  auto fences = [&] {
    (void)device.legacyStream().synchronize();
    return server.executor(0).count(wire::Opcode::Fence);
  };
  std::uint64_t a = 0, b = 0;
  REQUIRE(device.memory().allocate(1000, &a) == CudaError::success);
  REQUIRE(device.memory().allocate(1000, &b) == CudaError::success);
  CHECK(fences() == 0);
  REQUIRE(device.memory().release(a) == CudaError::success);
  REQUIRE(device.memory().allocate(1000, &a) == CudaError::success);
  REQUIRE(fill(device.legacyStream(), pointer(a), 1, 1, 1000, Completion::queued) == CudaError::success);
  CHECK(fences() == 1);
  REQUIRE(device.memory().release(a) == CudaError::success);
  REQUIRE(device.synchronize() == CudaError::success);
  REQUIRE(device.memory().allocate(1000, &a) == CudaError::success);
  REQUIRE(fill(device.legacyStream(), pointer(a), 1, 1, 1000, Completion::queued) == CudaError::success);
  CHECK(fences() == 1);
}

TEST_CASE("a loop of malloc and free asks for memory once") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  for (int i = 0; i < 500; ++i) {
    std::uint64_t address = 0;
    REQUIRE(device.memory().allocate(3 * kMega, &address) == CudaError::success);
    REQUIRE(device.memory().release(address) == CudaError::success);
  }
  REQUIRE(device.synchronize() == CudaError::success);
  CHECK(server.executor(0).count(wire::Opcode::MemReserve) == 1);
  CHECK(server.executor(0).count(wire::Opcode::MemMap) <= 2);
  CHECK(server.executor(0).count(wire::Opcode::MemUnmap) == 0);
}

TEST_CASE("invalid frees are refused and change nothing") {
  FakeServer server({.devices = 2});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(5000, &address) == CudaError::success);
  CHECK(device.memory().release(address + 256) == CudaError::invalidValue);
  CHECK(device.memory().release(address + (1 << 20)) == CudaError::invalidValue);
  CHECK(session->device(1).memory().release(address) == CudaError::invalidValue);
  CHECK(device.memory().release(0) == CudaError::success);
  CHECK(device.memory().release(address) == CudaError::success);
  CHECK(device.memory().release(address) == CudaError::invalidValue);
}

TEST_CASE("pointers are looked up exactly") {
  FakeServer server({.devices = 2});
  const auto session = server.attach();
  std::uint64_t device = 0;
  void *pinned = nullptr, *managed = nullptr;
  REQUIRE(session->device(1).memory().allocate(1000, &device) == CudaError::success);
  REQUIRE(session->hostHeap().allocate(3000, MemoryKind::pinned, 5, 0, &pinned) == CudaError::success);
  REQUIRE(session->hostHeap().allocate(2 * kMega, MemoryKind::managed, 1, 1, &managed) == CudaError::success);
  Allocation found;
  REQUIRE(session->findAllocation(device + 999, &found));
  CHECK(found.kind == MemoryKind::device);
  CHECK(found.deviceIndex == 1);
  CHECK(found.range == AddressRange{device, 1000});
  CHECK_FALSE(session->findAllocation(device + 1000, &found));
  REQUIRE(session->findAllocation(reinterpret_cast<std::uint64_t>(pinned) + 2999, &found));
  CHECK(found.kind == MemoryKind::pinned);
  CHECK(found.flags == 5);
  CHECK_FALSE(session->findAllocation(reinterpret_cast<std::uint64_t>(pinned) + 3000, &found));
  const std::uint64_t firstId = found.bufferId;
  REQUIRE(session->findAllocation(reinterpret_cast<std::uint64_t>(managed), &found));
  CHECK(found.kind == MemoryKind::managed);
  CHECK(found.deviceIndex == 1);
  CHECK(found.bufferId != firstId);
  int local = 0;
  CHECK_FALSE(session->findAllocation(reinterpret_cast<std::uint64_t>(&local), &found));
  CHECK(session->hostHeap().release(static_cast<char*>(pinned) + 1) == CudaError::invalidValue);
  CHECK(session->hostHeap().release(&local) == CudaError::invalidValue);
  CHECK(session->hostHeap().release(pinned) == CudaError::success);
  CHECK(session->hostHeap().release(managed) == CudaError::success);
  CHECK(session->hostHeap().release(managed) == CudaError::invalidValue);
}

TEST_CASE("pinned memory is usable at once, on every device, and comes back after it was freed") {
  FakeServer server({.devices = 2, .hostWindowBytes = 32 * kMega});
  const auto session = server.attach();
  std::uint64_t onDevice[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    REQUIRE(session->device(i).memory().allocate(2 * kMega, &onDevice[i]) == CudaError::success);
  }
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t bytes = round % 2 == 0 ? 5000 : 2 * kMega;
    void* pinned = nullptr;
    REQUIRE(session->hostHeap().allocate(bytes, MemoryKind::pinned, 0, 0, &pinned) == CudaError::success);
    std::memset(pinned, round, bytes);
    for (std::uint32_t i = 0; i < 2; ++i) {
      auto& stream = session->device(i).legacyStream();
      REQUIRE(copy(stream, pointer(onDevice[i]), pinned, bytes, CopyKind::hostToDevice, Completion::queued) ==
              CudaError::success);
    }
    // Freed with the copies still queued: they must read what was there.
    REQUIRE(session->hostHeap().release(pinned) == CudaError::success);
    for (std::uint32_t i = 0; i < 2; ++i) {
      std::vector<unsigned char> back(bytes);
      REQUIRE(copy(session->device(i).legacyStream(), back.data(), pointer(onDevice[i]), bytes, CopyKind::byAddress,
                   Completion::finished) == CudaError::success);
      CHECK(static_cast<std::size_t>(std::count(back.begin(), back.end(), static_cast<unsigned char>(round))) == bytes);
    }
  }
  void* tooMuch = nullptr;
  CHECK(session->hostHeap().allocate(64 * kMega, MemoryKind::pinned, 0, 0, &tooMuch) == CudaError::memoryAllocation);
  CHECK(session->hostHeap().allocate(0, MemoryKind::managed, 0, 0, &tooMuch) == CudaError::invalidValue);
  CHECK(session->hostHeap().allocate(0, MemoryKind::pinned, 0, 0, &tooMuch) == CudaError::success);
}

TEST_CASE("registered memory is the program's own and the device's at once") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::HostHeap& host = session->hostHeap();
  std::vector<unsigned char> buffer(3 * kMega + 123);
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<unsigned char>(i * 7);
  const std::vector<unsigned char> before = buffer;
  REQUIRE(host.registerRange(buffer.data(), buffer.size(), 2, 0) == CudaError::success);
  CHECK(buffer == before);
  CHECK(host.registerRange(buffer.data() + 100, 10, 0, 0) == client::kHostMemoryAlreadyRegistered);

  Allocation found;
  REQUIRE(session->findAllocation(reinterpret_cast<std::uint64_t>(buffer.data()) + 5, &found));
  CHECK(found.kind == MemoryKind::registered);
  CHECK(found.flags == 2);
  CHECK(found.range.bytes == buffer.size());
  const std::uint64_t alias = found.deviceBase;
  REQUIRE(session->findAllocation(alias + 5, &found));
  CHECK(found.hostBase == reinterpret_cast<std::uint64_t>(buffer.data()));

  // Through the device and back, by either name of the memory; one command each.
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(buffer.size(), &address) == CudaError::success);
  REQUIRE(device.synchronize() == CudaError::success);
  const std::uint64_t copies = server.executor(0).count(wire::Opcode::Copy);
  REQUIRE(copy(device.legacyStream(), pointer(address), buffer.data(), buffer.size(), CopyKind::hostToDevice,
               Completion::finished) == CudaError::success);
  std::memset(buffer.data(), 0, buffer.size());
  REQUIRE(copy(device.legacyStream(), pointer(alias), pointer(address), buffer.size(), CopyKind::deviceToDevice,
               Completion::finished) == CudaError::success);
  CHECK(server.executor(0).count(wire::Opcode::Copy) == copies + 2);
  CHECK(buffer == before);
  REQUIRE(fill(device.legacyStream(), buffer.data(), 9, 1, 100, Completion::finished) == CudaError::success);
  CHECK(buffer[99] == 9);

  CHECK(host.unregisterRange(buffer.data() + 1) == client::kHostMemoryNotRegistered);
  CHECK(host.release(pointer(alias)) == CudaError::invalidValue);
  REQUIRE(host.unregisterRange(buffer.data()) == CudaError::success);
  CHECK(buffer[99] == 9);
  CHECK(std::equal(buffer.begin() + 100, buffer.end(), before.begin() + 100));
  CHECK(host.unregisterRange(buffer.data()) == client::kHostMemoryNotRegistered);
  CHECK_FALSE(session->findAllocation(reinterpret_cast<std::uint64_t>(buffer.data()) + 5, &found));
  CHECK_FALSE(session->findAllocation(alias + 5, &found));
  buffer[7] = 1;  // still the program's
}

TEST_CASE("memory that cannot be registered is refused by kind") {
  FakeServer server;
  const auto session = server.attach();
  client::HostHeap& host = session->hostHeap();
  void* shared = ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(host.registerRange(shared, 8192, 0, 0) == CudaError::notSupported);
  ::munmap(shared, 8192);
  CHECK(host.registerRange(shared, 8192, 0, 0) == CudaError::invalidValue);
  CHECK(host.registerRange(nullptr, 8192, 0, 0) == CudaError::invalidValue);
  CHECK(host.registerRange(&host, 0, 0, 0) == CudaError::invalidValue);
  void* pinned = nullptr;
  REQUIRE(host.allocate(8192, MemoryKind::pinned, 0, 0, &pinned) == CudaError::success);
  CHECK(host.registerRange(pinned, 100, 0, 0) == client::kHostMemoryAlreadyRegistered);
}

TEST_CASE("a pooled block is used again at once on its stream, elsewhere only when its free is reached") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::MemoryPool& pool = device.defaultPool();
  pool.setReleaseThreshold(~std::uint64_t{0});
  client::Stream *a = nullptr, *b = nullptr;
  REQUIRE(device.createStream({.nonBlocking = true}, &a) == CudaError::success);
  REQUIRE(device.createStream({.nonBlocking = true}, &b) == CudaError::success);
  std::uint64_t first = 0, second = 0, third = 0, fourth = 0;
  REQUIRE(pool.allocate(10'000, *a, &first) == CudaError::success);
  REQUIRE(device.synchronize() == CudaError::success);
  server.executor(0).hold(true);
  REQUIRE(fill(*a, pointer(first), 1, 1, 10'000, Completion::queued) == CudaError::success);
  REQUIRE(releaseAsync(first, *a) == CudaError::success);
  CHECK(releaseAsync(first, *a) == CudaError::invalidValue);
  Allocation found;
  CHECK_FALSE(session->findAllocation(first, &found));
  REQUIRE(pool.allocate(9'900, *b, &second) == CudaError::success);
  CHECK(second != first);
  REQUIRE(pool.allocate(9'900, *a, &third) == CudaError::success);
  CHECK(third == first);
  REQUIRE(releaseAsync(third, *a) == CudaError::success);
  server.executor(0).hold(false);
  REQUIRE(device.synchronize() == CudaError::success);
  REQUIRE(pool.allocate(9'900, *b, &fourth) == CudaError::success);
  CHECK(fourth == first);
  REQUIRE(session->findAllocation(fourth, &found));
  CHECK(found.pool == pool.handle());

  const client::PoolUsage usage = pool.usage();
  CHECK(usage.usedBytes == 10'240 + 10'240);
  CHECK(usage.reservedBytes == usage.usedBytes);
  CHECK(usage.usedHighBytes == usage.usedBytes);
}

TEST_CASE("without a threshold a pool gives its memory back at a synchronisation") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::MemoryPool& pool = device.defaultPool();
  std::uint64_t address = 0;
  REQUIRE(pool.allocate(kMega, device.legacyStream(), &address) == CudaError::success);
  REQUIRE(releaseAsync(address, device.legacyStream()) == CudaError::success);
  CHECK(pool.usage().reservedBytes == kMega);
  REQUIRE(device.legacyStream().synchronize() == CudaError::success);
  CHECK(pool.usage().reservedBytes == 0);
  CHECK(pool.usage().reservedHighBytes == kMega);
  // cudaFree of a pooled block, and a block of ordinary memory freed in stream order.
  REQUIRE(pool.allocate(kMega, device.legacyStream(), &address) == CudaError::success);
  REQUIRE(device.memory().release(address) == CudaError::success);
  CHECK(pool.usage().reservedBytes == 0);
  REQUIRE(device.memory().allocate(kMega, &address) == CudaError::success);
  REQUIRE(releaseAsync(address, device.legacyStream()) == CudaError::success);
  CHECK(releaseAsync(address, device.legacyStream()) == CudaError::invalidValue);
  CHECK(releaseAsync(0, device.legacyStream()) == CudaError::invalidValue);
}

TEST_CASE("what rests in pools is there for whoever runs out of memory") {
  FakeServer server({.memoryLimit = 64 * kMega});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::MemoryPool& pool = device.defaultPool();
  pool.setReleaseThreshold(~std::uint64_t{0});
  std::uint64_t address = 0;
  REQUIRE(pool.allocate(60 * kMega, device.legacyStream(), &address) == CudaError::success);
  REQUIRE(releaseAsync(address, device.legacyStream()) == CudaError::success);
  REQUIRE(device.memory().allocate(50 * kMega, &address) == CudaError::success);
  REQUIRE(device.memory().release(address) == CudaError::success);
  client::Stream* other = nullptr;
  REQUIRE(device.createStream({}, &other) == CudaError::success);
  REQUIRE(pool.allocate(40 * kMega, device.legacyStream(), &address) == CudaError::success);
  REQUIRE(releaseAsync(address, device.legacyStream()) == CudaError::success);
  CHECK(pool.allocate(50 * kMega, *other, &address) == CudaError::success);
  CHECK(pool.allocate(50 * kMega, *other, &address) == CudaError::memoryAllocation);
}

TEST_CASE("a pool with a limit keeps to it, and ends with its last block") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::MemoryPool* pool = nullptr;
  REQUIRE(createPool(device, 4 * kMega, &pool) == CudaError::success);
  REQUIRE(device.setCurrentPool(*pool) == CudaError::success);
  std::uint64_t a = 0, b = 0;
  REQUIRE(pool->allocate(3 * kMega, device.legacyStream(), &a) == CudaError::success);
  CHECK(pool->allocate(2 * kMega, device.legacyStream(), &b) == CudaError::memoryAllocation);
  CHECK(destroyPool(device.defaultPool()) == CudaError::invalidValue);
  REQUIRE(destroyPool(*pool) == CudaError::success);
  client::MemoryPool* current = nullptr;
  REQUIRE(device.currentPool(&current) == CudaError::success);
  CHECK(current == &device.defaultPool());
  REQUIRE(fill(device.legacyStream(), pointer(a), 1, 1, 3 * kMega, Completion::queued) == CudaError::success);
  CHECK(releaseAsync(a, device.legacyStream()) == CudaError::success);
  CHECK(device.synchronize() == CudaError::success);
}

}  // namespace
}  // namespace rouse::test
