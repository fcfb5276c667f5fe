#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <thread>

#include "client-shim/core/copy.h"
#include "client-shim/core/copy_plan.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/session.h"
#include "client-shim/core/staging.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Completion;
using client::CopyKind;
using client::CopyShape;
using client::MemoryKind;
using Bytes = std::vector<unsigned char>;

Bytes randomBytes(std::mt19937_64& random, std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(random());
  return bytes;
}

// A buffer somewhere, and what it should hold.
struct Buffer {
  enum class Where { pageable, pinned, registered, device0, device1 } where;
  Bytes own;
  unsigned char* at = nullptr;
  Bytes model;
};
constexpr std::size_t kBufferBytes = 1'500'000;

class Arena {
 public:
  Arena(client::Session& session, std::mt19937_64& random) : session_(session) {
    for (int i = 0; i < 10; ++i) {
      auto& buffer = *buffers.emplace_back(std::make_unique<Buffer>());
      buffer.where = static_cast<Buffer::Where>(i % 5);
      buffer.model = randomBytes(random, kBufferBytes);
      if (buffer.where == Buffer::Where::pageable || buffer.where == Buffer::Where::registered) {
        buffer.own = buffer.model;
        buffer.at = buffer.own.data();
        if (buffer.where == Buffer::Where::registered) {
          REQUIRE(session.hostHeap().registerRange(buffer.at, kBufferBytes, 0, 0) == CudaError::success);
        }
      } else if (buffer.where == Buffer::Where::pinned) {
        void* pinned = nullptr;
        REQUIRE(session.hostHeap().allocate(kBufferBytes, MemoryKind::pinned, 0, 0, &pinned) == CudaError::success);
        buffer.at = static_cast<unsigned char*>(pinned);
        std::memcpy(buffer.at, buffer.model.data(), kBufferBytes);
      } else {
        client::Device& device = session.device(buffer.where == Buffer::Where::device0 ? 0 : 1);
        std::uint64_t address = 0;
        REQUIRE(device.memory().allocate(kBufferBytes, &address) == CudaError::success);
        buffer.at = reinterpret_cast<unsigned char*>(address);
        REQUIRE(copy(device.legacyStream(), buffer.at, buffer.model.data(), kBufferBytes, CopyKind::hostToDevice,
                     Completion::finished) == CudaError::success);
      }
    }
  }
  ~Arena() {
    for (auto& buffer : buffers) {
      if (buffer->where == Buffer::Where::registered) (void)session_.hostHeap().unregisterRange(buffer->at);
    }
  }
  // Every byte is what the model says.
  void check() {
    for (std::uint32_t i = 0; i < session_.deviceCount(); ++i)
      REQUIRE(session_.device(i).synchronize() == CudaError::success);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      CAPTURE(i);
      Buffer& buffer = *buffers[i];
      Bytes now(kBufferBytes);
      if (buffer.where == Buffer::Where::device0 || buffer.where == Buffer::Where::device1) {
        REQUIRE(copy(session_.device(0).legacyStream(), now.data(), buffer.at, kBufferBytes, CopyKind::byAddress,
                     Completion::finished) == CudaError::success);
      } else {
        std::memcpy(now.data(), buffer.at, kBufferBytes);
      }
      REQUIRE((now == buffer.model));
    }
  }
  std::vector<std::unique_ptr<Buffer>> buffers;

 private:
  client::Session& session_;
};

