// Granules that come from another device's memory rather than from home. Both devices are of this process here, and of one GPU where there is
// only one; executors have one each.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "test/conformance/backend.h"
#include "test/conformance/homes.h"
#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

// A device with bytes of its own in its first granules, for others to read.
struct Lender : Bench {
  Lender(const std::string& kind, std::size_t granules) : Bench(kind), bytes(pattern(granules * kGranuleBytes, 31)) {
    stream = context->createStream(0);
    address = allocate(bytes.size());
    write(*stream, address, bytes);
    REQUIRE(becomesIdle(*context));
  }
  Result<memory::SharedChunks> share(std::size_t first, std::size_t count) {
    return device->exportChunks(std::span(device->chunks()).subspan(first, count));
  }
  // What it has in memory still.
  std::vector<std::uint8_t> now() { return read(*stream, address, bytes.size()); }

  std::vector<std::uint8_t> bytes;
  std::unique_ptr<memory::Stream> stream;
  std::uint64_t address = 0;
};

// Says so where a kind of device shares nothing.
bool sharesChunks(Bench& bench, const std::string& kind) {
  const auto shared = bench.device->exportChunks(std::span(bench.device->chunks()).first(1));
  if (shared) return true;
  CHECK(shared.error().code == CudaError::notSupported);
  CHECK_FALSE(shared.error().message.empty());
  leaveOut(kind + " shares no memory here: " + shared.error().message);
  return false;
}

}  // namespace

TEST_CASE("granules come from another device's chunks, beside others from home, and neither is changed", "[peer]") {
  const std::string kind = EACH_BACKEND();
  constexpr std::size_t kGranules = 12;
  Lender lender(kind, kGranules);
  if (!sharesChunks(lender, kind)) return;
  Bench bench(kind);
  Homes homes(*bench.device, kGranules);
  const auto atHome = pattern(kGranules * kGranuleBytes, 32);
  std::memcpy(homes[0], atHome.data(), atHome.size());
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 32 * kGranuleBytes;
  for (int round = 0; round < 3; ++round) {
    auto shared = lender.share(0, kGranules);
    REQUIRE(shared);
    CHECK(shared->device == lender.device->properties().uuid);
    CHECK(shared->places.size() == kGranules);
    auto peers = bench.device->importChunks(std::move(*shared));
    if (!peers) FAIL(peers.error().message);
    REQUIRE(peers->size() == kGranules);
    std::vector<memory::Arrival> arrivals;
    std::vector<std::uint8_t> expected;
    for (std::size_t i = 0; i < kGranules; ++i) {
      const bool fromPeer = i % 3 != 1;  // the bytes at home are others, to tell them apart
      arrivals.push_back({address + i * kGranuleBytes, bench.device->chunks()[60 + i], homes[i], fromPeer ? (*peers)[i].get() : nullptr});
      const auto& source = fromPeer ? lender.bytes : atHome;
      expected.insert(expected.end(), source.begin() + static_cast<std::ptrdiff_t>(i * kGranuleBytes),
                      source.begin() + static_cast<std::ptrdiff_t>((i + 1) * kGranuleBytes));
    }
    bench.context->restore(*stream, arrivals);
    CHECK(bench.read(*stream, address, expected.size()) == expected);
    REQUIRE(bench.becomesIdle(*bench.context));
    if (bench.device->properties().noticesWrites) {
      std::vector<std::uint64_t> written;
      bench.context->takeWritten(written);
      CHECK(written.empty());
    }
    peers->clear();
    // It is a copy.
    std::vector<std::uint8_t> other(expected.size(), 0x5a);
    bench.write(*stream, address, other);
    CHECK(lender.now() == lender.bytes);
    REQUIRE(bench.becomesIdle(*bench.context));
    REQUIRE(bench.context->unmap({address, expected.size()}));
  }
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("a granule that another device has and that is used before its turn comes from there", "[peer]") {
  const std::string kind = EACH_BACKEND();
  constexpr std::size_t kGranules = 24;
  Lender lender(kind, kGranules);
  if (!lender.device->properties().arrivesOnDemand) return leaveOut(kind + " brings nothing on demand");
  if (!sharesChunks(lender, kind)) return;
  Bench bench(kind, 4);
  Homes homes(*bench.device, kGranules);
  Kernels kernels(bench);
  const auto coming = bench.context->createStream(0), working = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 1024 * kGranuleBytes;
  auto shared = lender.share(0, kGranules);
  REQUIRE(shared);
  const auto peers = bench.device->importChunks(std::move(*shared));
  REQUIRE(peers);
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < kGranules; ++i)
    arrivals.push_back({address + i * kGranuleBytes, bench.device->chunks()[60 + i], homes[i], (*peers)[i].get()});
  bench.context->restore(*coming, arrivals);
  const std::uint64_t last = address + (kGranules - 1) * kGranuleBytes;
  kernels.launch(*working, "store", {.grid = {64}, .block = {256}}, last);
  REQUIRE(bench.finish(*working) == CudaError::success);
  REQUIRE(bench.finish(*coming) == CudaError::success);
  auto expected = lender.bytes;
  for (std::size_t i = 0; i < 64 * 256; ++i) {
    const int seven = 7;
    std::memcpy(expected.data() + (kGranules - 1) * kGranuleBytes + i * 4, &seven, 4);
  }
  CHECK(bench.read(*working, address, expected.size()) == expected);
  CHECK(lender.now() == lender.bytes);
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("what a device has shared can be read when that device is gone", "[peer]") {
  const std::string kind = EACH_BACKEND();
  auto lender = std::make_unique<Lender>(kind, 4);
  if (!sharesChunks(*lender, kind)) return;
  if (!sharesMemory(kind)) return leaveOut(kind + ": within one process the memory ends with its context");
  const auto bytes = lender->bytes;
  Bench bench(kind);
  Homes homes(*bench.device, 4);
  const auto stream = bench.context->createStream(0);
  auto shared = lender->share(0, 4);
  REQUIRE(shared);
  const auto peers = bench.device->importChunks(std::move(*shared));
  REQUIRE(peers);
  lender.reset();
  const std::uint64_t address = bench.deviceWindow.base + 32 * kGranuleBytes;
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < 4; ++i) arrivals.push_back({address + i * kGranuleBytes, bench.device->chunks()[60 + i], homes[i], (*peers)[i].get()});
  bench.context->restore(*stream, arrivals);
  CHECK(bench.read(*stream, address, bytes.size()) == bytes);
  REQUIRE(bench.becomesIdle(*bench.context));
}

