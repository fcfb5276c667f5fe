#include "client-shim/core/virtual_memory.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "client-shim/core/copy.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/interprocess.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Allocation;
using client::Completion;
using client::CopyKind;
using client::VirtualMemory;

constexpr std::uint64_t kPiece = kGranuleBytes;
constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

std::uint64_t reserved(VirtualMemory& memory, std::uint64_t bytes) {
  std::uint64_t address = 0;
  REQUIRE(memory.reserve(bytes, 0, 0, &address) == CudaError::success);
  REQUIRE(isAligned(address, kPiece));
  return address;
}

std::uint64_t created(VirtualMemory& memory, std::uint64_t bytes) {
  std::uint64_t handle = 0;
  REQUIRE(memory.create(bytes, 0, &handle) == CudaError::success);
  return handle;
}

// NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers
void* there(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void write(client::Device& device, AddressRange range, std::uint32_t word) {
  REQUIRE(fill(device.legacyStream(), there(range.base), word, 4, range.bytes / 4, Completion::queued) == CudaError::success);
}

// All words of the range are this one.
bool holds(client::Device& device, AddressRange range, std::uint32_t word) {
  std::vector<std::uint32_t> words(range.bytes / 4, ~word);
  REQUIRE(copy(device.legacyStream(), words.data(), there(range.base), range.bytes, CopyKind::deviceToHost, Completion::finished) == CudaError::success);
  return std::ranges::all_of(words, [&](std::uint32_t found) { return found == word; });
}

}  // namespace

TEST_CASE("virtual memory: created memory counts as allocated, to the last granule, mapped or not") {
  FakeServer server({.memoryLimit = 16 * kPiece});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  VirtualMemory& memory = device.virtualMemory();
  std::uint64_t freeBytes = 0, totalBytes = 0, address = 0, other = 0;
  const std::uint64_t ten = created(memory, 10 * kPiece);
  REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
  CHECK(freeBytes == 6 * kPiece);
  CHECK(device.memory().allocate(6 * kPiece + 1, &address) == CudaError::memoryAllocation);
  REQUIRE(device.memory().allocate(4 * kPiece, &address) == CudaError::success);
  const std::uint64_t two = created(memory, 2 * kPiece);
  CHECK(memory.create(kPiece, 0, &other) == CudaError::memoryAllocation);
  CHECK(device.memory().allocate(1, &other) == CudaError::memoryAllocation);
  const std::uint64_t base = reserved(memory, 16 * kPiece);
  REQUIRE(memory.map({base, 10 * kPiece}, ten) == CudaError::success);
  REQUIRE(memory.map({base + 10 * kPiece, 2 * kPiece}, two) == CudaError::success);
  REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
  CHECK(freeBytes == 0);
  CHECK(memory.create(kPiece, 0, &other) == CudaError::memoryAllocation);
  CHECK(holds(device, {base, 12 * kPiece}, 0));
  // The mapping keeps the memory; its end frees it.
  REQUIRE(memory.drop(ten) == CudaError::success);
  CHECK(memory.create(kPiece, 0, &other) == CudaError::memoryAllocation);
  CHECK(memory.drop(ten) == CudaError::invalidValue);
  REQUIRE(memory.unmap({base, 12 * kPiece}) == CudaError::success);
  REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
  CHECK(freeBytes == 10 * kPiece);
  REQUIRE(memory.drop(two) == CudaError::success);
  REQUIRE(memory.release({base, 16 * kPiece}) == CudaError::success);
  REQUIRE(device.memory().release(address) == CudaError::success);
  REQUIRE(device.memory().allocate(16 * kPiece, &address) == CudaError::success);
  REQUIRE(device.memory().release(address) == CudaError::success);
  CHECK(server.executor(0).rejection().empty());
}

