// Chunks that are mapped several at a time: a device may do that in one piece, of which parts leave and stay.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "test/conformance/homes.h"
#include "test/conformance/kernels.h"
#include "test/conformance/variable.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

constexpr std::uint64_t kG = kGranuleBytes;

void fill(Bench& bench, memory::Stream& stream, std::uint64_t address, std::uint64_t granules, std::uint8_t value) {
  memory::FillShape shape;
  shape.destination = address;
  shape.width = granules * kG;
  shape.value = value;
  bench.context->fill(stream, shape);
}

// The first and the last word of a granule.
std::vector<std::uint8_t> ends(Bench& bench, memory::Stream& stream, std::uint64_t granule) {
  auto bytes = bench.read(stream, granule, 8);
  const auto last = bench.read(stream, granule + kG - 8, 8);
  bytes.insert(bytes.end(), last.begin(), last.end());
  return bytes;
}

std::vector<std::uint8_t> allOf(std::uint8_t value) { return std::vector<std::uint8_t>(16, value); }

}  // namespace

TEST_CASE("a part of what was mapped at once leaves, and the rest keeps its bytes, at its address") {
  Bench bench(EACH_BACKEND());
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.allocate(40 * kG);
  const auto bytes = pattern(40 * kG, 17);
  bench.write(*stream, address, bytes);
  REQUIRE(bench.becomesIdle(*bench.context));
  struct Part {
    std::uint64_t first, count;
  };
  for (const Part part : {Part{3, 1}, Part{4, 5}, Part{30, 4}, Part{39, 1}, Part{0, 3}}) {
    REQUIRE(bench.context->unmappable({address + part.first * kG, part.count * kG}));
    REQUIRE(bench.context->unmap({address + part.first * kG, part.count * kG}).ok());
  }
  for (std::uint64_t i = 9; i < 39; ++i) {
    if (i >= 30 && i < 34) continue;
    const auto read = bench.read(*stream, address + i * kG, kG);
    if (std::memcmp(read.data(), bytes.data() + i * kG, kG) != 0) FAIL("granule " << i);
  }
  REQUIRE(bench.becomesIdle(*bench.context));
  std::vector<memory::PageFingerprint> prints(21);
  CHECK(bench.context->fingerprint(*stream, {1, 2}, {address + 9 * kG, 21 * kG}, prints).ok());
  CHECK_FALSE(bench.context->fingerprint(*stream, {1, 2}, {address + 8 * kG, 21 * kG}, prints).ok());
  REQUIRE(bench.finish(*stream) == CudaError::success);
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("what is mapped together is known, and can leave together") {
  Bench bench(EACH_BACKEND());
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.allocate(29 * kG);
  fill(bench, *stream, address, 29, 5);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  const AddressRange all{address, 29 * kG};
  std::vector<AddressRange> pieces;
  for (std::uint64_t at = address; at != all.end(); at = pieces.back().end()) {
    pieces.push_back(bench.context->together({at, kG}));
    REQUIRE(pieces.back().base == at);
    REQUIRE(all.contains(pieces.back()));
    for (std::uint64_t each = at; each != pieces.back().end(); each += kG) CHECK(bench.context->together({each, kG}) == pieces.back());
  }
  CHECK(bench.context->together(all) == all);
  const auto moves = callsOnDouble("cuMemCreate");
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(3));
  while (!pieces.empty()) {
    REQUIRE(bench.context->unmap(pieces.back()).ok());
    pieces.pop_back();
    for (const AddressRange& left : pieces) CHECK(ends(bench, *stream, left.base) == allOf(5));
    REQUIRE(bench.becomesIdle(*bench.context));
  }
  CHECK(callsOnDouble("cuMemCreate") == moves);
}

