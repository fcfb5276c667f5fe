// One chunk for the same bytes in several contexts, until somebody writes them.
#include <algorithm>
#include <cstring>
#include <thread>

#include "test/conformance/homes.h"
#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

void restore(Bench& bench, memory::Stream& stream, std::uint64_t address, Homes& homes, std::size_t granules, std::size_t firstChunk) {
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

constexpr std::size_t kFirstChunk = 20;  // nothing else is allocated there

// Two functions, of which the first has restored granules with `bytes` and the second shares them.
struct Pair {
  explicit Pair(const std::string& kind, std::size_t granules)
      : one(kind, 4), other(one), homes(*one.device, granules), bytes(pattern(granules * kGranuleBytes, 29)), count(granules) {
    std::memcpy(homes[0], bytes.data(), bytes.size());
    address = one.deviceWindow.base + 1024 * kGranuleBytes;
    otherAddress = other.deviceWindow.base + 2000 * kGranuleBytes;
    stream = one.context->createStream(0);
    otherStream = other.context->createStream(0);
    come();
  }
  void come() {
    restore(one, *stream, address, homes, count, kFirstChunk);
    REQUIRE(one.finish(*stream) == CudaError::success);
    for (std::size_t i = 0; i < count; ++i) {
      REQUIRE(one.context->share(at(i), chunk(i)).value());
      REQUIRE(other.context->share(otherAt(i), chunk(i)).value());
    }
  }
  void leave() {
    copied();
    REQUIRE(one.becomesIdle(*one.context));
    REQUIRE(other.becomesIdle(*other.context));
    REQUIRE(one.context->unmap({address, count * kGranuleBytes}));
    REQUIRE(other.context->unmap({otherAddress, count * kGranuleBytes}));
  }
  memory::Chunk chunk(std::size_t granule) const { return one.device->chunks()[kFirstChunk + granule]; }
  std::uint64_t at(std::size_t granule) const { return address + granule * kGranuleBytes; }
  std::uint64_t otherAt(std::size_t granule) const { return otherAddress + granule * kGranuleBytes; }
  std::vector<std::uint8_t> all() { return one.read(*stream, address, bytes.size()); }
  std::vector<std::uint8_t> otherAll() { return other.read(*otherStream, otherAddress, bytes.size()); }
  // Granules of the first that have been copied since it was asked last, ascending.
  std::vector<std::uint64_t> copied() { return sorted(*one.context); }
  std::vector<std::uint64_t> otherCopied() { return sorted(*other.context); }
  static std::vector<std::uint64_t> sorted(memory::Context& context) {
    std::vector<std::uint64_t> addresses;
    context.takeCopied(addresses);
    std::sort(addresses.begin(), addresses.end());
    return addresses;
  }

  Bench one, other;
  Homes homes;
  std::vector<std::uint8_t> bytes;
  std::size_t count;
  std::uint64_t address = 0, otherAddress = 0;
  std::unique_ptr<memory::Stream> stream, otherStream;
};

bool shares(const std::string& kind) {
  Bench bench(kind);
  if (bench.device->properties().copiesOnWrite) return true;
  CHECK(bench.context->share(bench.deviceWindow.base, bench.device->chunks()[0]).error().code == CudaError::notSupported);
  leaveOut(kind + " has no chunk for more than one granule");
  return false;
}

// Says where they differ, rather than all that they are.
bool same(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  if (a == b) return true;
  const auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  UNSCOPED_INFO(a.size() << " and " << b.size() << " bytes, of which " << first - a.begin() << " is " << int{*first} << " and " << int{*second});
  return false;
}

void store(std::uint64_t address, std::uint8_t value) { *reinterpret_cast<volatile std::uint8_t*>(address) = value; }

}  // namespace

