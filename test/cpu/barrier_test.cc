// Named barriers: all threads, some threads, arrivals, reductions, exits.
#include <atomic>
#include <cstring>
#include <vector>

#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

struct Words {
  std::uint32_t* words;
};

std::uint32_t* shared(ThreadContext* thread) { return reinterpret_cast<std::uint32_t*>(thread->block->shared); }

// Sum by halving: wrong as soon as one thread runs ahead.
void treeSum(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t* data = shared(thread);
  data[thread->linear] = thread->linear + thread->block->ctaid[0];
  rouse_cpu_barrier(thread, 0, 0);
  for (std::uint32_t half = thread->block->threads / 2; half != 0; half /= 2) {
    if (thread->linear < half) data[thread->linear] += data[thread->linear + half];
    rouse_cpu_barrier(thread, 0, 0);
  }
  if (thread->linear == 0) as<Words>(parameters).words[thread->block->ctaid[0]] = data[0];
}

// Odd threads leave early; the rest still meet.
void leaveEarly(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t* data = shared(thread);
  if (thread->linear % 2 == 1) return;
  data[thread->linear / 2] = thread->linear;
  rouse_cpu_barrier(thread, 0, 0);
  const std::uint32_t next = (thread->linear / 2 + 1) % (thread->block->threads / 2);
  as<Words>(parameters).words[thread->linear / 2] = data[next];
}

// The last thread to run leaves while all others wait already.
void leaveLast(ThreadContext* thread, const std::byte* parameters) {
  if (thread->linear == thread->block->threads - 1) return;
  rouse_cpu_barrier(thread, 0, 0);
  as<Words>(parameters).words[thread->linear] = 1;
}

// Producer and consumer halves on two barriers with counts, the producers only arriving.
void pipeline(ThreadContext* thread, const std::byte* parameters) {
  const std::uint32_t all = thread->block->threads, half = all / 2;
  std::uint32_t* data = shared(thread);
  for (std::uint32_t round = 0; round < 10; ++round) {
    if (thread->linear < half) {
      if (round != 0) rouse_cpu_barrier(thread, 2, all);  // consumed
      data[thread->linear] = round * 1000 + thread->linear;
      rouse_cpu_barrier_arrive(thread, 1, all);
    } else {
      rouse_cpu_barrier(thread, 1, all);
      as<Words>(parameters).words[round * half + thread->linear - half] = data[all - 1 - thread->linear];
      if (round != 9) rouse_cpu_barrier_arrive(thread, 2, all);
    }
  }
}

void reductions(ThreadContext* thread, const std::byte* parameters) {
  const std::uint32_t n = thread->block->threads;
  std::uint32_t sum = 0;
  for (std::uint32_t round = 0; round < 20; ++round) {
    const std::uint32_t bound = round * n / 20;
    const std::uint32_t count = rouse_cpu_barrier_reduce(thread, 3, 0, 0, thread->linear < bound ? 7 : 0);
    const std::uint32_t all = rouse_cpu_barrier_reduce(thread, 3, 0, 1, thread->linear < bound);
    const std::uint32_t some = rouse_cpu_barrier_reduce(thread, 3, 0, 2, thread->linear < bound);
    if (count == bound && all == (bound == n ? 1u : 0u) && some == (bound != 0 ? 1u : 0u)) ++sum;
  }
  if (rouse_cpu_barrier_reduce(thread, 0, 0, 1, 1) == 1) ++sum;
  as<Words>(parameters).words[thread->linear] = sum;
}

void neverMeet(ThreadContext* thread, const std::byte*) {
  if (thread->linear < 10) {
    rouse_cpu_barrier(thread, 5, 64);
  } else {
    rouse_cpu_barrier(thread, 6, 64);
  }
}

Launch block(KernelEntry entry, std::uint32_t threads) {
  Launch request;
  request.entry = entry;
  request.block = {threads, 1, 1};
  request.sharedBytes = threads * 4;
  return request;
}

}  // namespace

TEST_CASE("a barrier holds everyone until the last has come") {
  Launch request = block(&treeSum, 256);
  request.grid = {50, 1, 1};
  std::vector<std::uint32_t> sums(50);
  mustRun(request, Words{sums.data()});
  for (std::uint32_t i = 0; i < 50; ++i) CHECK(sums[i] == 256 * 255 / 2 + 256 * i);
}

TEST_CASE("threads that have exited are not waited for") {
  std::vector<std::uint32_t> words(64);
  mustRun(block(&leaveEarly, 128), Words{words.data()});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(words[i] == (i + 1) % 64 * 2);
  std::vector<std::uint32_t> ones(100);
  mustRun(block(&leaveLast, 101), Words{ones.data()});
  CHECK(ones == std::vector<std::uint32_t>(100, 1));
}

TEST_CASE("producers arrive, consumers wait, by count") {
  std::vector<std::uint32_t> words(10 * 64);
  mustRun(block(&pipeline, 128), Words{words.data()});
  for (std::uint32_t round = 0; round < 10; ++round) {
    for (std::uint32_t i = 0; i < 64; ++i) REQUIRE(words[round * 64 + i] == round * 1000 + 63 - i);
  }
}

TEST_CASE("barrier reductions, back to back on one barrier") {
  std::vector<std::uint32_t> words(96);
  mustRun(block(&reductions, 96), Words{words.data()});
  CHECK(words == std::vector<std::uint32_t>(96, 21));
}

TEST_CASE("a block in which no thread can run ends with a launch failure that says why") {
  const Error error = run(block(&neverMeet, 32), 0);
  CHECK(error.code == CudaError::launchFailure);
  CHECK(error.message.find("deadlock: 10 threads wait at barrier 5, 22 threads wait at barrier 6") !=
        std::string::npos);
}