TEST_CASE("what cannot be shared, or is no memory of a device, is refused", "[peer]") {
  const std::string kind = EACH_BACKEND();
  Lender lender(kind, 2);
  if (!sharesChunks(lender, kind)) return;
  const memory::Chunk none{static_cast<std::uint32_t>(lender.device->chunks().size()), kGranuleBytes};
  CHECK(lender.device->exportChunks(std::span(&none, 1)).error().code == CudaError::invalidValue);

  Bench bench(kind);
  const auto refused = [&](auto&& change) {
    auto shared = lender.share(0, 2);
    REQUIRE(shared);
    change(*shared);
    const auto imported = bench.device->importChunks(std::move(*shared));
    return !imported && !imported.error().message.empty();
  };
  CHECK_FALSE(refused([](memory::SharedChunks&) {}));
  CHECK(refused([](memory::SharedChunks& shared) { shared.fds.clear(); }));
  CHECK(refused([](memory::SharedChunks& shared) { shared.places[1].descriptor = 9; }));
  CHECK(refused([](memory::SharedChunks& shared) { shared.places[1].offset += 4096; }));
  CHECK(refused([](memory::SharedChunks& shared) { shared.places[0].offset = std::uint64_t{1} << 60; }));
  if (kind == "cuda") {  // which maps what a descriptor stands for whole
    for (const std::uint64_t bytes : {std::uint64_t{0}, kGranuleBytes - 4096, 33 * kGranuleBytes, ~std::uint64_t{0}})
      CHECK(refused([&](memory::SharedChunks& shared) {
        for (auto& place : shared.places) place.memoryBytes = bytes;
      }));
    CHECK(refused([](memory::SharedChunks& shared) { shared.places[1] = {0, kGranuleBytes, 2 * kGranuleBytes}; }));  // of one descriptor two sizes, or more than it has
    CHECK(refused([](memory::SharedChunks& shared) { shared.places[0].offset = shared.places[0].memoryBytes; }));
  }
  // Another file: its owner could cut it off under the reader.
  CHECK(refused([](memory::SharedChunks& shared) {
    for (auto& fd : shared.fds) {
      fd = wire::OwnedFd(memfd_create("other", MFD_CLOEXEC));
      REQUIRE(ftruncate(fd.get(), 64 * kGranuleBytes) == 0);
    }
  }));
}
