// Blocks that wait for one another.
#include <atomic>
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