TEST_CASE("copies of every kind, flat and pitched, on streams of either device, do what the model does") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    FakeServer server({.devices = 2, .seed = seed});
    const auto session = server.attach();
    std::mt19937_64 random(seed);
    Arena arena(*session, random);
    client::Stream* streams[2];
    for (std::uint32_t i = 0; i < 2; ++i) {
      REQUIRE(session->device(i).createStream({.nonBlocking = true}, &streams[i]) == CudaError::success);
    }
    client::Stream* last = nullptr;
    for (int step = 0; step < 120; ++step) {
      Buffer& to = *arena.buffers[random() % arena.buffers.size()];
      Buffer& from = *arena.buffers[random() % arena.buffers.size()];
      if (&to == &from) continue;
      client::Stream& stream = *streams[random() % 2];
      // Streams are unordered between each other; the model is not.
      if (last != nullptr && last != &stream) REQUIRE(last->synchronize() == CudaError::success);
      last = &stream;
      const Completion completion = random() % 2 == 0 ? Completion::queued : Completion::finished;
      CopyShape shape;
      if (random() % 2 == 0) {
        const std::size_t sizes[] = {1, 100, 16'384, 16'385, 65'536, 300'000, 1'200'000};
        shape.width = 1 + random() % sizes[random() % 7];
        shape.destinationPitch = shape.sourcePitch = shape.destinationSlicePitch = shape.sourceSlicePitch = shape.width;
      } else {
        shape.width = 1 + random() % (random() % 4 == 0 ? 300'000 : 3000);
        shape.height = 1 + random() % 12;
        shape.depth = 1 + random() % 4;
        auto pitch = [&] { return shape.width + (random() % 3 == 0 ? 0 : random() % 200); };
        shape.destinationPitch = pitch();
        shape.sourcePitch = pitch();
        auto slice = [&](std::uint64_t p) { return p * (shape.height + (random() % 2 == 0 ? 0 : random() % 3)); };
        shape.destinationSlicePitch = slice(shape.destinationPitch);
        shape.sourceSlicePitch = slice(shape.sourcePitch);
      }
      std::uint64_t toExtent = 0, fromExtent = 0;
      const client::Box box{shape.width, shape.height, shape.depth};
      REQUIRE(client::extentOf(box, shape.destinationPitch, shape.destinationSlicePitch, &toExtent));
      REQUIRE(client::extentOf(box, shape.sourcePitch, shape.sourceSlicePitch, &fromExtent));
      if (toExtent > kBufferBytes || fromExtent > kBufferBytes) continue;
      const std::size_t toOffset = random() % (kBufferBytes - toExtent + 1);
      const std::size_t fromOffset = random() % (kBufferBytes - fromExtent + 1);
      shape.destination = to.at + toOffset;
      shape.source = from.at + fromOffset;
      REQUIRE(copy(stream, shape, CopyKind::byAddress, completion) == CudaError::success);
      for (std::uint64_t z = 0; z < shape.depth; ++z) {
        for (std::uint64_t y = 0; y < shape.height; ++y) {
          std::memcpy(to.model.data() + toOffset + z * shape.destinationSlicePitch + y * shape.destinationPitch,
                      from.model.data() + fromOffset + z * shape.sourceSlicePitch + y * shape.sourcePitch, shape.width);
        }
      }
      // The program may do what it likes with a pageable source now; a pageable destination is complete now.
      if (from.where == Buffer::Where::pageable) {
        std::memset(from.at + fromOffset, step, shape.width);
        std::memset(from.model.data() + fromOffset, step, shape.width);
      }
      if (to.where == Buffer::Where::pageable) REQUIRE(std::memcmp(to.at, to.model.data(), kBufferBytes) == 0);
      // Pinned memory is written by its device only; before the host touches it, the stream is waited for.
      const bool hostSide = to.where == Buffer::Where::pinned || to.where == Buffer::Where::registered;
      if (hostSide && completion == Completion::finished) {
        REQUIRE(std::memcmp(to.at, to.model.data(), kBufferBytes) == 0);
      }
      if (step % 40 == 39) arena.check();
    }
    arena.check();
  }
}

TEST_CASE("memset of every shape and element does what the model does") {
  FakeServer server({.devices = 2});
  const auto session = server.attach();
  std::mt19937_64 random(5);
  Arena arena(*session, random);
  for (int step = 0; step < 200; ++step) {
    Buffer& to = *arena.buffers[random() % arena.buffers.size()];
    client::Stream& stream = session->device(random() % 2).legacyStream();
    const auto value = static_cast<std::uint32_t>(random());
    CudaError error;
    if (random() % 2 == 0) {
      const std::uint32_t element = std::uint32_t{1} << (random() % 3);
      const std::size_t count = 1 + random() % 5000;
      const std::size_t offset = 4 * (random() % ((kBufferBytes - count * element) / 4));
      error = fill(stream, to.at + offset, value, element, count, Completion::finished);
      if (to.where != Buffer::Where::pageable) {
        for (std::size_t i = 0; i < count; ++i) std::memcpy(to.model.data() + offset + i * element, &value, element);
      }
    } else {
      const std::uint64_t width = 1 + random() % 500, height = 1 + random() % 9, depth = 1 + random() % 5;
      const std::uint64_t pitch = width + random() % 2 * 32, slice = pitch * (height + random() % 2);
      const std::size_t offset = random() % 1000;
      error = fill3D(stream, to.at + offset, pitch, slice, static_cast<std::uint8_t>(value), width, height, depth,
                     Completion::finished);
      if (to.where != Buffer::Where::pageable) {
        for (std::uint64_t z = 0; z < depth; ++z) {
          for (std::uint64_t y = 0; y < height; ++y) {
            std::memset(to.model.data() + offset + z * slice + y * pitch, static_cast<int>(value & 255), width);
          }
        }
      }
    }
    REQUIRE(error == (to.where == Buffer::Where::pageable ? CudaError::invalidValue : CudaError::success));
    for (std::uint32_t i = 0; i < 2; ++i) REQUIRE(session->device(i).synchronize() == CudaError::success);
  }
  arena.check();
}