TEST_CASE("virtual memory: mappings side by side are one piece of memory, within a reservation") {
  FakeServer server({.memoryLimit = 64 * kPiece});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  VirtualMemory& memory = device.virtualMemory();
  const std::uint64_t base = reserved(memory, 8 * kPiece);
  std::uint64_t next = 0;
  REQUIRE(memory.reserve(4 * kPiece, 0, base + 8 * kPiece, &next) == CudaError::success);
  REQUIRE(next == base + 8 * kPiece);
  const std::uint64_t handles[] = {created(memory, 2 * kPiece), created(memory, 2 * kPiece), created(memory, 2 * kPiece), created(memory, kPiece)};
  REQUIRE(memory.map({base, 2 * kPiece}, handles[0]) == CudaError::success);
  REQUIRE(memory.map({base + 4 * kPiece, 2 * kPiece}, handles[1]) == CudaError::success);
  Allocation found;
  REQUIRE(device.memory().find(base + 2 * kPiece - 1, &found));
  CHECK(found.range == AddressRange{base, 2 * kPiece});
  CHECK_FALSE(device.memory().find(base + 2 * kPiece, &found));
  REQUIRE(memory.map({base + 2 * kPiece, 2 * kPiece}, handles[2]) == CudaError::success);
  REQUIRE(device.memory().find(base + 3 * kPiece, &found));
  CHECK(found.range == AddressRange{base, 6 * kPiece});
  CHECK(found.mapped);
  write(device, found.range, 7);
  CHECK(holds(device, found.range, 7));
  VirtualMemory::Mapping mapping;
  REQUIRE(memory.mappingAt(base + 3 * kPiece, &mapping));
  CHECK(mapping.range == AddressRange{base + 2 * kPiece, 2 * kPiece});
  CHECK(mapping.reservation == AddressRange{base, 8 * kPiece});
  REQUIRE(memory.unmap({base + 2 * kPiece, 2 * kPiece}) == CudaError::success);
  REQUIRE(device.memory().find(base + 4 * kPiece, &found));
  CHECK(found.range == AddressRange{base + 4 * kPiece, 2 * kPiece});
  REQUIRE(memory.map({base + 6 * kPiece, 2 * kPiece}, handles[2]) == CudaError::success);
  REQUIRE(memory.map({next, kPiece}, handles[3]) == CudaError::success);
  REQUIRE(device.memory().find(next - 1, &found));
  CHECK(found.range.end() == next);
  // The whole reservation is one object to kernels.
  REQUIRE(device.waitForAll() == CudaError::success);
  CHECK(server.executor(0).allocatedAt(base) == 8 * kPiece);
  CHECK(server.executor(0).rejection().empty());
}

TEST_CASE("virtual memory: content is kept while there is a handle, wherever it is mapped next, also where no memory is left") {
  FakeServer server({.memoryLimit = 24 * kPiece});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  VirtualMemory& memory = device.virtualMemory();
  const std::uint64_t first = created(memory, 20 * kPiece), second = created(memory, 4 * kPiece);
  const std::uint64_t base = reserved(memory, 32 * kPiece);
  const auto at = [&](std::uint64_t piece, std::uint64_t pieces) { return AddressRange{base + piece * kPiece, pieces * kPiece}; };
  REQUIRE(memory.map(at(0, 20), first) == CudaError::success);
  REQUIRE(memory.map(at(20, 4), second) == CudaError::success);
  write(device, at(0, 10), 1);
  write(device, at(10, 10), 2);
  write(device, at(20, 4), 3);
  REQUIRE(memory.unmap(at(0, 24)) == CudaError::success);
  Allocation found;
  CHECK_FALSE(device.memory().find(base, &found));

  SECTION("at the same address") {
    REQUIRE(memory.map(at(0, 20), first) == CudaError::success);
    CHECK(holds(device, at(0, 10), 1));
    CHECK(holds(device, at(10, 10), 2));
  }
  SECTION("shifted over itself, and over the other") {
    REQUIRE(memory.map(at(3, 20), first) == CudaError::success);
    CHECK(holds(device, at(3, 10), 1));
    CHECK(holds(device, at(13, 10), 2));
    REQUIRE(memory.map(at(24, 4), second) == CudaError::success);
    CHECK(holds(device, at(24, 4), 3));
  }
  SECTION("by parts") {
    REQUIRE(memory.map(at(12, 2), second) == CudaError::success);
    CHECK(holds(device, at(12, 2), 3));
    write(device, at(12, 2), 4);
    REQUIRE(memory.unmap(at(12, 2)) == CudaError::success);
    REQUIRE(memory.map(at(0, 20), first) == CudaError::success);
    CHECK(holds(device, at(10, 10), 2));
    REQUIRE(memory.map(at(24, 4), second) == CudaError::success);
    CHECK(holds(device, at(24, 2), 4));
    CHECK(holds(device, at(26, 2), 3));
  }
  SECTION("when the addresses that it lies at have been freed") {
    REQUIRE(memory.release({base, 32 * kPiece}) == CudaError::success);
    const std::uint64_t elsewhere = reserved(memory, 20 * kPiece);
    CHECK(elsewhere != base);
    REQUIRE(memory.map({elsewhere, 20 * kPiece}, first) == CudaError::success);
    CHECK(holds(device, {elsewhere, 10 * kPiece}, 1));
    CHECK(holds(device, {elsewhere + 10 * kPiece, 10 * kPiece}, 2));
  }
  std::uint64_t other = 0;
  CHECK(memory.create(kPiece, 0, &other) == CudaError::memoryAllocation);
  CHECK(server.executor(0).rejection().empty());
}

