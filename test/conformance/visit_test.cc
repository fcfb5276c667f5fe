// Granules that leave for host memory and come back, elsewhere or much later.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "test/conformance/backend.h"
#include "test/conformance/homes.h"
#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

void restore(Bench& bench, memory::Stream& stream, std::uint64_t address, Homes& homes, std::size_t granules,
             std::size_t firstChunk = 60) {
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < granules; ++i)
    arrivals.push_back({address + i * kGranuleBytes, bench.device->chunks()[firstChunk + i], homes[i]});
  bench.context->restore(stream, arrivals);
}

// What the device has noticed by the time that all of the stream is done; ascending.
std::vector<std::uint64_t> writtenAfter(Bench& bench, memory::Stream& stream) {
  REQUIRE(bench.finish(stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  std::vector<std::uint64_t> addresses;
  bench.context->takeWritten(addresses);
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

}  // namespace

TEST_CASE("a granule goes home and comes back in another chunk with the same bytes") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Homes homes(*bench.device, 3);
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.allocate(3 * kGranuleBytes);
  const auto bytes = pattern(3 * kGranuleBytes, 7);
  bench.write(*stream, address, bytes);
  for (std::size_t i = 0; i < 3; ++i) bench.context->save(*stream, address + i * kGranuleBytes, homes[2 - i]);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(std::memcmp(homes[2 - i], bytes.data() + i * kGranuleBytes, kGranuleBytes) == 0);

  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap({address, 3 * kGranuleBytes}));
  const auto chunks = bench.device->chunks();
  // The chunks it had are somebody else's now; nobody scrubs what is overwritten whole.
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < 3; ++i)
    arrivals.push_back({address + i * kGranuleBytes, chunks[chunks.size() - 1 - 2 * i], homes[2 - i]});
  bench.context->restore(*stream, arrivals);
  CHECK(bench.read(*stream, address, 3 * kGranuleBytes) == bytes);
}

TEST_CASE("what is queued behind a restore sees its bytes") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Homes homes(*bench.device, 16);
  const auto stream = bench.context->createStream(0), other = bench.context->createStream(0);
  const auto event = bench.context->createEvent();
  const auto bytes = pattern(16 * kGranuleBytes, 11);
  std::memcpy(homes[0], bytes.data(), bytes.size());
  const std::uint64_t address = bench.deviceWindow.base + 32 * kGranuleBytes;
  for (int round = 0; round < 4; ++round) {
    restore(bench, *stream, address, homes, 16, 40);
    bench.context->record(*stream, *event);
    bench.context->wait(*other, *event);
    CHECK(bench.read(*other, address, bytes.size()) == bytes);
    REQUIRE(bench.becomesIdle(*bench.context));
    REQUIRE(bench.context->unmap({address, bytes.size()}));
  }
}

TEST_CASE("a device that notices writes tells which restored granules were written, by whatever work") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  if (!bench.device->properties().noticesWrites) return leaveOut(kind + " does not notice writes");
  constexpr std::size_t kGranules = 12;
  Homes homes(*bench.device, kGranules);
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 8 * kGranuleBytes;
  const auto bytes = pattern(kGranules * kGranuleBytes, 3);
  std::memcpy(homes[0], bytes.data(), bytes.size());
  std::uint8_t* host = bench.host(kGranuleBytes);
  std::memset(host, 1, kGranuleBytes);
  const auto at = [&](std::size_t granule) { return address + granule * kGranuleBytes; };
  const auto come = [&] { restore(bench, *stream, address, homes, kGranules); };
  const auto written = [&] { return writtenAfter(bench, *stream); };

  come();
  CHECK(written().empty());
  CHECK(bench.read(*stream, address, bytes.size()) == bytes);  // reading is not writing
  CHECK(written().empty());

  bench.context->copy(*stream, linear(at(1) + 5, conformance::address(host), 3));  // small, where it is met
  bench.context->copyInline(*stream, at(2) + kGranuleBytes - 1, {reinterpret_cast<std::byte*>(host), 1});
  memory::FillShape fill;
  fill.destination = at(3) + kGranuleBytes - 8;
  fill.width = 16;  // and the first bytes of granule 4
  fill.value = 9;
  bench.context->fill(*stream, fill);
  bench.context->copy(*stream, linear(at(6), at(0), 2 * kGranuleBytes));  // large, by workers
  CHECK(written() == std::vector<std::uint64_t>{at(1), at(2), at(3), at(4), at(6), at(7)});
  CHECK(written().empty());  // told once
  bench.context->copyInline(*stream, at(1), {reinterpret_cast<std::byte*>(host), 1});
  CHECK(written().empty());

  // A second visit starts anew, also for what was not asked about.
  bench.context->copyInline(*stream, at(8), {reinterpret_cast<std::byte*>(host), 1});
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap({address, bytes.size()}));
  come();
  CHECK(written().empty());
  CHECK(bench.read(*stream, address, bytes.size()) == bytes);
  bench.context->copyInline(*stream, at(8), {reinterpret_cast<std::byte*>(host), 1});
  CHECK(written() == std::vector<std::uint64_t>{at(8)});
}