TEST_CASE("shared chunks: what one function writes, in whatever way, the other does not see") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  Pair pair(kind, 12);
  CHECK(same(pair.all(), pair.bytes));
  CHECK(same(pair.otherAll(), pair.bytes));
  CHECK(pair.copied().empty());  // reading is not writing
  CHECK(writtenAfter(pair.one, *pair.stream).empty());

  Kernels kernels(pair.one);
  std::uint8_t* host = pair.one.host(kGranuleBytes);
  std::memset(host, 1, kGranuleBytes);
  auto expected = pair.bytes;
  const auto expect = [&](std::uint64_t address, std::uint64_t bytes, std::uint8_t value) {
    std::memset(expected.data() + (address - pair.address), value, bytes);
  };
  pair.one.context->copy(*pair.stream, linear(pair.at(1) + 5, conformance::address(host), 3));
  expect(pair.at(1) + 5, 3, 1);
  pair.one.context->copyInline(*pair.stream, pair.at(2) + kGranuleBytes - 1, {reinterpret_cast<std::byte*>(host), 1});
  expect(pair.at(3) - 1, 1, 1);
  memory::FillShape fill;
  fill.destination = pair.at(3) + kGranuleBytes - 8;
  fill.width = 16;
  fill.value = 9;
  pair.one.context->fill(*pair.stream, fill);
  expect(pair.at(4) - 8, 16, 9);
  pair.one.context->copy(*pair.stream, linear(pair.at(6), conformance::address(host), kGranuleBytes));
  expect(pair.at(6), kGranuleBytes, 1);
  kernels.launch(*pair.stream, "storeApart", {.grid = {2}, .block = {1}}, pair.at(8), static_cast<unsigned>(kGranuleBytes / 4), 0x07070707);
  expect(pair.at(8), 4, 7);
  expect(pair.at(9), 4, 7);
  CHECK(same(pair.all(), expected));
  CHECK(same(pair.otherAll(), pair.bytes));
  const std::vector<std::uint64_t> told{pair.at(1), pair.at(2), pair.at(3), pair.at(4), pair.at(6), pair.at(8), pair.at(9)};
  CHECK(pair.copied() == told);
  CHECK(pair.copied().empty());  // once
  CHECK(writtenAfter(pair.one, *pair.stream) == told);

  // Written again: there is nothing to copy.
  pair.one.context->copyInline(*pair.stream, pair.at(1), {reinterpret_cast<std::byte*>(host), 1});
  expect(pair.at(1), 1, 1);
  CHECK(same(pair.all(), expected));
  CHECK(pair.copied().empty());

  // Copies settle in chunks of their own, go home from there, and are watched as anything else is.
  for (std::size_t i = 0; i < told.size(); ++i) {
    pair.one.context->settle(*pair.stream, told[i], pair.one.device->chunks()[50 + i]);
    pair.one.context->save(*pair.stream, told[i], pair.homes[(told[i] - pair.address) / kGranuleBytes]);
  }
  REQUIRE(pair.one.finish(*pair.stream) == CudaError::success);
  REQUIRE(pair.one.becomesIdle(*pair.one.context));
  CHECK(same(pair.all(), expected));
  CHECK(std::memcmp(pair.homes[0], expected.data(), expected.size()) == 0);
  for (const std::uint64_t address : told) REQUIRE(pair.one.context->noticeWrites({address, kGranuleBytes}));
  const std::byte two{2};
  pair.one.context->copyInline(*pair.stream, told[0], {&two, 1});
  expect(told[0], 1, 2);
  CHECK(writtenAfter(pair.one, *pair.stream) == std::vector<std::uint64_t>{told[0]});
  CHECK(pair.copied().empty());
  CHECK(same(pair.all(), expected));
  CHECK(same(pair.otherAll(), pair.bytes));
  CHECK(pair.one.observer.faults().empty());
}

TEST_CASE("shared chunks: a granule that settled can be shared in its turn") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  Pair pair(kind, 2);
  store(pair.at(0), 77);
  CHECK(pair.copied() == std::vector<std::uint64_t>{pair.at(0)});
  CHECK_FALSE(pair.one.context->share(pair.at(0), pair.chunk(0)).value());  // it has been written
  CHECK(writtenAfter(pair.one, *pair.stream).size() == 1);
  const memory::Chunk chunk = pair.one.device->chunks()[50];
  pair.one.context->settle(*pair.stream, pair.at(0), chunk);
  REQUIRE(pair.one.finish(*pair.stream) == CudaError::success);
  REQUIRE(pair.one.becomesIdle(*pair.one.context));
  REQUIRE(pair.one.context->noticeWrites({pair.at(0), kGranuleBytes}));
  REQUIRE(pair.one.context->share(pair.at(0), chunk).value());
  REQUIRE(pair.other.context->share(pair.otherAt(8), chunk).value());
  auto expected = std::vector<std::uint8_t>(pair.bytes.begin(), pair.bytes.begin() + kGranuleBytes);
  expected[0] = 77;
  CHECK(same(pair.other.read(*pair.otherStream, pair.otherAt(8), kGranuleBytes), expected));
  store(pair.otherAt(8), 1);
  CHECK(same(pair.one.read(*pair.stream, pair.at(0), kGranuleBytes), expected));
}

