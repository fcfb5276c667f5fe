// What workers keep between launches, and what they give back.
#include "server/device/cpu/worker_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <thread>

using namespace rouse::cpu;

namespace {

constexpr std::size_t kLarge = std::size_t{256} << 10;
constexpr std::size_t kFibers = 64;

// Uses some of its stack and ends: its own stack, where AddressSanitizer would give the frame memory of its own (and,
// as this never returns, never have it back).
__attribute__((no_sanitize("address"))) void use(Fiber* self) {
  volatile char frame[32 << 10];
  for (std::size_t i = 0; i < sizeof frame; i += 512) frame[i] = 1;
  Runner::active()->retire(self, nullptr);
}

// A launch of so many threads with large stacks. Fibers are taken before any runs, as for a block.
class Stacks final : public Work {
 public:
  explicit Stacks(std::size_t count) : count_(count) {}
  Turn run(Worker& worker) override {
    std::vector<Fiber*> fibers;
    for (std::size_t i = 0; i < count_; ++i) fibers.push_back(worker.runner().takeFiber(kLarge, &use));
    for (Fiber* fiber : fibers) {
      Fault fault;
      worker.runner().enter(fiber, fault);
    }
    base = fibers.front()->stack.base;
    done = true;
    return Turn::taken;
  }
  std::atomic<bool> done{false};
  std::byte* base = nullptr;

 private:
  std::size_t count_;
};

std::byte* runStacks(WorkerPool& pool, std::size_t count) {
  auto work = std::make_shared<Stacks>(count);
  pool.submit(work);
  while (!work->done) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return work->base;
}

std::size_t residentPages(std::byte* base, std::size_t bytes) {
  unsigned char pages[kLarge / 4096];
  REQUIRE(mincore(base, bytes, pages) == 0);
  std::size_t count = 0;
  for (std::size_t i = 0; i < bytes / 4096; ++i) count += pages[i] & 1;
  return count;
}

}  // namespace

TEST_CASE("small launches with large stacks do not pay for all the stacks there are") {
  WorkerPool pool(1);
  std::byte* base = runStacks(pool, kFibers);
  constexpr int kLaunches = 500;
  // The worker rests between them: each ends before the next is submitted. Memory given back at every rest would be
  // faulted in again: a page of each stack and all that a launch uses. Stacks are looked at, not the process's faults:
  // what else keeps memory (a sanitizer's quarantine) faults too. A machine that is late for once may let it rest long.
  int givenBack = 0;
  for (int i = 0; i < kLaunches; ++i) {
    base = runStacks(pool, 1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    givenBack += residentPages(base, kLarge) <= 1;
  }
  CHECK(givenBack < kLaunches / 5);
}

TEST_CASE("a worker without work gives the memory of large stacks back, and has it again") {
  WorkerPool pool(1);
  std::byte* base = runStacks(pool, kFibers);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  // What a fiber begins with stays: its top page.
  while (residentPages(base, kLarge) > 1 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(residentPages(base, kLarge) <= 1);
  runStacks(pool, kFibers);
}
