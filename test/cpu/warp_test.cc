// Warp operations, in step and divergent.
#include "server/device/cpu/runtime/warp.h"

#include <array>
#include <atomic>
#include <vector>

#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

constexpr std::uint32_t kAll = 0xffff'ffff;
constexpr std::uint32_t kWhole = 0x1f;  // c of a shuffle over the whole warp: segment mask 0, clamp 31

struct Words {
  std::uint32_t* words;
};

std::uint32_t sum(ThreadContext* thread, std::uint32_t value) {
  for (std::uint32_t offset = 16; offset != 0; offset /= 2) {
    value += static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 1, value, offset, kWhole, kAll));
  }
  return value;
}

void warpSum(ThreadContext* thread, const std::byte* parameters) {
  const std::uint32_t total = sum(thread, thread->linear);
  if (thread->lane == 0) as<Words>(parameters).words[thread->warp] = total;
}

// Even and odd lanes meet separately, at different places, then all together.
void diverge(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t seen;
  if (thread->lane % 2 == 0) {
    seen = rouse_cpu_vote(thread, 3, 1, 0x5555'5555);
    rouse_cpu_warp_sync(thread, 0x5555'5555);
  } else {
    rouse_cpu_warp_sync(thread, 0xaaaa'aaaa);
    seen = rouse_cpu_vote(thread, 3, thread->lane > 15, 0xaaaa'aaaa);
  }
  const std::uint64_t other = rouse_cpu_shuffle(thread, 2, seen, 1, kWhole, kAll);
  as<Words>(parameters).words[thread->linear] = static_cast<std::uint32_t>(other);
}

// Masks that share a lane: lane 0 meets lane 1, then lane 2, while lanes 1 and 2 come in the other order.
void overlapping(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t got = 0;
  if (thread->lane == 0) {
    got = rouse_cpu_vote(thread, 3, 1, 0b011);
    got = got * 100 + rouse_cpu_vote(thread, 3, 1, 0b101);
  } else if (thread->lane == 1) {
    for (int i = 0; i < 100; ++i) rouse_cpu_yield(thread);
    got = rouse_cpu_vote(thread, 3, 1, 0b011);
  } else if (thread->lane == 2) {
    got = rouse_cpu_vote(thread, 3, 0, 0b101);
  }
  as<Words>(parameters).words[thread->linear] = got;
}

// Lanes from 20 on leave; the mask still names them.
void exited(ThreadContext* thread, const std::byte* parameters) {
  if (thread->lane >= 20) return;
  const std::uint32_t votes = rouse_cpu_vote(thread, 3, thread->lane & 1, kAll);
  const auto down = static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 1, thread->lane, 4, kWhole, kAll));
  as<Words>(parameters).words[thread->linear] = votes + (thread->lane + 4 < 20 ? down : 0);
}

// All lanes come to shuffles whose masks name only those that are read from, before them and behind them (GpuBTree splits its nodes so).
void namesSources(ThreadContext* thread, const std::byte* parameters) {
  constexpr std::uint32_t kUp = 0;
  const std::uint32_t lane = thread->lane;
  std::uint32_t right = 0;
  for (std::uint32_t round = 0; round < 5; ++round) {
    const std::uint32_t value = thread->linear * 10 + round;
    const auto up = static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 0, value, 16, kUp, 0x0000'ffff));
    right += up == (lane < 16 ? value : value - 160) ? 1 : 0;
    const auto down = static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 1, value, 16, kWhole, 0xffff'0000));
    right += down == (lane < 16 ? value + 160 : value) ? 1 : 0;
  }
  // Who is not named and comes alone is not kept for ever.
  if (lane >= 16) right += rouse_cpu_shuffle(thread, 0, 1, 16, kUp, 0x0000'ffff) % 2 == 0 ? 1 : 0;
  as<Words>(parameters).words[thread->linear] = right;
}

// Every operation of one kind after another, results checked by each lane.
void everything(ThreadContext* thread, const std::byte* parameters) {
  const std::uint32_t lane = thread->lane;
  std::uint32_t right = 0;
  const auto expect = [&](bool ok) { right += ok ? 1 : 0; };
  expect(rouse_cpu_vote(thread, 0, 1, kAll) == 1);
  expect(rouse_cpu_vote(thread, 0, lane != 3, kAll) == 0);
  expect(rouse_cpu_vote(thread, 1, lane == 3, kAll) == 1);
  expect(rouse_cpu_vote(thread, 1, 0, kAll) == 0);
  expect(rouse_cpu_vote(thread, 2, 0, kAll) == 1);
  expect(rouse_cpu_vote(thread, 2, lane == 3, kAll) == 0);
  expect(rouse_cpu_vote(thread, 3, lane % 3 == 0, kAll) == 0x49249249);
  expect(rouse_cpu_redux(thread, 0, 0, lane, kAll) == 496);
  expect(rouse_cpu_redux(thread, 1, 1, lane - 16, kAll) == static_cast<std::uint32_t>(-16));
  expect(rouse_cpu_redux(thread, 1, 0, lane - 16, kAll) == 0);
  expect(rouse_cpu_redux(thread, 2, 1, lane - 16, kAll) == 15);
  expect(rouse_cpu_redux(thread, 2, 0, lane - 16, kAll) == 0xffff'ffff);
  expect(rouse_cpu_redux(thread, 3, 0, ~(1u << lane), kAll) == 0);
  expect(rouse_cpu_redux(thread, 4, 0, 1u << lane, kAll) == kAll);
  expect(rouse_cpu_redux(thread, 5, 0, lane, kAll) == 0);
  expect(rouse_cpu_match(thread, 0, std::uint64_t{lane % 4} << 40, kAll) == (0x1111'1111u << lane % 4));
  expect(rouse_cpu_match(thread, 1, 42, kAll) == (std::uint64_t{1} << 32 | kAll));
  expect(rouse_cpu_match(thread, 1, lane / 31, kAll) == 0);
  // Segments of eight: c = (segment mask 0x18) << 8 | clamp.
  const std::uint32_t index = 0x181f, up = 0x1800;
  expect(rouse_cpu_shuffle(thread, 3, lane * 10, 2, index, kAll) == (std::uint64_t{1} << 32 | (lane / 8 * 8 + 2) * 10));
  const std::uint64_t expectedUp = lane % 8 < 3 ? lane : std::uint64_t{1} << 32 | (lane - 3);
  expect(rouse_cpu_shuffle(thread, 0, lane, 3, up, kAll) == expectedUp);
  const std::uint64_t expectedDown = lane % 8 > 4 ? lane : std::uint64_t{1} << 32 | (lane + 3);
  expect(rouse_cpu_shuffle(thread, 1, lane, 3, index, kAll) == expectedDown);
  as<Words>(parameters).words[thread->linear] = right;
}

void activemasks(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t mask = 0;
  if (thread->lane % 4 == 0) {
    mask = rouse_cpu_activemask(thread);
  } else if (thread->lane % 4 == 1) {
    rouse_cpu_warp_sync(thread, 0x2222'2222);
    mask = rouse_cpu_activemask(thread) + 1;
  }
  as<Words>(parameters).words[thread->linear] = mask;
}

// Each lane walks further than the one before, letting others go as one that polls does; of the second warp half wait for what another does only then.
void lateActivemasks(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t* const words = as<Words>(parameters).words;
  if (thread->warp == 0) {
    for (std::uint32_t step = 0; step < thread->lane * 40; ++step) rouse_cpu_yield(thread);
  } else if (thread->lane >= 16) {
    while (std::atomic_ref(words[32]).load() == 0) rouse_cpu_yield(thread);
  }
  const std::uint32_t mask = rouse_cpu_activemask(thread);
  std::atomic_ref(words[thread->linear]).store(mask);
}

// A reduction without a barrier; the odd warps' takes a step more.
void inStep(ThreadContext* thread, const std::byte* parameters) {
  volatile std::uint32_t* const words = as<Words>(parameters).words + thread->warp * 64;
  words[thread->lane] = thread->lane + 1;
  rouse_cpu_step(thread, 1);
  for (std::uint32_t offset = thread->warp % 2 == 0 ? 16 : 32; offset != 0; offset /= 2) {
    const std::uint32_t sum = words[thread->lane] + words[thread->lane + offset];
    rouse_cpu_step(thread, 2);
    words[thread->lane] = sum;
    rouse_cpu_step(thread, 3);
  }
}

// A lane that stores in a branch, and one that stores in a loop of as many rounds as it has: their mates, further in the program, wait for them, and then see all of it.
void waitsForThoseBehind(ThreadContext* thread, const std::byte* parameters) {
  volatile std::uint32_t* const words = as<Words>(parameters).words + thread->warp * 64;
  const std::uint32_t rounds = thread->lane % 5;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    rouse_cpu_step(thread, 1);
    words[thread->lane] = round + 1;
  }
  rouse_cpu_step(thread, 2);
  std::uint32_t sum = 0;
  for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane) sum += words[lane];
  rouse_cpu_step(thread, 3);
  if (thread->lane == 7) {
    rouse_cpu_step(thread, 4);
    words[40] = sum;
    rouse_cpu_step(thread, 5);
    words[41] = sum;
  }
  rouse_cpu_step(thread, 6);
  words[thread->lane] = words[40] + words[41];
}

// One lane polls for what another, behind all steps, stores: it must not keep that one for ever.
void pollsForMate(ThreadContext* thread, const std::byte* parameters) {
  volatile std::uint32_t* const words = as<Words>(parameters).words + thread->warp * 64;
  if (thread->lane == 3) {
    while (words[40] == 0) rouse_cpu_yield(thread);
  }
  rouse_cpu_step(thread, 1);
  if (thread->lane == 5) words[40] = 1;
  rouse_cpu_step(thread, 2);
  words[thread->lane] = words[40] + thread->lane;
}

// The halves of a warp go through shuffles of their own, of different kinds and numbers, all of which name the whole warp.
void halvesApart(ThreadContext* thread, const std::byte* parameters) {
  const std::uint32_t segment = 0x100f;  // of 16 lanes
  std::uint32_t sum = thread->lane;
  for (std::uint32_t round = 0; round < (thread->lane < 16 ? 3u : 8u); ++round) {
    const std::uint32_t first = static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 3, sum, 0, segment, kAll));
    for (std::uint32_t offset = 1; offset < (thread->lane < 16 ? 16u : 4u); offset *= 2) sum += static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 2, sum, offset, segment, kAll));
    sum += first;
  }
  as<Words>(parameters).words[thread->linear] = sum;
}

// Eight lanes name all of their warp, while the others wait at a barrier.
void namesTooMany(ThreadContext* thread, const std::byte* parameters) {
  std::uint32_t got = 0;
  if (thread->lane < 8) {
    got = thread->lane;
    for (std::uint32_t offset = 4; offset != 0; offset /= 2) got += static_cast<std::uint32_t>(rouse_cpu_shuffle(thread, 1, got, offset, kWhole, kAll));
    got += rouse_cpu_vote(thread, 3, 1, kAll);
  }
  rouse_cpu_barrier(thread, 0, 0);
  as<Words>(parameters).words[thread->linear] = got;
}

// One lane holds a lock while the others of its warp spin for it: needs threads that are scheduled independently.
struct Lock {
  std::atomic<std::uint32_t>* lock;
  std::uint32_t* counter;
};

void spinLock(ThreadContext* thread, const std::byte* parameters) {
  const Lock& lock = as<Lock>(parameters);
  std::uint32_t expected = 0;
  while (!lock.lock->compare_exchange_weak(expected, 1)) {
    expected = 0;
    rouse_cpu_yield(thread);
  }
  const std::uint32_t before = *lock.counter;
  rouse_cpu_yield(thread);
  *lock.counter = before + 1;
  lock.lock->store(0);
}

// Lanes loop on a vote until one of them, which spins on memory, sees a flag that the last thread of the block sets.
struct Flag {
  std::atomic<std::uint32_t>* flag;
};

void votingLoop(ThreadContext* thread, const std::byte* parameters) {
  auto& flag = *as<Flag>(parameters).flag;
  if (thread->linear == thread->block->threads - 1) {
    for (int i = 0; i < 1000; ++i) rouse_cpu_yield(thread);
    flag.store(1);
    return;
  }
  if (thread->warp != 0) return;
  while (rouse_cpu_vote(thread, 1, flag.load(), kAll) == 0) {
  }
}

Launch threads(KernelEntry entry, std::uint32_t count) {
  Launch request;
  request.entry = entry;
  request.block = {count, 1, 1};
  return request;
}

}  // namespace