TEST_CASE("shared chunks: kernels write each of many granules at once, and nobody has put chunks aside for them") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  constexpr std::size_t kGranules = 24;
  Pair pair(kind, kGranules);
  Kernels kernels(pair.one), otherKernels(pair.other);
  for (int round = 0; round < 4; ++round) {
    const auto stride = static_cast<unsigned>(kGranuleBytes / 4);
    kernels.launch(*pair.stream, "storeApart", {.grid = {kGranules}, .block = {32}}, pair.address, stride, 0x01010101);
    otherKernels.launch(*pair.otherStream, "storeApart", {.grid = {kGranules}, .block = {32}}, pair.otherAddress, stride, 0x02020202);
    auto expected = pair.bytes, otherExpected = pair.bytes;
    for (std::size_t i = 0; i < kGranules; ++i) {
      std::memset(expected.data() + i * kGranuleBytes, 1, 4);
      std::memset(otherExpected.data() + i * kGranuleBytes, 2, 4);
    }
    CHECK(same(pair.all(), expected));
    CHECK(same(pair.otherAll(), otherExpected));
    CHECK(pair.copied().size() == kGranules);
    CHECK(pair.otherCopied().size() == kGranules);
    pair.leave();
    pair.come();
    CHECK(same(pair.all(), pair.bytes));
  }
  CHECK(pair.one.observer.faults().empty());
  CHECK(pair.other.observer.faults().empty());
}

// Plain stores: see visit_test.cc.
TEST_CASE("shared chunks: threads of both functions write the same granules for the first time, and no write is lost") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  constexpr std::size_t kGranules = 6;
  constexpr unsigned kThreads = 3;
  Pair pair(kind, kGranules);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::thread> threads;
    std::atomic<bool> go{false};
    for (unsigned t = 0; t < 2 * kThreads; ++t)
      threads.emplace_back([&, t] {
        while (!go.load()) {
        }
        const std::uint64_t base = t < kThreads ? pair.address : pair.otherAddress;
        for (std::size_t i = 0; i < kGranules; ++i) store(base + i * kGranuleBytes + t * 4096, static_cast<std::uint8_t>(round + t));
      });
    go = true;
    for (auto& thread : threads) thread.join();
    auto expected = pair.bytes, otherExpected = pair.bytes;
    for (std::size_t i = 0; i < kGranules; ++i)
      for (unsigned t = 0; t < 2 * kThreads; ++t)
        (t < kThreads ? expected : otherExpected)[i * kGranuleBytes + t * 4096] = static_cast<std::uint8_t>(round + t);
    CHECK(same(pair.all(), expected));
    CHECK(same(pair.otherAll(), otherExpected));
    CHECK(pair.copied().size() == kGranules);
    CHECK(pair.otherCopied().size() == kGranules);
    pair.leave();
    pair.come();
  }
}

TEST_CASE("shared chunks: who reads all the time sees no write of another's, nor anything else than its bytes while its chunk is exchanged") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  constexpr std::size_t kGranules = 4;
  Pair pair(kind, kGranules);
  // The same bytes in two chunks each.
  Bench third(pair.one);
  const auto stream = third.context->createStream(0);
  const std::uint64_t base = third.deviceWindow.base + 512 * kGranuleBytes;
  restore(third, *stream, base, pair.homes, kGranules, 40);
  REQUIRE(third.finish(*stream) == CudaError::success);
  for (std::size_t i = 0; i < kGranules; ++i) REQUIRE(third.context->share(base + i * kGranuleBytes, third.device->chunks()[40 + i]).value());

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reads{0}, wrong{0};
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 2; ++t)
    readers.emplace_back([&, t] {
      for (std::uint64_t i = t; !stop.load(std::memory_order_relaxed); i += 4099) {
        const std::uint64_t at = i % (kGranules * kGranuleBytes);
        const std::uint8_t seen = *reinterpret_cast<volatile std::uint8_t*>(pair.address + at);
        wrong += seen != pair.bytes[at];
        ++reads;
      }
    });
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i < kGranules; ++i) {
      REQUIRE(pair.one.context->share(pair.at(i), round % 2 == 0 ? third.device->chunks()[40 + i] : pair.chunk(i)).value());
      if (round % 8 == 0) store(pair.otherAt(i) + static_cast<std::uint64_t>(round), 0xee);
    }
    if (round % 8 != 7) continue;
    pair.otherCopied();
    REQUIRE(pair.other.context->unmap({pair.otherAddress, kGranules * kGranuleBytes}));
    for (std::size_t i = 0; i < kGranules; ++i) REQUIRE(pair.other.context->share(pair.otherAt(i), pair.chunk(i)).value());
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  CHECK(reads > 1000);
  CHECK(wrong == 0);
}