TEST_CASE("chunks may be mapped once, and in whatever order") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  const auto stream = bench.context->createStream(0);
  const std::uint64_t address = bench.deviceWindow.base + 64 * kG;
  const auto chunks = bench.device->chunks();
  std::vector<memory::Chunk> mixed(chunks.begin() + 7, chunks.begin() + 50);
  std::shuffle(mixed.begin() + 10, mixed.end(), std::mt19937(5));
  REQUIRE(bench.context->map(address, mixed).ok());
  const auto bytes = pattern(mixed.size() * kG, 41);
  bench.write(*stream, address, bytes);
  CHECK(bench.read(*stream, address, bytes.size()) == bytes);
  REQUIRE(bench.becomesIdle(*bench.context));
  if (kind != "cuda") return;  // elsewhere it is the caller's to see
  // Over what is there, at either end of it.
  CHECK_FALSE(bench.context->map(address + 42 * kG, chunks.subspan(60, 4)).ok());
  CHECK_FALSE(bench.context->map(address - 3 * kG, chunks.subspan(60, 4)).ok());
  CHECK(bench.read(*stream, address, bytes.size()) == bytes);
  REQUIRE(bench.becomesIdle(*bench.context));
}

TEST_CASE("whatever is mapped and unmapped, granules hold what was written to them, and new ones nothing") {
  const std::string kind = EACH_BACKEND();
  constexpr std::size_t kChunks = 100, kPlaces = 120;
  for (const unsigned seed : {1u, 2u, 3u}) {
    Bench bench(kind), neighbour(bench);
    const auto stream = bench.context->createStream(0);
    std::mt19937 random(seed);
    const auto pick = [&](std::size_t below) { return std::size_t{random()} % below; };
    const std::uint64_t base = bench.deviceWindow.base + 512 * kG;
    std::vector<int> held(kPlaces, -1);  // by place: its chunk
    std::vector<std::uint8_t> value(kPlaces);
    std::vector<std::uint32_t> free(kChunks);
    std::iota(free.begin(), free.end(), 0u);
    std::uint8_t next = 0;
    for (int step = 0; step < 150; ++step) {
      const std::size_t first = pick(kPlaces);
      std::size_t count = 1 + pick(pick(2) == 0 ? 4 : 40);
      const bool there = held[first] >= 0;
      std::size_t end = first;
      while (end < kPlaces && end - first < count && (held[end] >= 0) == there) ++end;
      count = std::min(end - first, there ? kPlaces : free.size());
      if (count == 0) continue;
      const AddressRange range{base + first * kG, count * kG};
      if (there) {
        REQUIRE(bench.becomesIdle(*bench.context));
        REQUIRE(bench.context->unmappable(range));
        REQUIRE(bench.context->unmap(range).ok());
        for (std::size_t i = first; i < first + count; ++i) {
          const auto chunk = static_cast<std::uint32_t>(std::exchange(held[i], -1));
          REQUIRE(bench.device->scrub(bench.device->chunks()[chunk]).ok());
          free.insert(std::ranges::lower_bound(free, chunk), chunk);
        }
      } else {
        const std::size_t from = pick(free.size() - count + 1);
        std::vector<memory::Chunk> chunks;
        for (std::size_t i = 0; i < count; ++i) chunks.push_back(bench.device->chunks()[free[from + i]]);
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(from), free.begin() + static_cast<std::ptrdiff_t>(from + count));
        REQUIRE(bench.context->map(range.base, chunks).ok());
        for (std::size_t i = 0; i < count; ++i) {
          held[first + i] = static_cast<int>(chunks[i].id);
          value[first + i] = 0;
        }
        // Some are written at once, some later, some never.
        if (pick(3) != 0) {
          for (std::size_t i = first; i < first + count; i += 1 + pick(3)) fill(bench, *stream, base + i * kG, 1, value[i] = ++next);
        }
      }
      for (int i = 0; i < 4; ++i) {
        const std::size_t place = pick(kPlaces);
        if (held[place] < 0) continue;
        INFO("seed " << seed << ", step " << step << ", place " << place);
        REQUIRE(ends(bench, *stream, base + place * kG) == allOf(value[place]));
      }
    }
    for (std::size_t place = 0; place < kPlaces; ++place)
      if (held[place] >= 0) CHECK(ends(bench, *stream, base + place * kG) == allOf(value[place]));
    CHECK(bench.observer.faults().empty());
    CHECK(bench.device->acquisitions().allocatedBytes == bench.device->chunks().size() * kG);
  }
}

