// Threads, blocks, indices, stacks.
#include <atomic>
#include <numeric>
#include <vector>

#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

struct Marks {
  std::atomic<std::uint32_t>* marks;
};

std::uint64_t globalIndex(const ThreadContext* thread) {
  const BlockContext& block = *thread->block;
  const std::uint64_t index = block.ctaid[0] + std::uint64_t{block.nctaid[0]} *
                                                   (block.ctaid[1] + std::uint64_t{block.nctaid[1]} * block.ctaid[2]);
  return index * block.threads + thread->linear;
}

void markOnce(ThreadContext* thread, const std::byte* parameters) {
  as<Marks>(parameters).marks[globalIndex(thread)].fetch_add(1);
  const std::uint32_t* n = thread->block->ntid;
  const bool right = thread->linear == thread->tid[0] + n[0] * (thread->tid[1] + n[1] * thread->tid[2]) &&
                     thread->lane == thread->linear % 32 && thread->warp == thread->linear / 32 &&
                     thread->tid[0] < n[0] && thread->tid[1] < n[1] && thread->tid[2] < n[2];
  if (!right) rouse_cpu_trap(thread, 0);
}

void markLoop(BlockContext* block, const std::byte* parameters) {
  for (std::uint32_t i = 0; i < block->threads; ++i) {
    const std::uint64_t index =
        block->ctaid[0] +
        std::uint64_t{block->nctaid[0]} * (block->ctaid[1] + std::uint64_t{block->nctaid[1]} * block->ctaid[2]);
    as<Marks>(parameters).marks[index * block->threads + i].fetch_add(1);
  }
}

std::uint32_t depth(std::uint32_t left) {
  volatile std::uint32_t frame[64];
  frame[left % 64] = left;
  return left == 0 ? 0 : 1 + depth(left - 1) + (frame[left % 64] - left);
}

struct Depths {
  std::uint32_t levels;
  std::uint32_t* out;
};

void recurse(ThreadContext* thread, const std::byte* parameters) {
  as<Depths>(parameters).out[thread->linear] = depth(as<Depths>(parameters).levels);
}

}  // namespace

TEST_CASE("every thread of every block runs once, with its indices") {
  for (const bool loop : {false, true}) {
    for (const std::uint32_t workers : {1u, 2u, 5u}) {
      Launch request;
      request.entry = &markOnce;
      request.loop = loop ? &markLoop : nullptr;
      request.grid = {7, 3, 2};
      request.block = {10, 3, 2};
      request.workers = workers;
      std::vector<std::atomic<std::uint32_t>> marks(7 * 3 * 2 * 60);
      mustRun(request, Marks{marks.data()});
      for (const auto& mark : marks) REQUIRE(mark.load() == 1);
    }
  }
}

TEST_CASE("blocks of the largest size and grids of many blocks") {
  Launch request;
  request.entry = &markOnce;
  request.grid = {3, 1, 1};
  request.block = {1024, 1, 1};
  std::vector<std::atomic<std::uint32_t>> marks(3 * 1024);
  mustRun(request, Marks{marks.data()});
  for (const auto& mark : marks) REQUIRE(mark.load() == 1);

  request.loop = &markLoop;
  request.grid = {20'000, 1, 1};
  request.block = {1, 1, 1};
  std::vector<std::atomic<std::uint32_t>> many(20'000);
  mustRun(request, Marks{many.data()});
  for (const auto& mark : many) REQUIRE(mark.load() == 1);
}

TEST_CASE("threads have the stack that their kernel asks for") {
  Launch request;
  request.entry = &recurse;
  request.block = {40, 1, 1};
  request.localBytes = 1 << 20;
  std::vector<std::uint32_t> depths(40);
  mustRun(request, Depths{1000, depths.data()});
  CHECK(depths == std::vector<std::uint32_t>(40, 1000));
}
