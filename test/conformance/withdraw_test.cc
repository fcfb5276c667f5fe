// Chunks that give their memory up, and get some again.
#include <numeric>

#include "test/conformance/homes.h"
#include "test/conformance/variable.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

Status withdraw(memory::Device& device, memory::Chunk chunk) { return device.withdraw(std::span(&chunk, 1)); }

Status supply(memory::Device& device, memory::Chunk chunk) {
  const auto supplied = device.supply(std::span(&chunk, 1));
  if (!supplied) return supplied.error();
  CHECK(*supplied == 1);
  return {};
}

}  // namespace

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
    REQUIRE(withdraw(*bench.device, chunk).ok());
    CHECK(bench.context->map(address, chunk).error().code == CudaError::invalidValue);
    CHECK(withdraw(*bench.device, chunk).error().code == CudaError::invalidValue);
    REQUIRE(supply(*bench.device, chunk).ok());
    CHECK(supply(*bench.device, chunk).error().code == CudaError::invalidValue);
  }
  CHECK(withdraw(*bench.device, {static_cast<std::uint32_t>(bench.device->chunks().size()), kGranuleBytes}).error().code == CudaError::invalidValue);
  CHECK(supply(*bench.device, {static_cast<std::uint32_t>(bench.device->chunks().size()), kGranuleBytes}).error().code == CudaError::invalidValue);
}

TEST_CASE("a device opened with chunks that have no memory gets it chunk by chunk") {
  const std::string kind = EACH_BACKEND();
  const std::uint64_t bytes = 64 * kGranuleBytes, absent = GENERATE(std::uint64_t{10}, std::uint64_t{64}) * kGranuleBytes;
  const auto device = open(kind, 1, bytes, false, absent);
  REQUIRE(device->chunks().size() == 64);
  CHECK(device->properties().memoryBytes == bytes);
  CHECK(device->acquisitions().allocatedBytes == bytes - absent);
  for (const memory::Chunk& chunk : device->chunks()) {
    const bool missing = std::uint64_t{chunk.id} * kGranuleBytes < absent;
    CHECK(supply(*device, chunk).ok() == missing);
    CHECK(withdraw(*device, chunk).ok());
  }
  CHECK(device->acquisitions().allocatedBytes == 0);
}

TEST_CASE("several chunks at once give their memory up, and get some again, while their neighbours keep theirs") {
  Bench bench(EACH_BACKEND());
  const auto stream = bench.context->createStream(0);
  const auto chunks = bench.device->chunks();
  const std::uint64_t address = bench.deviceWindow.base;
  constexpr std::size_t kFirst = 37, kCount = 50;
  REQUIRE(bench.context->map(address, chunks.subspan(kFirst - 1, 1)).ok());
  REQUIRE(bench.context->map(address + kGranuleBytes, chunks.subspan(kFirst + kCount, 1)).ok());
  const auto beside = pattern(2 * kGranuleBytes, 61);
  bench.write(*stream, address, beside);
  for (int round = 0; round < 3; ++round) {
    const auto some = chunks.subspan(kFirst, kCount);
    REQUIRE(bench.device->withdraw(some).ok());
    CHECK(bench.device->acquisitions().allocatedBytes == (chunks.size() - kCount) * kGranuleBytes);
    CHECK(bench.device->withdraw(some.last(1)).error().code == CudaError::invalidValue);
    CHECK(bench.context->map(address + 8 * kGranuleBytes, some.first(3)).error().code == CudaError::invalidValue);
    CHECK(bench.device->supply(chunks.subspan(kFirst + 3, kCount)).error().code == CudaError::invalidValue);  // one of them has some
    auto supplied = bench.device->supply(some.first(11));
    REQUIRE((supplied && *supplied == 11));
    supplied = bench.device->supply(some.subspan(11));
    REQUIRE((supplied && *supplied == kCount - 11));
    CHECK(bench.device->acquisitions().allocatedBytes == chunks.size() * kGranuleBytes);
    const std::uint64_t there = address + 8 * kGranuleBytes;
    REQUIRE(bench.context->map(there, some).ok());
    for (const std::size_t i : {0, 10, 11, 30, 49})
      CHECK(bench.read(*stream, there + i * kGranuleBytes, 64) == std::vector<std::uint8_t>(64, 0));
    memory::FillShape fill;
    fill.destination = there;
    fill.width = kCount * kGranuleBytes;
    fill.value = 0xee;
    bench.context->fill(*stream, fill);
    REQUIRE(bench.finish(*stream) == CudaError::success);
    REQUIRE(bench.becomesIdle(*bench.context));
    REQUIRE(bench.context->unmap({there, kCount * kGranuleBytes}).ok());
  }
  CHECK(bench.read(*stream, address, beside.size()) == beside);
  REQUIRE(bench.becomesIdle(*bench.context));
}

TEST_CASE("where there is memory for some chunks only, the first of them get it") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to have less");
  Bench bench("cuda");
  const auto chunks = bench.device->chunks();
  const auto some = chunks.subspan(32, 40);
  REQUIRE(bench.device->withdraw(some).ok());
  {
    const std::string left = std::to_string(bench.device->properties().memoryBytes - 31 * kGranuleBytes);  // others have taken 31
    const Variable free("ROUSE_DOUBLE_FREE_BYTES", left.c_str());
    const auto supplied = bench.device->supply(some);
    REQUIRE(supplied);
    CHECK(*supplied == 9);
    const auto none = bench.device->supply(some.subspan(9));
    REQUIRE(none);
    CHECK(*none == 0);
    CHECK(bench.device->acquisitions().allocatedBytes == (chunks.size() - 31) * kGranuleBytes);
  }
  const auto rest = bench.device->supply(some.subspan(9));
  REQUIRE(rest);
  CHECK(*rest == 31);
  CHECK(bench.device->acquisitions().allocatedBytes == chunks.size() * kGranuleBytes);
  REQUIRE(bench.context->map(bench.deviceWindow.base, chunks.subspan(20, 60)).ok());
}