TEST_CASE("what is prepared to come comes, in whatever portions and order") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  constexpr std::size_t kGranules = 29;
  Homes homes(*bench.device, kGranules);
  const auto stream = bench.context->createStream(0);
  const auto bytes = pattern(kGranules * kG, 51);
  std::memcpy(homes[0], bytes.data(), bytes.size());
  const std::uint64_t address = bench.deviceWindow.base + 32 * kG;
  for (int round = 0; round < 3; ++round) {
    std::vector<memory::Arrival> arrivals;
    for (std::size_t i = 0; i < kGranules; ++i) arrivals.push_back({address + i * kG, bench.device->chunks()[64 + i], homes[i]});
    const auto before = callsOnDouble("cuMemMap");
    bench.context->prepare(arrivals);
    if (round == 2) std::shuffle(arrivals.begin(), arrivals.end(), std::mt19937(9));
    for (std::size_t at = 0; at < kGranules; at += 7)
      bench.context->restore(*stream, std::span(arrivals).subspan(at, std::min<std::size_t>(7, kGranules - at)));
    CHECK(bench.read(*stream, address, bytes.size()) == bytes);
    if (kind == "cuda" && onDouble()) CHECK(callsOnDouble("cuMemMap") - before == 4);  // 16 granules, 8, 4 and 1
    REQUIRE(bench.becomesIdle(*bench.context));
    REQUIRE(bench.context->unmap({address, bytes.size()}));
  }
  // A context may end before they have come.
  std::vector<memory::Arrival> arrivals;
  for (std::size_t i = 0; i < kGranules; ++i) arrivals.push_back({address + i * kG, bench.device->chunks()[64 + i], homes[i]});
  bench.context->prepare(arrivals);
  bench.context->restore(*stream, std::span(arrivals).first(3));
}

TEST_CASE("many chunks with consecutive numbers are a few mappings") {
  if (!onDouble()) return leaveOut("a real driver does not count its calls");
  Bench bench("cuda");
  const auto stream = bench.context->createStream(0);
  const auto calls = [](const char* function) { return callsOnDouble(function); };
  const auto maps = calls("cuMemMap"), unmaps = calls("cuMemUnmap"), creates = calls("cuMemCreate");
  const std::uint64_t address = bench.allocate(96 * kG);
  fill(bench, *stream, address, 96, 1);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap({address, 96 * kG}).ok());
  CHECK(calls("cuMemMap") - maps == 3);
  CHECK(calls("cuMemUnmap") - unmaps == 1);
  CHECK(calls("cuMemCreate") == creates);
}

TEST_CASE("who grows granule by granule costs few allocations, and what it leaves is large again once it has been scrubbed") {
  if (!onDouble()) return leaveOut("a real driver does not count its calls");
  Bench bench("cuda");
  const auto stream = bench.context->createStream(0);
  const auto chunks = bench.device->chunks();
  const std::uint64_t address = bench.deviceWindow.base;
  const auto created = callsOnDouble("cuMemCreate");
  for (std::size_t i = 0; i < 32; ++i) {
    REQUIRE(bench.context->map(address + i * kG, chunks[i]).ok());
    fill(bench, *stream, address + i * kG, 1, static_cast<std::uint8_t>(i));
  }
  CHECK(callsOnDouble("cuMemCreate") - created <= 40);
  for (std::size_t i = 0; i < 32; ++i) CHECK(ends(bench, *stream, address + i * kG) == allOf(static_cast<std::uint8_t>(i)));
  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap({address, 32 * kG}).ok());
  for (const std::size_t i : {5, 17, 16, 4}) REQUIRE(bench.device->scrub(chunks[i]).ok());
  for (std::size_t i = 0; i < 32; ++i) REQUIRE(bench.device->scrub(chunks[i]).ok());
  const auto then = callsOnDouble("cuMemCreate"), maps = callsOnDouble("cuMemMap");
  REQUIRE(bench.context->map(address, chunks.first(32)).ok());
  CHECK(callsOnDouble("cuMemCreate") == then);
  CHECK(callsOnDouble("cuMemMap") - maps == 1);
  CHECK(bench.read(*stream, address, 32 * kG) == std::vector<std::uint8_t>(32 * kG, 0));
  REQUIRE(bench.becomesIdle(*bench.context));
}