TEST_CASE("granules that were saved where they are count as restored: the next write to each is noticed again") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  if (!bench.device->properties().noticesWrites) {
    CHECK(bench.context->noticeWrites({bench.deviceWindow.base, kGranuleBytes}).error().code == CudaError::notSupported);
    return leaveOut(kind + " does not notice writes");
  }
  Homes homes(*bench.device, 8);
  Kernels kernels(bench);
  const auto stream = bench.context->createStream(0);
  // Three that were never restored, three that were.
  const std::uint64_t address = bench.allocate(3 * kGranuleBytes);
  const std::uint64_t later = address + 3 * kGranuleBytes;
  const auto bytes = pattern(3 * kGranuleBytes, 17);
  bench.write(*stream, address, bytes);
  std::memcpy(homes[3], bytes.data(), bytes.size());
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < 3; ++i) arrivals.push_back({later + i * kGranuleBytes, bench.device->chunks()[60 + i], homes[3 + i]});
  bench.context->restore(*stream, arrivals);
  const auto written = [&] { return writtenAfter(bench, *stream); };
  const std::byte one{1};
  bench.context->copyInline(*stream, later + kGranuleBytes, {&one, 1});
  CHECK(written() == std::vector<std::uint64_t>{later + kGranuleBytes});
  for (int round = 0; round < 3; ++round) {
    REQUIRE(bench.context->noticeWrites({address, 3 * kGranuleBytes}));
    REQUIRE(bench.context->noticeWrites({later + kGranuleBytes, kGranuleBytes}));
    CHECK(written().empty());
    auto expected = bench.read(*stream, address, 6 * kGranuleBytes);  // reading is not writing
    CHECK(written().empty());
    // Half of a granule and half of the next, by workers; a byte; and one that stayed as it was restored.
    kernels.launch(*stream, "store", {.grid = {kGranuleBytes / sizeof(int) / 256}, .block = {256}}, address + kGranuleBytes / 2);
    bench.context->copyInline(*stream, later + kGranuleBytes + 9, {&one, 1});
    if (round == 0) bench.context->copyInline(*stream, later, {&one, 1});
    std::vector<std::uint64_t> told{address, address + kGranuleBytes};
    if (round == 0) told.push_back(later);
    told.push_back(later + kGranuleBytes);
    CHECK(written() == told);
    for (std::uint64_t i = 0; i < kGranuleBytes; i += 4) {
      const int seven = 7;
      std::memcpy(expected.data() + kGranuleBytes / 2 + i, &seven, 4);
    }
    expected[4 * kGranuleBytes + 9] = 1;
    expected[3 * kGranuleBytes] = round == 0 ? 1 : expected[3 * kGranuleBytes];
    CHECK(bench.read(*stream, address, 6 * kGranuleBytes) == expected);
    REQUIRE(bench.becomesIdle(*bench.context));
  }
  CHECK_FALSE(bench.context->noticeWrites({bench.deviceWindow.base - kGranuleBytes, kGranuleBytes}));
  CHECK_FALSE(bench.context->noticeWrites({address + 1, kGranuleBytes}));
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("granules may stay mapped and unused while others come, and leave one by one") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Homes homes(*bench.device, 6);
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 32 * kGranuleBytes;
  const auto bytes = pattern(6 * kGranuleBytes, 23);
  std::memcpy(homes[0], bytes.data(), bytes.size());
  restore(bench, *stream, address, homes, 6, 40);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  // Two of them give up their chunks, from the end; each is restored in the chunk of the other.
  for (const std::size_t gone : {4, 2}) REQUIRE(bench.context->unmap({address + gone * kGranuleBytes, kGranuleBytes}));
  const auto chunks = bench.device->chunks();
  const memory::Arrival arrivals[] = {{address + 2 * kGranuleBytes, chunks[44], homes[2]},
                                      {address + 4 * kGranuleBytes, chunks[42], homes[4]}};
  bench.context->restore(*stream, arrivals);
  CHECK(bench.read(*stream, address, bytes.size()) == bytes);
  REQUIRE(bench.becomesIdle(*bench.context));
  std::vector<memory::PageFingerprint> prints(6);
  REQUIRE(bench.context->fingerprint(*stream, {1, 2}, {address, bytes.size()}, prints));
  REQUIRE(bench.finish(*stream) == CudaError::success);
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("kernels write restored granules, and it is noticed where a device notices") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Homes homes(*bench.device, 4);
  Kernels kernels(bench);
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 1024 * kGranuleBytes;
  restore(bench, *stream, address, homes, 4);
  // Two granules, with a first write from many blocks at a time.
  const std::uint32_t blocks = 2 * kGranuleBytes / sizeof(int) / 256;
  kernels.launch(*stream, "store", {.grid = {blocks}, .block = {256}}, address + kGranuleBytes);
  const auto back = bench.read(*stream, address, 4 * kGranuleBytes);
  for (std::uint64_t i = 0; i < back.size(); i += 4) {
    const bool stored = i >= kGranuleBytes && i < 3 * kGranuleBytes;
    if (back[i] != (stored ? 7 : 0)) FAIL("byte " << i << " is " << int{back[i]});
  }
  CHECK(bench.observer.faults().empty());
  if (!bench.device->properties().noticesWrites) return;
  REQUIRE(bench.becomesIdle(*bench.context));
  std::vector<std::uint64_t> written;
  bench.context->takeWritten(written);
  std::sort(written.begin(), written.end());
  CHECK(written == std::vector<std::uint64_t>{address + kGranuleBytes, address + 2 * kGranuleBytes});
}

