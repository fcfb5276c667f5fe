// Kernels whose threads wait for what others store, in loops over threads beside the same with fibers.
#include <algorithm>

#include "test/ptx/loop_kernels.h"

namespace rouse::test {

TEST_CASE("a kernel whose threads poll computes the same in loops and with fibers") {
  mustBeTheSame("polls", {"handed_on", "late", "locked", "turns", "all_rounds"}, true, {"O3"});
  // Where volatile stores may be to shared memory, warps go in step, which fibers do.
  mustBeTheSame("polls", {"handed_on", "late", "locked", "turns", "all_rounds"}, false, {"O0-G"});
  mustBeTheSame("polls", {"relay", "passed", "ringed"}, false);
}

TEST_CASE("warps poll together, threads between operations of warps, and all of a block") {
  mustBeTheSame("polls", {"looked_back", "led", "together", "counted", "swept", "drawn"}, true, {"O3"});
  mustBeTheSame("polls", {"looked_back", "led", "together", "counted", "swept", "drawn"}, false, {"O0-G"});
}

TEST_CASE("what comes from block to block is what it should be") {
  for (const bool fibers : {false, true}) {
    for (const std::uint32_t threads : {1u, 32u, 33u, 1024u}) {
      const auto expected = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
        std::uint32_t sum = in[block * threads + thread];
        for (std::uint32_t k = 0; k < block; ++k) sum += in[k];
        return sum;
      };
      mustStore("polls", "handed_on", fibers, threads, expected);
      const auto fromBehind = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
        std::uint32_t sum = in[block * threads + thread];
        for (std::uint32_t k = block + 1; k < kBlocks; ++k) sum += in[k];
        return sum;
      };
      if (threads % 32 == 0) mustStore("polls", "asked_together", fibers, threads, fromBehind, __builtin_cpu_supports("avx2"));
    }
  }
}

TEST_CASE("warps go in step where they poll, and behind it") {
  for (const bool fibers : {false, true}) {
    for (const std::uint32_t threads : {32u, 64u, 256u, 512u}) {
      INFO(fibers << " " << threads);
      const auto counts = [](bool twice) {
        return [twice](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
          std::uint32_t count = 0;
          for (std::uint32_t lane = 0; lane < 32; ++lane) {
            for (std::uint32_t k = 0; k < 20; ++k) {
              const std::uint32_t x = in[(thread / 32 * 32 + lane + 5 * k) % 777];
              count += (x % 8 == thread % 8 ? 1 : 0) + (twice && x / 8 % 8 == thread % 8 ? 1 : 0);
            }
          }
          return count;
        };
      };
      mustStore("polls", "tagged", fibers, threads, counts(false), false);
      mustStore("polls", "tagged_twice", fibers, threads, counts(true), false);
      const auto sums = [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
        if (thread % 32 != 0) return thread % 32;
        std::uint32_t sum = 0;
        for (std::uint32_t k = 0; k < 100; ++k) sum += in[100 * (thread / 32) + k];
        return sum;
      };
      mustStore("polls", "met_again", fibers, threads, sums, false);
    }
  }
}

TEST_CASE("who walks on to where there is no further waits there") {
  for (const std::uint32_t threads : {32u, 96u, 1024u}) {
    mustStore("polls", "walked", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t) { return in[block * threads + threads - 1] | 1; }, false);
  }
}

TEST_CASE("lanes wait for what another one of their warp stores instead of waiting") {
  for (const std::uint32_t threads : {32u, 96u, 1024u}) {
    mustStore("polls", "flagged", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      return in[block * threads + (thread ^ 1)] + in[block * threads + (thread ^ 3)];
    }, false);
  }
}

TEST_CASE("warps wait in loops, and blocks go round until what they load says so") {
  const bool vectors = __builtin_cpu_supports("avx2");
  for (const bool fibers : {false, true}) {
    for (const std::uint32_t threads : {32u, 96u, 512u}) {
      INFO(fibers << " " << threads);
      const auto solved = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
        std::uint32_t sum = 0;
        for (std::uint32_t row = 0; row < (block * threads + thread) / 32; ++row) sum += (sum + in[row]) % 1000;
        return sum;
      };
      mustStore("polls", "solved", fibers, threads, solved, vectors);
      const auto takenUp = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
        std::vector<std::uint32_t> sums;
        for (std::uint32_t row = 0; row <= (block * threads + thread) / 32; ++row) {
          std::uint32_t sum = in[row];
          for (std::uint32_t next = 0; next < std::min(row, 32u); ++next) sum += sums[row - 1 - next] % 1000 + next;
          sums.push_back(sum);
        }
        return sums.back();
      };
      mustStore("polls", "taken_up", fibers, threads, takenUp, vectors);
      const auto counted = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
        std::uint32_t values[32], sum = 0;
        for (std::uint32_t lane = 0; lane < 32; ++lane) values[lane] = in[block * threads + thread / 32 * 32 + lane] % 100;
        for (std::uint32_t left = 5; left > 0; --left) {
          for (std::uint32_t by = 16; by > 0; by /= 2) {
            std::uint32_t before[32];
            std::copy(values, values + 32, before);
            for (std::uint32_t lane = 0; lane < 32; ++lane) values[lane] += before[lane ^ by] % 7;
          }
          sum += values[thread % 32] * left;
        }
        return sum;
      };
      mustStore("polls", "counted_down", fibers, threads, counted, false);
    }
  }
}

TEST_CASE("a warp waits for what its leader polls and leaves in shared memory") {
  for (const bool fibers : {false, true}) {
    for (const std::uint32_t threads : {32u, 64u, 256u, 1024u}) {
      mustStore("polls", "left_for_warp", fibers, threads, [&](const std::vector<std::uint32_t>&, std::uint32_t, std::uint32_t thread) { return 7 + thread; }, false);
    }
  }
}

TEST_CASE("a warp that reads what one of its lanes has stored in the same round waits for nobody") {
  for (const std::uint32_t threads : {32u, 64u, 256u, 1024u}) {
    mustStore("polls", "tasks", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) { return 3 * in[thread % 777] + block; });
    // The last one of those that store is elected.
    mustStore("polls", "elected", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t lane = 32; lane-- != 0;) {
        const std::uint32_t has = in[(thread / 32 * 32 + lane) % 777] % 4;
        if (has != 0) sum = 3 * sum + has * lane + 1;
      }
      return sum;
    });
  }
}

TEST_CASE("a block's sum, found without a barrier behind it, stays what it was though another follows") {
  for (const std::uint32_t threads : {32u, 64u, 256u, 1024u}) {
    mustStore("polls", "summed_twice", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t) {
      std::uint32_t once = 0, twice = 0;
      for (std::uint32_t thread = 0; thread < threads; ++thread) once += in[thread] % 100, twice += in[thread] % 10;
      return 10000 * twice + once;
    });
  }
}

TEST_CASE("who lists what it has found while there is room waits for nobody") { CHECK_FALSE(LoopKernels("polls", "O3").code("listed").mayPoll); }

TEST_CASE("more blocks than are begun at once wait for each other") {
  const LoopKernels kernels("polls", "O3");
  const cpu::KernelCode code = kernels.code("all_here");
  REQUIRE(code.mayPoll);
  const Error error = endOf(code, 96, {32, 1, 1}, someNumbers(), 0);  // the launcher begins 64
  INFO(error.message);
  CHECK(error.code == CudaError::success);
}

}  // namespace rouse::test
