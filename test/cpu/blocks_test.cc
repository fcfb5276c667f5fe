// Blocks that wait for one another.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

struct Chain {
  std::atomic<std::uint32_t>* values;
};

// Each block waits for the one before it (a look-back scan).
void lookBack(ThreadContext* thread, const std::byte* parameters) {
  auto* values = as<Chain>(parameters).values;
  const std::uint32_t block = thread->block->ctaid[0];
  if (thread->linear == 0) {
    std::uint32_t before = 1;
    if (block != 0) {
      while ((before = values[block - 1].load()) == 0) rouse_cpu_yield(thread);
    }
    values[block].store(before + 1);
  }
  rouse_cpu_barrier(thread, 0, 0);
}

// Each block waits for the one behind it: needs all of them at once.
void lookAhead(ThreadContext* thread, const std::byte* parameters) {
  auto* values = as<Chain>(parameters).values;
  const std::uint32_t block = thread->block->ctaid[0];
  if (thread->linear == 0 && block + 1 < thread->block->nctaid[0]) {
    while (values[block + 1].load() == 0) rouse_cpu_yield(thread);
  }
  rouse_cpu_barrier(thread, 0, 0);
  if (thread->linear == 0) values[block].store(1);
}

// A grid-wide barrier as cooperative groups make it: one thread of each block counts, the others wait at a block
// barrier.
struct GridBarrier {
  std::atomic<std::uint32_t>* arrived;
  std::atomic<std::uint32_t>* sums;
};

void gridSync(ThreadContext* thread, const std::byte* parameters) {
  const GridBarrier& barrier = as<GridBarrier>(parameters);
  const std::uint32_t blocks = thread->block->nctaid[0];
  for (std::uint32_t round = 1; round <= 5; ++round) {
    barrier.sums[round].fetch_add(1);
    rouse_cpu_barrier(thread, 0, 0);
    if (thread->linear == 0) {
      barrier.arrived->fetch_add(1);
      while (barrier.arrived->load() < round * blocks) rouse_cpu_yield(thread);
    }
    rouse_cpu_barrier(thread, 0, 0);
    if (barrier.sums[round].load() != blocks * thread->block->threads) rouse_cpu_trap(thread, 0);
  }
}

// The first block of each row along an axis clears what all blocks of the row add to; it takes its time.
struct Rows {
  std::atomic<std::uint32_t>* sums;
  std::uint32_t axis;
};

void addUp(const BlockContext& block, const Rows& rows) {
  const std::uint32_t at = block.ctaid[rows.axis], a = block.ctaid[rows.axis == 0 ? 1 : 0], b = block.ctaid[rows.axis == 2 ? 1 : 2];
  std::atomic<std::uint32_t>& sum = rows.sums[a + b * block.nctaid[rows.axis == 0 ? 1 : 0]];
  if (at == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    sum.store(0);
  }
  sum.fetch_add(at + 1);
}

void addUpLoop(BlockContext* block, const std::byte* parameters) { addUp(*block, as<Rows>(parameters)); }

void addUpFiber(ThreadContext* thread, const std::byte* parameters) {
  if (thread->linear == 0) addUp(*thread->block, as<Rows>(parameters));
}

Launch chain(KernelEntry entry, std::uint32_t blocks, std::uint32_t workers) {
  Launch request;
  request.entry = entry;
  request.grid = {blocks, 1, 1};
  request.block = {64, 1, 1};
  request.workers = workers;
  request.residentBlocks = 8;
  return request;
}

}  // namespace

TEST_CASE("blocks may wait for earlier blocks, on any number of workers") {
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    std::vector<std::atomic<std::uint32_t>> values(500);
    mustRun(chain(&lookBack, 500, workers), Chain{values.data()});
    for (std::uint32_t i = 0; i < 500; ++i) REQUIRE(values[i].load() == i + 2);
  }
}

TEST_CASE("blocks may wait for later blocks as far as the device holds them at once") {
  for (const std::uint32_t workers : {1u, 2u}) {
    std::vector<std::atomic<std::uint32_t>> values(8);
    mustRun(chain(&lookAhead, 8, workers), Chain{values.data()});
    for (const auto& value : values) CHECK(value.load() == 1);
  }
}

TEST_CASE("a grid-wide barrier of many blocks on few workers") {
  for (const std::uint32_t workers : {1u, 2u}) {
    Launch request = chain(&gridSync, 40, workers);
    request.residentBlocks = 40;
    std::atomic<std::uint32_t> arrived{0};
    std::vector<std::atomic<std::uint32_t>> sums(6);
    mustRun(request, GridBarrier{&arrived, sums.data()});
    CHECK(arrived.load() == 200);
  }
}

TEST_CASE("the first block of each row is through before others of it begin, where it sets what they add to") {
  constexpr std::uint32_t kAlong = 7, kA = 3, kB = 2;
  for (const std::uint32_t workers : {1u, 2u, 3u}) {
    for (const bool loops : {true, false}) {
      for (std::uint8_t axis = 0; axis < 3; ++axis) {
        std::vector<std::atomic<std::uint32_t>> sums(kA * kB);
        for (auto& sum : sums) sum = 1000;
        Launch request;
        request.entry = &addUpFiber;
        request.loop = loops ? &addUpLoop : nullptr;
        request.grid = {axis == 0 ? kAlong : kA, axis == 0 ? kA : axis == 1 ? kAlong : kB, axis == 2 ? kAlong : kB};
        request.block = {32, 1, 1};
        request.workers = workers;
        request.firstSetsAlong = axis;
        mustRun(request, Rows{sums.data(), axis});
        for (const auto& sum : sums) CHECK(sum.load() == kAlong * (kAlong + 1) / 2);
      }
    }
  }
}

// The first one goes on until all others have ended, and says nothing of it.
struct Shared {
  std::atomic<std::uint32_t>* ended;
  std::atomic<bool>* inVain;
};

void goOnLoop(BlockContext* block, const std::byte* parameters) {
  const auto& shared = as<Shared>(parameters);
  if (block->ctaid[0] != 0) {
    shared.ended->fetch_add(1);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (shared.ended->load() != block->nctaid[0] - 1) {
    if (std::chrono::steady_clock::now() > end) {
      shared.inVain->store(true);
      return;
    }
  }
}

TEST_CASE("blocks of a row wait no longer for a first one than it may need") {
  std::atomic<std::uint32_t> ended{0};
  std::atomic<bool> inVain{false};
  Launch request = chain(&addUpFiber, 8, 2);
  request.loop = &goOnLoop;
  request.firstSetsAlong = 0;
  mustRun(request, Shared{&ended, &inVain});
  CHECK(ended.load() == 7);
  CHECK_FALSE(inVain.load());
}

TEST_CASE("blocks of a row need not wait for a first one that waits for them") {
  for (const std::uint32_t workers : {1u, 2u}) {
    std::vector<std::atomic<std::uint32_t>> values(8);
    Launch request = chain(&lookAhead, 8, workers);
    request.firstSetsAlong = 0;
    mustRun(request, Chain{values.data()});
    for (const auto& value : values) CHECK(value.load() == 1);
  }
}
