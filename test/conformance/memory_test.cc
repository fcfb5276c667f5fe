// Chunks, windows, host memory, scrubbing, properties.
#include <unistd.h>

#include <cstring>
#include <set>

#include "test/conformance/backend.h"

using namespace rouse;
using namespace rouse::conformance;

TEST_CASE("a device says who it is") {
  const auto device = open(EACH_BACKEND());
  const memory::DeviceProperties& properties = device->properties();
  CHECK_FALSE(properties.name.empty());
  CHECK(properties.uuid.substr(0, 4) == "GPU-");
  CHECK(properties.uuid.size() == 40);
  CHECK(properties.pciAddress.size() == 12);
  CHECK(properties.computeMajor >= 7);
  REQUIRE(properties.attributes.size() > 106);
  CHECK(properties.attributes[10] == 32);   // warp size
  CHECK(properties.attributes[1] >= 1024);  // threads per block
  CHECK(properties.attributes[16] >= 1);    // multiprocessors
  CHECK(properties.attributes[39] >= properties.attributes[1]);
  CHECK(properties.attributes[97] >= properties.attributes[8]);   // opt-in and default shared memory
  CHECK(properties.attributes[81] >= properties.attributes[97]);  // a multiprocessor's
  CHECK(properties.attributes[75] == static_cast<std::int32_t>(properties.computeMajor));
  CHECK(properties.attributes[76] == static_cast<std::int32_t>(properties.computeMinor));
}

TEST_CASE("a device measures its link when it is asked to, in both directions, and leaves nothing behind") {
  const std::string kind = EACH_BACKEND();
  {
    const auto unasked = open(kind);
    CHECK(unasked->properties().link.toDevice.empty());
    CHECK(unasked->properties().link.toHost.empty());
  }
  // Also with less memory than the largest block.
  const std::uint64_t bytes = GENERATE(std::uint64_t{2} << 20, std::uint64_t{256} << 20);
  const auto device = open(kind, 1, bytes, true);
  CHECK(device->chunks().size() * kGranuleBytes == bytes);
  for (const memory::LinkCurve& curve : {device->properties().link.toDevice, device->properties().link.toHost}) {
    REQUIRE_FALSE(curve.empty());
    CHECK(curve.front().bytes == std::uint64_t{64} << 10);
    CHECK(curve.back().bytes <= std::uint64_t{32} << 20);
    for (std::size_t i = 0; i < curve.size(); ++i) {
      CHECK(curve[i].bytesPerSecond > 0);
      CHECK((i == 0 || curve[i].bytes == 2 * curve[i - 1].bytes));
    }
    CHECK(memory::elbow(curve) >= curve.front().bytes);
  }
}

TEST_CASE("chunks are all of the memory, each with its own number") {
  const auto device = open(EACH_BACKEND(), 1, std::uint64_t{64} << 20);
  std::set<std::uint32_t> ids;
  std::uint64_t bytes = 0;
  for (const memory::Chunk& chunk : device->chunks()) {
    CHECK(chunk.bytes % kGranuleBytes == 0);
    CHECK(chunk.bytes != 0);
    ids.insert(chunk.id);
    bytes += chunk.bytes;
  }
  CHECK(ids.size() == device->chunks().size());
  CHECK(bytes == device->properties().memoryBytes);
  CHECK(bytes <= std::uint64_t{64} << 20);
}

TEST_CASE("fresh memory reads as zero, keeps what is written, and moves with its chunk") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const memory::Chunk chunk = bench.device->chunks().back();
  const std::uint64_t first = bench.deviceWindow.base + 100 * kGranuleBytes;
  const std::uint64_t second = bench.deviceWindow.base + 7 * kGranuleBytes;
  REQUIRE(bench.context->map(first, chunk).ok());
  CHECK(bench.read(*stream, first, 4096) == std::vector<std::uint8_t>(4096, 0));
  const std::vector<std::uint8_t> text{'r', 'o', 'u', 's', 'e'};
  bench.write(*stream, first + kGranuleBytes - 5, text);
  REQUIRE(bench.context->unmap({first, chunk.bytes}).ok());
  REQUIRE(bench.context->map(second, chunk).ok());
  CHECK(bench.read(*stream, second + kGranuleBytes - 5, 5) == text);
}

TEST_CASE("a scrubbed chunk reads as zero") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const memory::Chunk chunk = bench.device->chunks().front();
  REQUIRE(bench.context->map(bench.deviceWindow.base, chunk).ok());
  memory::FillShape fill;
  fill.destination = bench.deviceWindow.base;
  fill.width = chunk.bytes;
  fill.value = 0xab;
  bench.context->fill(*stream, fill);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.context->unmap({bench.deviceWindow.base, chunk.bytes}).ok());
  REQUIRE(bench.device->scrub(chunk).ok());
  REQUIRE(bench.context->map(bench.deviceWindow.base, chunk).ok());
  CHECK(bench.read(*stream, bench.deviceWindow.base, chunk.bytes) == std::vector<std::uint8_t>(chunk.bytes, 0));
}

TEST_CASE("mapping outside the window, or a chunk that does not exist, is refused") {
  Bench bench(EACH_BACKEND());
  const memory::Chunk chunk = bench.device->chunks().front();
  CHECK_FALSE(bench.context->map(bench.deviceWindow.base - kGranuleBytes, chunk).ok());
  CHECK_FALSE(bench.context->map(bench.deviceWindow.end() - kGranuleBytes + 4096, chunk).ok());
  CHECK_FALSE(bench.context->map(bench.deviceWindow.base, {0xffff'ffff, kGranuleBytes}).ok());
  CHECK_FALSE(bench.context->unmap({bench.deviceWindow.end(), kGranuleBytes}).ok());
  CHECK_FALSE(bench.context->mapHost({bench.hostWindow.end() - 4096, 8192}).ok());
  CHECK_FALSE(bench.device->scrub({0xffff'ffff, kGranuleBytes}).ok());
}

TEST_CASE("the host window is the descriptor's memory") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t device = bench.allocate(kGranuleBytes);
  const AddressRange range{bench.hostWindow.base + 65536, 8192};
  REQUIRE(bench.context->mapHost(range).ok());
  const char text[] = "from the other side";
  REQUIRE(pwrite(bench.hostFd, text, sizeof text, 65536 + 4090) == sizeof text);
  bench.context->copy(*stream, linear(device, range.base + 4090, sizeof text));
  bench.context->copy(*stream, linear(range.base, device, sizeof text));
  REQUIRE(bench.finish(*stream) == CudaError::success);
  char back[sizeof text] = {};
  REQUIRE(pread(bench.hostFd, back, sizeof back, 65536) == sizeof back);
  CHECK(std::memcmp(text, back, sizeof text) == 0);
  CHECK(bench.context->unmapHost(range).ok());
}

TEST_CASE("contexts do not see one another's windows, and give them back") {
  const std::string kind = EACH_BACKEND();
  const auto device = open(kind);
  Observer observer;
  memory::ContextOptions options;
  options.deviceWindow = freeAddresses(64 * kGranuleBytes);
  {
    auto first = device->createContext(options, observer);
    REQUIRE(first.ok());
    CHECK_FALSE(device->createContext(options, observer).ok());
  }
  CHECK(device->createContext(options, observer).ok());
}