TEST_CASE("shuffles add up a warp") {
  std::vector<std::uint32_t> words(8);
  mustRun(threads(&warpSum, 256), Words{words.data()});
  for (std::uint32_t warp = 0; warp < 8; ++warp) CHECK(words[warp] == 496 + warp * 32 * 32);
}

TEST_CASE("lanes go in step around volatile stores") {
  std::vector<std::uint32_t> words(4 * 64);
  mustRun(threads(&inStep, 128), Words{words.data()});
  for (std::uint32_t warp = 0; warp < 4; ++warp) CHECK(words[warp * 64] == 528);
}

TEST_CASE("lanes wait for those that are behind them in the program") {
  std::vector<std::uint32_t> words(4 * 64);
  mustRun(threads(&waitsForThoseBehind, 128), Words{words.data()});
  for (std::uint32_t warp = 0; warp < 4; ++warp) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(words[warp * 64 + lane] == 2 * (6 * 10 + 1));
  }
}

TEST_CASE("a lane that polls for a mate that steps gets what it waits for") {
  std::vector<std::uint32_t> words(4 * 64);
  mustRun(threads(&pollsForMate, 128), Words{words.data()});
  for (std::uint32_t warp = 0; warp < 4; ++warp) {
    for (std::uint32_t lane = 0; lane < 32; ++lane) CHECK(words[warp * 64 + lane] == 1 + lane);
  }
}