TEST_CASE("virtual memory: what is refused changes nothing") {
  FakeServer server({.memoryLimit = 32 * kPiece});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  VirtualMemory& memory = device.virtualMemory();
  std::uint64_t out = 0;
  for (const std::uint64_t bytes : {std::uint64_t{0}, kPiece - 1, kPiece + 4096, kHuge + 1}) CHECK(memory.create(bytes, 0, &out) == CudaError::invalidValue);
  for (const std::uint64_t bytes : {33 * kPiece, kHuge, ~std::uint64_t{0} - kPiece + 1}) CHECK(memory.create(bytes, 0, &out) == CudaError::memoryAllocation);
  CHECK(memory.reserve(0, 0, 0, &out) == CudaError::invalidValue);
  CHECK(memory.reserve(kPiece, 3, 0, &out) == CudaError::invalidValue);
  for (const std::uint64_t bytes : {device.info().window.bytes + 1, kHuge, ~std::uint64_t{0}}) CHECK(memory.reserve(bytes, 0, 0, &out) == CudaError::memoryAllocation);
  CHECK(memory.reserve(kPiece, kHuge, 0, &out) == CudaError::memoryAllocation);

  const std::uint64_t base = reserved(memory, 8 * kPiece), handle = created(memory, 4 * kPiece), other = created(memory, 2 * kPiece);
  REQUIRE(memory.map({base, 4 * kPiece}, handle) == CudaError::success);
  CHECK(memory.map({base + 4 * kPiece, 4 * kPiece}, handle) == CudaError::notSupported);
  for (const AddressRange range : {AddressRange{base + 3 * kPiece, 2 * kPiece}, {base + 7 * kPiece, 2 * kPiece}, {base - kPiece, kPiece}, {base + 4 * kPiece, 0},
                                   {base + 4 * kPiece + 512, kPiece}, {base + 4 * kPiece, kPiece + 512}, {base + 4 * kPiece, 3 * kPiece}, {base, 2 * kPiece},
                                   {base + 4 * kPiece, kHuge}, {base + 4 * kPiece, ~std::uint64_t{0} - kPiece + 1}, {0, kPiece}, {~std::uint64_t{0} - kPiece + 1, kPiece}}) {
    CAPTURE(range.base - base, range.bytes);
    CHECK(memory.map(range, other) == CudaError::invalidValue);
  }
  CHECK(memory.map({base + 4 * kPiece, kPiece}, 12345) == CudaError::invalidValue);
  for (const AddressRange range : {AddressRange{base, kPiece}, {base + kPiece, 3 * kPiece}, {base, 5 * kPiece}, {base + 4 * kPiece, kPiece}, {base, 0}, {base, kHuge}}) {
    CHECK(memory.unmap(range) == CudaError::invalidValue);
    CHECK(memory.setAccess(range, nullptr) == CudaError::invalidValue);
  }
  CHECK(memory.release({base, 8 * kPiece}) == CudaError::invalidValue);
  CHECK(memory.drop(0) == CudaError::invalidValue);
  CHECK(memory.retain(base + 4 * kPiece, &out) == CudaError::invalidValue);
  wire::IpcHandle shared;
  CHECK(session->interprocess().exportMemory(base, &shared) == CudaError::invalidValue);
  CHECK(device.memory().release(base) == CudaError::invalidValue);

  REQUIRE(memory.retain(base + 3 * kPiece + 1, &out) == CudaError::success);
  CHECK(out == handle);
  REQUIRE(memory.drop(handle) == CudaError::success);
  REQUIRE(memory.drop(handle) == CudaError::success);
  CHECK_FALSE(memory.holds(handle));
  REQUIRE(memory.unmap({base, 4 * kPiece}) == CudaError::success);
  CHECK(memory.release({base, 7 * kPiece}) == CudaError::invalidValue);
  CHECK(memory.release({base + kPiece, 7 * kPiece}) == CudaError::invalidValue);
  REQUIRE(memory.release({base, 8 * kPiece}) == CudaError::success);
  CHECK(memory.release({base, 8 * kPiece}) == CudaError::invalidValue);
  CHECK(memory.map({base, 2 * kPiece}, other) == CudaError::invalidValue);
  std::uint64_t freeBytes = 0, totalBytes = 0;
  REQUIRE(device.memoryInfo(&freeBytes, &totalBytes) == CudaError::success);
  CHECK(freeBytes == 30 * kPiece);
  CHECK(server.executor(0).rejection().empty());
}

