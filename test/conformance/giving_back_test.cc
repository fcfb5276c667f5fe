// What a function gives back, or leaves behind when it ends, while another's kernel runs: a driver may wait for that kernel inside such calls, and nobody else may.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

TEST_CASE("what a function gives back while another's kernel runs keeps nobody waiting") {
  const std::string kind = EACH_BACKEND();
  Bench first(kind, 4);
  Kernels ones(first);
  auto one = first.context->createStream(0);
  auto* go = reinterpret_cast<std::uint32_t*>(first.host(4096));
  *go = 0;
  auto second = std::make_unique<Bench>(first);
  auto twos = std::make_unique<Kernels>(*second);
  auto two = second->context->createStream(0);
  auto* word = reinterpret_cast<std::int32_t*>(second->host(4096));
  const AddressRange range{second->hostWindow.base + (std::uint64_t{64} << 20), std::uint64_t{2} << 20};
  const AddressRange behind{range.end(), range.bytes};
  REQUIRE(second->context->mapHost(range).ok());
  ones.launch(*one, "waitForFlag", {}, address(go), address(go) + 2048);

  const auto begin = std::chrono::steady_clock::now();
  CHECK(second->context->unmapHost(range).ok());
  REQUIRE(second->context->mapHost(behind).ok());
  *word = 0;
  twos->launch(*two, "store", {}, address(word));
  REQUIRE(second->finish(*two) == CudaError::success);
  CHECK(*word == 7);
  CHECK(second->becomesIdle(*two));
  // Its end as well: with its code, and all that is pinned for it.
  two.reset();
  twos.reset();
  second.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
  CHECK_FALSE(one->idle());
  std::atomic_ref(*go).store(1);
  REQUIRE(first.finish(*one) == CudaError::success);
}

TEST_CASE("host memory that was given back can be mapped again where it was, with what is there now") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  const std::uint64_t device = bench.allocate(kGranuleBytes);
  const std::uint64_t offset = std::uint64_t{64} << 20;
  const AddressRange range{bench.hostWindow.base + offset, std::uint64_t{2} << 20}, half{range.base + range.bytes / 2, range.bytes / 2};
  for (std::uint8_t round = 1; round <= 20; ++round) {
    const AddressRange mapped = round % 2 == 0 ? range : half;
    REQUIRE(bench.context->mapHost(mapped).ok());
    const std::vector<std::uint8_t> bytes(4096, round);
    REQUIRE(pwrite(bench.hostFd, bytes.data(), bytes.size(), static_cast<off_t>(offset + range.bytes / 2)) == 4096);
    bench.context->copy(*stream, linear(device, half.base, bytes.size()));
    REQUIRE(bench.finish(*stream) == CudaError::success);
    CHECK(bench.read(*stream, device, bytes.size()) == bytes);
    REQUIRE(bench.context->unmapHost(mapped).ok());
    // Its pages are gone, and others come the next time.
    REQUIRE(fallocate(bench.hostFd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(range.bytes)) == 0);
  }
}