TEST_CASE("parts of a warp that each name all of it, at different operations, go on part by part") {
  std::vector<std::uint32_t> words(64);
  mustRun(threads(&halvesApart, 64), Words{words.data()});
  for (std::uint32_t half = 0; half < 4; ++half) {
    std::array<std::uint32_t, 16> sums;
    for (std::uint32_t lane = 0; lane < 16; ++lane) sums[lane] = half % 2 * 16 + lane;
    for (std::uint32_t round = 0; round < (half % 2 == 0 ? 3u : 8u); ++round) {
      const std::uint32_t first = sums[0];
      for (std::uint32_t offset = 1; offset < (half % 2 == 0 ? 16u : 4u); offset *= 2) {
        const std::array<std::uint32_t, 16> before = sums;
        for (std::uint32_t lane = 0; lane < 16; ++lane) sums[lane] += before[lane ^ offset];
      }
      for (std::uint32_t& sum : sums) sum += first;
    }
    for (std::uint32_t lane = 0; lane < 16; ++lane) CHECK(words[half * 16 + lane] == sums[lane]);
  }
}

TEST_CASE("halves of a warp meet separately, then together") {
  std::vector<std::uint32_t> words(64);
  mustRun(threads(&diverge, 64), Words{words.data()});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(words[i] == (i % 2 == 0 ? 0xaaaa'0000 : 0x5555'5555));
}

