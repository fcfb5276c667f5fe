// Chunks that give their memory up, and get some again.
#include <numeric>

#include "test/conformance/backend.h"

using namespace rouse;
using namespace rouse::conformance;

TEST_CASE("a chunk that has given its memory up cannot be mapped until it has some again, which reads as zero") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const memory::Chunk chunk = bench.device->chunks().back();
  const std::uint64_t address = bench.deviceWindow.base + 100 * kGranuleBytes;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(bench.context->map(address, chunk).ok());
    CHECK(bench.read(*stream, address, kGranuleBytes) == std::vector<std::uint8_t>(kGranuleBytes, 0));
    bench.write(*stream, address, std::vector<std::uint8_t>(kGranuleBytes, static_cast<std::uint8_t>(round + 1)));
    REQUIRE(bench.becomesIdle(*bench.context));
    REQUIRE(bench.context->unmap({address, chunk.bytes}).ok());
    // Scrubbed or not.
    if (round == 1) REQUIRE(bench.device->scrub(chunk).ok());
    REQUIRE(bench.device->withdraw(chunk).ok());
    CHECK(bench.context->map(address, chunk).error().code == CudaError::invalidValue);
    CHECK(bench.device->withdraw(chunk).error().code == CudaError::invalidValue);
    REQUIRE(bench.device->supply(chunk).ok());
    CHECK(bench.device->supply(chunk).error().code == CudaError::invalidValue);
  }
  CHECK(bench.device->withdraw({static_cast<std::uint32_t>(bench.device->chunks().size()), kGranuleBytes}).error().code == CudaError::invalidValue);
  CHECK(bench.device->supply({static_cast<std::uint32_t>(bench.device->chunks().size()), kGranuleBytes}).error().code == CudaError::invalidValue);
}

TEST_CASE("a device opened with chunks that have no memory gets it chunk by chunk") {
  const std::string kind = EACH_BACKEND();
  const std::uint64_t bytes = 64 * kGranuleBytes, absent = GENERATE(std::uint64_t{10}, std::uint64_t{64}) * kGranuleBytes;
  const auto device = open(kind, 1, bytes, false, absent);
  REQUIRE(device->chunks().size() == 64);
  CHECK(device->properties().memoryBytes == bytes);
  for (const memory::Chunk& chunk : device->chunks()) {
    const bool missing = std::uint64_t{chunk.id} * kGranuleBytes < absent;
    CHECK(device->supply(chunk).ok() == missing);
    CHECK(device->withdraw(chunk).ok());
  }
}
