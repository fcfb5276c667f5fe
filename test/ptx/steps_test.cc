// Kernels whose lanes rely on going in step: as fibers, and where there is one in a loop.
#include <algorithm>
#include <array>

#include "test/ptx/loop_kernels.h"

namespace rouse::test {
namespace {

using Words = std::vector<std::uint32_t>;

void mustStoreBothWays(const char* name, const std::vector<std::uint32_t>& threads, const std::function<std::uint32_t(const Words&, std::uint32_t, std::uint32_t, std::uint32_t)>& expected) {
  for (const bool fibers : {true, false}) {
    for (const std::uint32_t count : threads) {
      INFO((fibers ? "fibers" : "as compiled"));
      mustStore("steps", name, fibers, count, [&](const Words& in, std::uint32_t block, std::uint32_t thread) { return expected(in, count, block, thread); }, false);
    }
  }
}

}  // namespace

TEST_CASE("a leader hands on what its warp does next, until there is nothing") {
  for (const char* name : {"taken", "taken_fenced"}) {
    mustStoreBothWays(name, {32, 64, 256, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t block, std::uint32_t thread) { return in[block * threads + thread] * 3 + thread / 32 * 32; });
  }
}

TEST_CASE("a warp agrees by volatile shared memory on when to leave a loop") {
  mustStoreBothWays("relaxed", {32, 64, 256, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t block, std::uint32_t thread) {
    const auto first = in.begin() + block * threads + thread / 32 * 32;
    return *std::min_element(first, first + 32);
  });
  mustStoreBothWays("agreed", {32, 64, 256, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t block, std::uint32_t thread) {
    std::uint32_t most = 0;
    for (std::uint32_t lane = 0; lane < 32; ++lane) most = std::max(most, in[block * threads + thread / 32 * 32 + lane] % 17);
    return in[block * threads + thread] % 17 * 32 + most + 1;
  });
}

TEST_CASE("lanes that went through loops of their own add up in step behind them") {
  mustStoreBothWays("sums_fenced", {32, 64, 256, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t block, std::uint32_t thread) {
    std::uint32_t all = 0;
    for (std::uint32_t round = 0; round < 5; ++round) {
      std::uint32_t sum = 0;
      for (std::uint32_t other = thread / 32 * 32; other <= thread; ++other) sum += in[(block * threads + other + 32 * round) % 777];
      all = all * 5 + sum;
    }
    return all;
  });
}

TEST_CASE("lanes that count with tags wait for nobody, so they do in vectors") {
  if (__builtin_cpu_supports("avx2")) CHECK(LoopKernels("steps", "O3").code("tagged").loop != nullptr);
  mustStoreBothWays("tagged", {32, 64, 96, 256, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t, std::uint32_t thread) {
    std::uint32_t sum = 0;
    for (std::uint32_t warp = 0; warp < threads / 32; ++warp) {
      std::uint32_t count = 0;
      for (std::uint32_t k = 0; k < 777; ++k) count += k % threads / 32 == warp && in[k] % 64 == thread % 64 ? 1 : 0;
      sum = sum * 3 + count;
    }
    return sum;
  });
}

TEST_CASE("rows that wait for those before them add up in step") {
  mustStoreBothWays("rows", {32, 128, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t block, std::uint32_t thread) {
    const std::uint32_t last = (block * threads + thread) / 32;
    std::vector<std::uint32_t> totals(last + 1);
    for (std::uint32_t row = 0; row <= last; ++row) {
      std::uint32_t sum = in[row];
      for (std::uint32_t before = row > 40 ? row - 40 : 0; before < row; ++before) sum += totals[before] ^ in[(row * 7 + before) % 777];
      totals[row] = sum & 0xff'ffff;
    }
    return totals[last] + thread % 32;
  });
}

TEST_CASE("one lane gives back its warp's lock when all have stored") {
  const LoopKernels kernels("steps", "O3");
  const cpu::KernelCode code = kernels.code("locked_by_one");
  const Words in = someNumbers();
  const auto worked = [](std::uint32_t word) {
    for (std::uint32_t k = 0; k < 300; ++k) word = (word ^ word >> 7) * 5;
    return word;
  };
  for (const bool fibers : {true, false}) {
    for (const std::uint32_t threads : {32u, 256u, 1024u}) {
      INFO((fibers ? "fibers" : "as compiled") << ", " << threads);
      const Outcome outcome = runAs(code, fibers, {threads, 1, 1}, in, 777);
      REQUIRE(outcome.error == CudaError::success);
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        std::uint32_t sum = 0xdead'beef;
        for (std::uint32_t first = 0; first < 3 * threads; first += 32)
          for (std::uint32_t round = 0; round < 8; ++round) sum += worked(in[(first + lane + round) % 777]);
        CHECK(outcome.words[3 * 1024 + lane] == sum);
      }
    }
  }
}

TEST_CASE("a warp's generator of random numbers in volatile shared memory, in a function that is called") {
  mustStoreBothWays("generated", {32, 64, 256}, [](const Words& in, std::uint32_t, std::uint32_t, std::uint32_t thread) {
    constexpr std::uint32_t kWords = 101, kDistance = 38;
    std::array<std::uint32_t, kWords> words;
    for (std::uint32_t k = 0; k < kWords; ++k) words[k] = in[(thread / 32 * 77 + k) % 777];
    std::uint32_t index = 0, mixed = 0;
    const auto renew = [&](std::uint32_t from, std::uint32_t to) {
      for (; from < to; from += 32) {
        std::array<std::uint32_t, 32> made;
        const std::uint32_t count = std::min(32u, to - from);
        for (std::uint32_t k = from; k < from + count; ++k) made[k - from] = words[k] * 5 + (words[(k + 1) % kWords] ^ words[(k + kDistance) % kWords]);
        std::copy_n(made.begin(), count, words.begin() + from);
      }
    };
    for (std::uint32_t round = 0; round < 20; ++round) {
      if (++index >= 3) {
        renew(0, kWords - kDistance);
        renew(kWords - kDistance, kWords);
        index = 0;
      }
      mixed ^= words[32 * index + thread % 32] + round;
      for (std::uint32_t k = mixed % 5; k > 0; --k) mixed = mixed * 3 + (in[k] & 1);
    }
    return mixed;
  });
}

TEST_CASE("lanes that took turns at their warp's sums have all done so when they look at their own") {
  mustStoreBothWays("turned", {32, 64, 256, 1024}, [](const Words& in, std::uint32_t threads, std::uint32_t block, std::uint32_t thread) {
    std::uint32_t sum = 0, own = 0;
    for (std::uint32_t k = 0; k < 32; ++k) {
      const std::uint32_t other = thread / 32 * 32 + (thread + 32 - k) % 32;
      const std::uint32_t given = in[((block * threads + other) * 7 + k) % 777], word = in[((block * threads + thread) * 7 + k) % 777];
      if (given % 3 != 0) sum += given;
      if (word % 3 != 0) own = own * 3 + word;
    }
    return sum * 5 + own;
  });
}

}  // namespace rouse::test