TEST_CASE("meetings with different masks that share lanes are kept apart") {
  std::vector<std::uint32_t> words(32);
  mustRun(threads(&overlapping, 32), Words{words.data()});
  CHECK(words[0] == 0b011 * 100 + 0b001);
  CHECK(words[1] == 0b011);
  CHECK(words[2] == 0b001);
}

TEST_CASE("lanes that a shuffle's mask leaves out read what those that it names have") {
  std::vector<std::uint32_t> words(64);
  mustRun(threads(&namesSources, 64), Words{words.data()});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(words[i] == (i % 32 < 16 ? 10 : 11));
}

TEST_CASE("lanes that have exited are not waited for") {
  std::vector<std::uint32_t> words(32);
  mustRun(threads(&exited, 32), Words{words.data()});
  const std::uint32_t votes = 0xaaaa'aaaa & 0xf'ffff;
  for (std::uint32_t i = 0; i < 20; ++i) CHECK(words[i] == votes + (i + 4 < 20 ? i + 4 : 0));
}

TEST_CASE("a warp that is not full works like one whose other lanes have exited") {
  std::vector<std::uint32_t> words(40);
  mustRun(threads(&exited, 40), Words{words.data()});
  CHECK(words[32] == (0xaau & 0xff) + 36 - 32);
}

TEST_CASE("lanes that wait at a barrier are not met, and those that name them go on") {
  std::vector<std::uint32_t> words(64);
  mustRun(threads(&namesTooMany, 64), Words{words.data()});
  CHECK(words[0] == 28 + 0xff);
  CHECK(words[32] == 28 + 0xff);
  CHECK(words[8] == 0);
}

TEST_CASE("votes, reductions, matches and segmented shuffles") {
  std::vector<std::uint32_t> words(96);
  mustRun(threads(&everything, 96), Words{words.data()});
  CHECK(words == std::vector<std::uint32_t>(96, 21));
}

TEST_CASE("the active mask is who stands at the same place") {
  std::vector<std::uint32_t> words(64);
  mustRun(threads(&activemasks, 64), Words{words.data()});
  for (std::uint32_t i = 0; i < 64; ++i) {
    CHECK(words[i] == (i % 4 == 0 ? 0x1111'1111u : i % 4 == 1 ? 0x2222'2223u : 0u));
  }
}

TEST_CASE("lanes that ask who is active wait for mates on their way, and not for those that wait for them") {
  std::vector<std::uint32_t> words(64);
  mustRun(threads(&lateActivemasks, 64), Words{words.data()});
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(words[i] == (i < 32 ? ~0u : i < 48 ? 0xffffu : 0xffff'0000u));
}

TEST_CASE("a lane may hold a lock that others of its warp spin for") {
  std::atomic<std::uint32_t> lock{0};
  std::uint32_t counter = 0;
  Launch request = threads(&spinLock, 128);
  request.grid = {6, 1, 1};
  mustRun(request, Lock{&lock, &counter});
  CHECK(counter == 128 * 6);
}

TEST_CASE("a warp that never stops voting does not starve a thread that yields") {
  std::atomic<std::uint32_t> flag{0};
  Launch request = threads(&votingLoop, 65);
  request.workers = 1;
  mustRun(request, Flag{&flag});
  CHECK(flag.load() == 1);
}