TEST_CASE("virtual memory ends with a reset") {
  FakeServer server({.memoryLimit = 32 * kPiece});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  VirtualMemory& memory = device.virtualMemory();
  const std::uint64_t base = reserved(memory, 8 * kPiece), handle = created(memory, 4 * kPiece), left = created(memory, 4 * kPiece);
  REQUIRE(memory.map({base, 4 * kPiece}, handle) == CudaError::success);
  const auto live = memory.live();
  REQUIRE(live.size() == 2);
  CHECK(live[0].range == AddressRange{base, 4 * kPiece});
  CHECK(live[1].range == AddressRange{0, 4 * kPiece});
  REQUIRE(device.reset() == CudaError::success);
  CHECK(memory.unmap({base, 4 * kPiece}) == CudaError::invalidValue);
  CHECK(memory.drop(left) == CudaError::invalidValue);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(32 * kPiece, &address) == CudaError::success);
  CHECK(server.executor(0).rejection().empty());
}

// Against a model: content by handle, what is mapped where, and how much there is; beside ordinary allocations.
TEST_CASE("virtual memory: random operations agree with a model") {
  constexpr std::uint64_t kLimit = 40;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    FakeServer server({.memoryLimit = kLimit * kPiece, .seed = seed});
    const auto session = server.attach();
    client::Device& device = session->device(0);
    VirtualMemory& memory = device.virtualMemory();
    std::mt19937_64 random(seed);
    struct Memory {
      std::vector<std::uint32_t> words;  // by granule
      std::uint64_t mappedAt = 0, mappedPieces = 0;
      bool dropped = false;
    };
    std::map<std::uint64_t, Memory> memories;
    std::map<std::uint64_t, std::uint64_t> reservations;                       // base -> pieces
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> blocks;  // of cudaMalloc: base -> pieces, word
    std::uint64_t used = 0;
    const auto any = [&](auto& map) { return std::next(map.begin(), static_cast<std::ptrdiff_t>(random() % map.size())); };
    const auto forget = [&](auto entry) {
      used -= entry->second.words.size();
      memories.erase(entry);
    };
    for (int step = 0; step < 400; ++step) {
      CAPTURE(step);
      std::uint64_t out = 0;
      switch (random() % 9) {
        case 0: {
          const std::uint64_t pieces = 1 + random() % 12;
          if (reservations.size() < 6) reservations[reserved(memory, pieces * kPiece)] = pieces;
          break;
        }
        case 1: {
          const std::uint64_t pieces = 1 + random() % 10;
          const CudaError error = memory.create(pieces * kPiece, 0, &out);
          REQUIRE((error == CudaError::success) == (used + pieces <= kLimit));
          if (error != CudaError::success) break;
          memories[out].words.resize(pieces);
          used += pieces;
          break;
        }
        case 2:
        case 3: {
          if (memories.empty() || reservations.empty()) break;
          const auto entry = any(memories);
          Memory& chosen = entry->second;
          const auto [base, pieces] = *any(reservations);
          const std::uint64_t count = random() % 3 == 0 ? 1 + random() % chosen.words.size() : chosen.words.size();
          const AddressRange range{base + random() % pieces * kPiece, count * kPiece};
          bool fits = range.end() <= base + pieces * kPiece && !chosen.dropped;
          for (const auto& [handle, other] : memories)
            if (other.mappedAt != 0) fits &= !range.overlaps({other.mappedAt, other.mappedPieces * kPiece});
          const CudaError error = memory.map(range, entry->first);
          REQUIRE((error == CudaError::success) == (fits && chosen.mappedAt == 0));
          if (error != CudaError::success) break;
          chosen.mappedAt = range.base;
          chosen.mappedPieces = count;
          break;
        }
        case 4: {
          if (memories.empty()) break;
          const auto entry = any(memories);
          Memory& chosen = entry->second;
          if (chosen.mappedAt == 0) break;
          for (std::uint64_t i = 0; i < chosen.mappedPieces; ++i) REQUIRE(holds(device, {chosen.mappedAt + i * kPiece, kPiece}, chosen.words[i]));
          REQUIRE(memory.unmap({chosen.mappedAt, chosen.mappedPieces * kPiece}) == CudaError::success);
          chosen.mappedAt = 0;
          if (chosen.dropped) forget(entry);
          break;
        }
        case 5: {
          if (memories.empty()) break;
          const auto entry = any(memories);
          REQUIRE((memory.drop(entry->first) == CudaError::success) == !entry->second.dropped);
          entry->second.dropped = true;
          if (entry->second.mappedAt == 0) forget(entry);
          break;
        }
        case 6: {
          if (reservations.empty()) break;
          const auto entry = any(reservations);
          const AddressRange range{entry->first, entry->second * kPiece};
          bool empty = true;
          for (const auto& [handle, other] : memories) empty &= other.mappedAt == 0 || !range.contains(other.mappedAt);
          REQUIRE((memory.release(range) == CudaError::success) == empty);
          if (empty) reservations.erase(entry);
          break;
        }
        case 7: {
          if (memories.empty()) break;
          Memory& chosen = any(memories)->second;
          if (chosen.mappedAt == 0) break;
          const std::uint64_t piece = random() % chosen.mappedPieces;
          chosen.words[piece] = static_cast<std::uint32_t>(random());
          write(device, {chosen.mappedAt + piece * kPiece, kPiece}, chosen.words[piece]);
          break;
        }
        default: {
          if (!blocks.empty() && random() % 2 == 0) {
            const auto entry = any(blocks);
            REQUIRE(holds(device, {entry->first, entry->second.first * kPiece}, entry->second.second));
            REQUIRE(device.memory().release(entry->first) == CudaError::success);
            used -= entry->second.first;
            blocks.erase(entry);
            break;
          }
          const std::uint64_t pieces = 1 + random() % 6;
          const CudaError error = device.memory().allocate(pieces * kPiece, &out, kPiece);
          REQUIRE((error == CudaError::success) == (used + pieces <= kLimit));
          if (error != CudaError::success) break;
          used += pieces;
          blocks[out] = {pieces, static_cast<std::uint32_t>(random())};
          write(device, {out, pieces * kPiece}, blocks[out].second);
        }
      }
      REQUIRE(device.heap().usage().occupiedBytes == used * kPiece);
    }
    CHECK(server.executor(0).rejection().empty());
  }
}

}  // namespace rouse::test