TEST_CASE("what is mapped together with memory that other contexts use leaves when they have got further") {
  const std::string kind = EACH_BACKEND();
  Bench owner(kind, 4), other(owner);
  const auto ownStream = owner.context->createStream(0), stream = other.context->createStream(0);
  const std::uint64_t address = owner.allocate(8 * kG);
  fill(owner, *ownStream, address, 8, 3);
  REQUIRE(owner.finish(*ownStream) == CudaError::success);
  REQUIRE(owner.becomesIdle(*owner.context));
  other.context->reach({address, 2 * kG});
  Kernels kernels(other);
  auto* go = reinterpret_cast<std::uint32_t*>(other.host(4096));
  *go = 0;
  kernels.launch(*stream, "waitForFlag", {}, conformance::address(go), address + 2048);
  const AddressRange needless{address + 2 * kG, 6 * kG};
  const bool moves = owner.context->together({address, kG}) != AddressRange{address, kG};
  CHECK(owner.context->unmappable(needless) == !moves);
  CHECK(owner.context->unmappable({address, 8 * kG}));  // nothing would have to move
  std::atomic_ref(*go).store(1);
  REQUIRE(other.finish(*stream) == CudaError::success);
  REQUIRE(other.becomesIdle(*other.context));
  REQUIRE(owner.context->unmappable(needless));
  REQUIRE(owner.context->unmap(needless).ok());
  CHECK(other.read(*stream, address + kG, 4096) == std::vector<std::uint8_t>(4096, 3));
  fill(other, *stream, address + kG, 1, 9);
  REQUIRE(other.finish(*stream) == CudaError::success);
  CHECK(owner.read(*ownStream, address + 2 * kG - 8, 8) == std::vector<std::uint8_t>(8, 9));
  other.context->unreach({address, 2 * kG});
  CHECK(owner.observer.faults().empty());
  CHECK(other.observer.faults().empty());
}

TEST_CASE("where the driver has no memory to spare, mappings are smaller, and a part leaves nothing else changed") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to have none");
  Bench bench("cuda");
  const auto stream = bench.context->createStream(0);
  const auto chunks = bench.device->chunks();
  const std::uint64_t address = bench.deviceWindow.base;
  REQUIRE(bench.context->map(address, chunks.first(3)).ok());  // of the first large allocation, which is several now
  fill(bench, *stream, address, 3, 1);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap({address, 3 * kG}).ok());
  const auto bytes = std::to_string(bench.device->properties().memoryBytes);
  const Variable none("ROUSE_DOUBLE_FREE_BYTES", bytes.c_str());
  for (const memory::Chunk& chunk : chunks.first(3)) REQUIRE(bench.device->scrub(chunk).ok());

  // One is not made of several.
  const auto maps = callsOnDouble("cuMemMap");
  REQUIRE(bench.context->map(address, chunks.first(32)).ok());
  CHECK(callsOnDouble("cuMemMap") - maps > 1);
  fill(bench, *stream, address, 32, 7);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  REQUIRE(bench.becomesIdle(*bench.context));

  // A part that would have to move does not leave.
  const AddressRange whole = bench.context->together({address + 31 * kG, kG});
  REQUIRE(whole.bytes > kG);
  const Status status = bench.context->unmap({whole.base, kG});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == CudaError::memoryAllocation);
  CHECK(ends(bench, *stream, whole.base) == allOf(7));
  REQUIRE(bench.becomesIdle(*bench.context));
  REQUIRE(bench.context->unmap(whole).ok());

  // Where a larger one has to end first, it does.
  REQUIRE(bench.context->map(whole.base, chunks.subspan(70, 1)).ok());
  CHECK(ends(bench, *stream, whole.base) == allOf(0));
  REQUIRE(bench.becomesIdle(*bench.context));
  CHECK(bench.device->acquisitions().allocatedBytes == chunks.size() * kG);
}