TEST_CASE("shared chunks: a write while the chunk is exchanged is in the granule, or nothing was exchanged") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  Pair pair(kind, 1);
  for (int round = 0; round < 60; ++round) {
    std::atomic<bool> go{false};
    std::thread writer([&] {
      while (!go.load()) {
      }
      store(pair.at(0) + 5, static_cast<std::uint8_t>(round));
    });
    go = true;
    // Its own chunk: what is exchanged is who may write there.
    for (int i = 0; i < 20; ++i) (void)pair.one.context->share(pair.at(0), pair.chunk(0)).value();
    writer.join();
    auto expected = pair.bytes;
    expected[5] = static_cast<std::uint8_t>(round);
    CHECK(same(pair.all(), expected));
    CHECK(same(pair.otherAll(), pair.bytes));
    CHECK_FALSE(pair.one.context->share(pair.at(0), pair.chunk(0)).value());
    pair.leave();
    pair.come();
  }
}

TEST_CASE("shared chunks: whose chunk is nobody else's any more writes it where it is") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  Pair pair(kind, 2);
  REQUIRE(pair.other.becomesIdle(*pair.other.context));
  REQUIRE(pair.other.context->unmap({pair.otherAddress, 2 * kGranuleBytes}));
  pair.one.context->own(pair.at(0));
  store(pair.at(0), 42);
  store(pair.at(1), 43);
  CHECK(pair.copied() == std::vector<std::uint64_t>{pair.at(1)});
  pair.one.context->own(pair.at(1));  // which is too late
  auto expected = pair.bytes;
  expected[0] = 42;
  expected[kGranuleBytes] = 43;
  CHECK(same(pair.all(), expected));
  CHECK(writtenAfter(pair.one, *pair.stream) == std::vector<std::uint64_t>{pair.at(0), pair.at(1)});
  // The chunk was written in the first case alone.
  REQUIRE(pair.other.context->share(pair.otherAt(1), pair.chunk(1)).value());
  CHECK(pair.other.read(*pair.otherStream, pair.otherAt(1), 1)[0] == pair.bytes[kGranuleBytes]);
}

TEST_CASE("shared chunks: what has not come yet is not shared, nor what is no granule") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  Pair pair(kind, 1);
  const std::uint64_t coming = pair.at(16);
  wire::Slot& gate = pair.one.slots[7];
  pair.one.context->waitFor(*pair.stream, gate, 1);
  const memory::Arrival arrival{coming, pair.one.device->chunks()[50], pair.homes[0]};
  pair.one.context->restore(*pair.stream, {&arrival, 1});
  CHECK_FALSE(pair.one.context->share(coming, arrival.chunk).value());
  gate.value.store(1);
  REQUIRE(pair.one.finish(*pair.stream) == CudaError::success);
  CHECK(pair.one.context->share(coming, arrival.chunk).value());
  CHECK_FALSE(pair.one.context->share(coming + 1, arrival.chunk).ok());
  CHECK_FALSE(pair.one.context->share(pair.one.deviceWindow.end(), arrival.chunk).ok());
  CHECK_FALSE(pair.one.context->share(coming + kGranuleBytes, {100'000, kGranuleBytes}).ok());
  // One that is mapped and was never watched may have been written at any time.
  CHECK_FALSE(pair.one.context->share(pair.one.allocate(kGranuleBytes), pair.one.device->chunks()[0]).value());
}

TEST_CASE("shared chunks: a function that ends leaves the others theirs") {
  const std::string kind = EACH_BACKEND();
  if (!shares(kind)) return;
  Pair pair(kind, 3);
  store(pair.at(1), 1);
  pair.stream.reset();
  REQUIRE(pair.one.becomesIdle(*pair.one.context));
  pair.one.context.reset();
  CHECK(same(pair.otherAll(), pair.bytes));
  store(pair.otherAt(0), 3);
  CHECK(pair.otherAll()[0] == 3);
}