TEST_CASE("a device's memory may stand for the host's in a copy that names a device") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  auto& stream = device.legacyStream();
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(300, &address) == CudaError::success);
  auto* memory = reinterpret_cast<unsigned char*>(address);
  const auto now = Completion::finished;
  Bytes host(300), back(300);
  for (std::size_t i = 0; i < 100; ++i) host[i] = static_cast<unsigned char>(7 * i + 1);
  REQUIRE(copy(stream, memory, host.data(), 100, CopyKind::hostToDevice, now) == CudaError::success);
  CHECK(copy(stream, memory + 100, memory, 100, CopyKind::hostToDevice, now) == CudaError::success);
  CHECK(copy(stream, memory + 200, memory, 100, CopyKind::deviceToHost, now) == CudaError::success);
  REQUIRE(copy(stream, back.data(), memory, 300, CopyKind::deviceToHost, now) == CudaError::success);
  for (std::size_t i = 0; i < 300; ++i) REQUIRE(back[i] == host[i % 100]);
}

TEST_CASE("copies that leave their allocation, or contradict their kind, copy nothing") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  auto& stream = device.legacyStream();
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(1000, &address) == CudaError::success);
  auto* memory = reinterpret_cast<unsigned char*>(address);
  Bytes host(4096);
  void* pinned = nullptr;
  REQUIRE(session->hostHeap().allocate(1000, MemoryKind::pinned, 0, 0, &pinned) == CudaError::success);
  const auto now = Completion::finished;
  CHECK(copy(stream, memory, host.data(), 1001, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  CHECK(copy(stream, memory + 999, host.data(), 2, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  CHECK(copy(stream, memory + 999, host.data(), 1, CopyKind::hostToDevice, now) == CudaError::success);
  CHECK(copy(stream, host.data(), memory, 1001, CopyKind::deviceToHost, now) == CudaError::invalidValue);
  CHECK(copy(stream, pinned, memory, 1001, CopyKind::deviceToHost, now) == CudaError::invalidValue);
  CHECK(copy(stream, nullptr, memory, 10, CopyKind::deviceToHost, now) == CudaError::invalidValue);
  CHECK(copy(stream, host.data(), nullptr, 10, CopyKind::deviceToHost, now) == CudaError::invalidValue);
  CHECK(copy(stream, nullptr, nullptr, 0, CopyKind::deviceToHost, now) == CudaError::success);
  CHECK(copy(stream, host.data(), host.data() + 100, 10, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  CHECK(copy(stream, memory, memory + 100, 10, CopyKind::hostToHost, now) == CudaError::invalidValue);
  CHECK(copy(stream, memory, memory + 995, 10, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  CHECK(copy(stream, host.data(), memory, 10, CopyKind::deviceToDevice, now) == CudaError::invalidValue);
  CHECK(copy(stream, pinned, memory, 10, CopyKind::deviceToDevice, now) == CudaError::success);
  CHECK(copy(stream, memory, host.data(), 10, static_cast<CopyKind>(9), now) == CudaError::invalidMemcpyDirection);
  CHECK(copy(stream, memory, host.data(), ~std::uint64_t{0}, CopyKind::byAddress, now) == CudaError::invalidValue);
  CopyShape shape{memory, 8, 80, host.data(), 10, 100, 10, 10, 1};
  CHECK(copy(stream, shape, CopyKind::hostToDevice, now) == CudaError::invalidPitchValue);
  shape.destinationPitch = 110;
  CHECK(copy(stream, shape, CopyKind::hostToDevice, now) == CudaError::success);
  shape.destinationPitch = 111;
  CHECK(copy(stream, shape, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  shape.height = ~std::uint64_t{0};
  CHECK(copy(stream, shape, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  REQUIRE(device.memory().release(address) == CudaError::success);
  CHECK(copy(stream, memory, host.data(), 10, CopyKind::hostToDevice, now) == CudaError::invalidValue);
  CHECK(fill(stream, memory, 1, 1, 10, now) == CudaError::invalidValue);
  CHECK(fill(stream, host.data(), 1, 1, 10, now) == CudaError::invalidValue);
  CHECK(fill(stream, pinned, 1, 3, 10, now) == CudaError::invalidValue);
  CHECK(fill(stream, pinned, 1, 4, 251, now) == CudaError::invalidValue);
  CHECK(fill(stream, static_cast<char*>(pinned) + 1, 1, 4, 1, now) == CudaError::invalidValue);
}

char hostFunctionBytes[64];
// The copy that reads these bytes is ordered behind this function by way of the executor, which a race detector that
// watches one process does not see.
__attribute__((no_sanitize("thread"))) void writeTwos(void*, CudaError) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (volatile char& byte : hostFunctionBytes) byte = 2;
}

TEST_CASE("a synchronous upload reads its source after the stream's host functions") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(64, &address) == CudaError::success);
  std::memset(hostFunctionBytes, 1, sizeof hostFunctionBytes);
  REQUIRE(device.legacyStream().launchHostFunction(writeTwos, nullptr, false) == CudaError::success);
  REQUIRE(copy(device.legacyStream(), reinterpret_cast<void*>(address), hostFunctionBytes, 64, CopyKind::hostToDevice,
               Completion::finished) == CudaError::success);
  char back[64] = {};
  REQUIRE(copy(device.legacyStream(), back, reinterpret_cast<void*>(address), 64, CopyKind::deviceToHost,
               Completion::finished) == CudaError::success);
  CHECK(back[0] == 2);
  CHECK(back[63] == 2);
}

TEST_CASE("pieces of staging go to one holder at a time and come back when their mark is reached") {
  FakeServer server;
  const auto session = server.attach();
  client::Staging& staging = session->staging();
  std::vector<client::Staging::Piece> pieces;
  for (std::uint32_t i = 0; i < client::Staging::kPieces; ++i) {
    pieces.push_back(staging.tryAcquire());
    REQUIRE(pieces.back());
    for (std::size_t j = 0; j + 1 < pieces.size(); ++j) REQUIRE(pieces[j].address() != pieces.back().address());
  }
  CHECK_FALSE(staging.tryAcquire());
  const std::uint64_t fifth = pieces[5].address();
  pieces[5].releaseAfter({1, 10}, 0);
  CHECK_FALSE(staging.tryAcquire());
  std::thread signaller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    session->slot(1).value.store(10);
  });
  CHECK(staging.acquire(0).address() == fifth);
  signaller.join();
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    pieces[7].release();
  });
  auto sixth = staging.acquire(0);
  CHECK(sixth);
  auto seventh = staging.acquire(0);
  CHECK(seventh);
  releaser.join();
}

TEST_CASE("shapes are simplified to what is equal and no further") {
  using client::Box;
  using client::Side;
  auto simplified = [](Box box, std::uint64_t pitchA, std::uint64_t sliceA, std::uint64_t pitchB,
                       std::uint64_t sliceB) {
    Side a{0, pitchA, sliceA}, b{0, pitchB, sliceB};
    client::simplify(box, a, b);
    return std::tuple(box.width, box.height, box.depth);
  };
  CHECK(simplified({10, 4, 3}, 10, 40, 10, 40) == std::tuple(120, 1, 1));
  CHECK(simplified({10, 4, 3}, 10, 50, 10, 40) == std::tuple(40, 3, 1));
  CHECK(simplified({10, 4, 3}, 12, 48, 10, 40) == std::tuple(10, 4, 3));
  CHECK(simplified({10, 4, 1}, 10, 0, 10, 999) == std::tuple(40, 1, 1));
  CHECK(simplified({10, 1, 3}, 999, 10, 7, 10) == std::tuple(30, 1, 1));
  CHECK(simplified({10, 1, 3}, 999, 16, 7, 10) == std::tuple(10, 3, 1));
  CHECK(simplified({10, 1, 1}, 0, 0, 0, 0) == std::tuple(10, 1, 1));
}

}  // namespace
}  // namespace rouse::test