TEST_CASE("a granule that is used before its turn comes there and then, with the right bytes") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind, 4);
  if (!bench.device->properties().arrivesOnDemand) return leaveOut(kind + " brings nothing on demand");
  constexpr std::size_t kGranules = 24;
  Homes homes(*bench.device, kGranules);
  Kernels kernels(bench);
  const auto coming = bench.context->createStream(0), working = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 1024 * kGranuleBytes;
  const auto bytes = pattern(kGranules * kGranuleBytes, 5);
  for (int round = 0; round < 6; ++round) {
    std::memcpy(homes[0], bytes.data(), bytes.size());
    restore(bench, *coming, address, homes, kGranules);
    // From the end, without waiting for anything: kernels that write, copies that read.
    const std::uint64_t last = address + (kGranules - 2) * kGranuleBytes;
    kernels.launch(*working, "store", {.grid = {64}, .block = {256}}, last);
    std::uint8_t* host = bench.host(kGranuleBytes);
    bench.context->copy(*working, linear(conformance::address(host), last - kGranuleBytes, kGranuleBytes));
    REQUIRE(bench.finish(*working) == CudaError::success);
    CHECK(std::memcmp(host, bytes.data() + (kGranules - 3) * kGranuleBytes, kGranuleBytes) == 0);
    REQUIRE(bench.finish(*coming) == CudaError::success);
    auto expected = bytes;
    for (std::size_t i = 0; i < 64 * 256; ++i) {
      const int seven = 7;
      std::memcpy(expected.data() + (kGranules - 2) * kGranuleBytes + i * 4, &seven, 4);
    }
    CHECK(bench.read(*working, address, bytes.size()) == expected);
    REQUIRE(bench.becomesIdle(*bench.context));
    std::vector<std::uint64_t> written;
    bench.context->takeWritten(written);
    CHECK(written == std::vector<std::uint64_t>{last});
    REQUIRE(bench.context->unmap({address, bytes.size()}));
  }
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("what has not been restored, or has left, is not there for kernels") {
  const auto able = kindsThat(containsFaults);
  if (leftOut(able)) return;
  const std::string kind = GENERATE_COPY(from_range(able));
  Bench bench(kind);
  Homes homes(*bench.device, 2);
  Kernels kernels(bench);
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 1024 * kGranuleBytes;
  restore(bench, *stream, address, homes, 1);
  kernels.launch(*stream, "store", {.grid = {1}, .block = {32}}, address);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap({address, kGranuleBytes}));
  kernels.launch(*stream, "store", {.grid = {1}, .block = {32}}, address);
  CHECK(bench.finish(*stream) == CudaError::illegalAddress);
}

// Plain stores: ThreadSanitizer holds a lock of its own during an atomic one, which the handler's atomics would wait for.
TEST_CASE("many threads that write the same granules for the first time are all let through") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind, 4);
  if (!bench.device->properties().noticesWrites) return leaveOut(kind + " does not notice writes");
  constexpr std::size_t kGranules = 8;
  Homes homes(*bench.device, kGranules);
  const auto copying = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 8 * kGranuleBytes;
  for (int round = 0; round < 20; ++round) {
    restore(bench, *copying, address, homes, kGranules);
    REQUIRE(bench.finish(*copying) == CudaError::success);
    std::vector<std::thread> threads;
    std::atomic<bool> go{false};
    for (unsigned t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        while (!go.load()) {
        }
        for (std::size_t i = 0; i < kGranules; ++i)
          *reinterpret_cast<volatile std::uint8_t*>(address + i * kGranuleBytes + t * 64) =
              static_cast<std::uint8_t>(round + 1);
      });
    go = true;
    for (auto& thread : threads) thread.join();
    std::vector<std::uint64_t> addresses;
    REQUIRE(bench.becomesIdle(*bench.context));
    bench.context->takeWritten(addresses);
    CHECK(addresses.size() == kGranules);
    const auto back = bench.read(*copying, address, kGranules * kGranuleBytes);
    for (std::size_t i = 0; i < kGranules; ++i)
      for (unsigned t = 0; t < 4; ++t) CHECK(back[i * kGranuleBytes + t * 64] == round + 1);
    REQUIRE(bench.becomesIdle(*bench.context));
    REQUIRE(bench.context->unmap({address, kGranules * kGranuleBytes}));
  }
}
