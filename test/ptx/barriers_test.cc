// Kernels with barriers, in loops over threads beside the same with fibers.
#include "test/ptx/loop_kernels.h"

namespace rouse::test {

TEST_CASE("a kernel with barriers computes the same in loops and with fibers") {
  mustBeTheSame("barriers", {"turned", "dynamic_shared", "tiles", "tree", "own_rounds", "early_end", "apart", "local_arrays", "reductions", "numbers",
                             "called", "chosen", "bins", "own_or_common"});
}

TEST_CASE("what one thread does between barriers ends the launch") {
  mustEndWith("barriers", "traps", CudaError::launchFailure);
  mustEndWith("barriers", "misaligned", CudaError::misalignedAddress);
  mustEndWith("barriers", "faults", CudaError::illegalAddress);
}

TEST_CASE("what is stored over what others read, without a barrier between, is stored when all have read") {
  for (const std::uint32_t threads : {32u, 33u, 64u, 256u, 1024u}) {
    mustStore("barriers", "fetches", false, threads, [](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t) {
      std::uint32_t sum = 0;
      for (std::uint32_t next = in[block] % 8; next < 40; next += 1 + in[block + next] % 4) sum = sum * 3 + next;
      return sum;
    });
    mustStore("barriers", "clears", false, threads, [&](const std::vector<std::uint32_t>&, std::uint32_t, std::uint32_t) {
      std::uint32_t total = 0;
      for (std::uint32_t round = 0; round < 4; ++round)
        total = total * 3 + (round == 0 ? 0 : round - 1) + threads * (threads - 1) / 2 + threads * round;
      return total;
    });
    mustStore("barriers", "neighbours", false, threads, [&](const std::vector<std::uint32_t>&, std::uint32_t, std::uint32_t thread) {
      std::vector<std::uint32_t> row(threads + 1);
      for (std::uint32_t k = 0; k <= threads; ++k) row[k] = k == 0 ? 5 : k - 1;
      for (std::uint32_t round = 0; round < 6; ++round)
        for (std::uint32_t k = threads; k > 0; --k) row[k] = row[k - 1] * 2 + round;
      return row[thread + 1];
    });
    mustStore("barriers", "set_back", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t sum = 2 + block;
      for (std::uint32_t k = block * threads + thread; k < 777; k += threads) sum += in[k];
      return sum;
    });
  }
}

TEST_CASE("a warp finds in shared memory what its threads have left there, without a barrier between") {
  for (const std::uint32_t threads : {32u, 64u, 256u, 1024u}) {
    INFO(threads);
    using Words = std::vector<std::uint32_t>;
    const auto at = [&](const Words& in, std::uint32_t block, std::uint32_t thread) { return in[block * threads + thread]; };
    mustStore("barriers", "left_turned", false, threads, [&](const Words& in, std::uint32_t block, std::uint32_t thread) {
      return at(in, block, thread ^ 31) * 3 + at(in, block, thread / 32 * 32 + (thread + 777) % 32);
    });
    mustStore("barriers", "left_rows", false, threads, [&](const Words& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t k = 0; k < 4; ++k) sum = sum * 3 + at(in, block, thread / 4 * 4 + k + thread % 4);
      return sum;
    });
    mustStore("barriers", "left_by_few", false, threads, [&](const Words& in, std::uint32_t block, std::uint32_t thread) { return at(in, block, thread + 1) * 3 - at(in, block, thread); });
    mustStore("barriers", "left_in_tree", false, threads, [&](const Words& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t k = 0; k < 32; ++k) sum += at(in, block, k);
      return thread == 0 ? sum : 1;
    });
    mustStore("barriers", "left_in_rounds", false, threads, [&](const Words& in, std::uint32_t, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t x = thread / 32; x < 40; x += threads / 32) {
        if (in[x] % 3 == 0 || thread % 32 > x) continue;
        for (std::uint32_t k = 0; k < 1 + in[x] % 7; ++k) sum = sum * 3 + in[x * 17 + thread % 32 + k];
      }
      return sum;
    });
    mustStore("barriers", "left_by_one", false, threads, [&](const Words& in, std::uint32_t block, std::uint32_t thread) {
      const std::uint32_t* const list = in.data() + 7 * (block * (threads / 32) + thread / 32);
      const std::uint32_t sought = list[0] % 33, count = 40 + list[1] % 60;
      std::uint32_t sum = 0;
      for (std::uint32_t k = thread % 32; k < count; k += 32) sum += k > sought ? list[k] ^ (list[sought] * 5) : 0;
      return sum;
    });
  }
}

TEST_CASE("pipelines of threads go on with what the one before had") {
  for (const std::uint32_t threads : {1u, 32u, 48u, 64u, 100u, 1024u}) {
    mustStore("barriers", "pipelines", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
      using Row = std::vector<std::uint32_t>;
      // Made once for all threads.
      static std::uint32_t made = 0;
      static std::vector<Row> rows;
      if (made != threads) {
        Row start(threads);
        for (std::uint32_t k = 0; k < threads; ++k) start[k] = k;
        rows.assign(3, start);
        for (std::uint32_t round = 0; round < 100; ++round) {
          Row next[3] = {start, start, rows[2]};
          for (std::uint32_t k = 0; k < threads; ++k) {
            next[0][k] = (k == 0 ? in[round] : rows[0][k - 1]) * 3 + round;
            next[1][k] = rows[1][(k + threads - 1) % threads] * 3 + round;
            if (k > round) next[2][k] = rows[2][k - 1] * 3 + round;
          }
          for (std::uint32_t which = 0; which < 3; ++which) rows[which] = next[which];
        }
        made = threads;
      }
      const std::uint32_t last = thread + 1 < threads || thread > 0 ? rows[2][thread] : 0;
      return rows[0][thread] * 8 + rows[1][thread] * 7 + last;
    });
  }
}

TEST_CASE("threads that may leave loops apart store over what others have read when all have, while they go together") {
  for (const std::uint32_t threads : {32u, 64u, 1024u}) {
    mustStore("barriers", "returned", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t) {
      std::uint32_t sum = 0;
      for (std::uint32_t round = 0; round < 5; ++round)
        for (std::uint32_t j = 0; j < 16; ++j) sum = sum * 3 + in[j + round];
      return sum;
    });
  }
}

TEST_CASE("one thread adds up what its warp has just stored") {
  for (const std::uint32_t threads : {32u, 64u, 1024u}) {
    mustStore("barriers", "gathers", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t k = 0; k < 200; ++k) sum += in[k];
      return thread == 0 ? sum : thread;
    });
  }
}

TEST_CASE("lanes that add up in volatile global memory go in step") {
  for (const bool fibers : {false, true}) {
    const LoopKernels kernels("barriers", "O3");
    const cpu::KernelCode code = kernels.code("adds_in_step");
    const Outcome outcome = runAs(code, fibers, {64, 1, 1}, someNumbers(), 777);
    REQUIRE(outcome.error == CudaError::success);
    for (std::uint32_t block = 0; block < 3; ++block) CHECK(outcome.words[block * 64] == 64 * 63 / 2 * 3 + 64);
  }
}

TEST_CASE("calls through pointers of functions that wait for nobody do not make a loop one that waits") { mustBeTheSame("barriers", {"through_pointer"}); }

TEST_CASE("a block that waits for a barrier object as a whole does so in loops") {
  mustBeTheSame("objects", {"elected", "mixed"}, false);
  mustBeTheSame("objects", {"tiles"}, true, {"O3"});  // built for debugging it has constants in memory, which nobody places here
  for (const std::uint32_t threads : {1u, 32u, 100u, 1024u}) {
    mustStore("objects", "made_anew", false, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t round = 0; round < 4; ++round) sum = sum * 3 + in[block * threads + thread + round];
      return sum;
    });
  }
  const LoopKernels kernels("objects", "O3");
  for (const char* name : {"elected", "mixed"}) CHECK(kernels.code(name).loop != nullptr);
}

TEST_CASE("threads that wait for barrier objects apart do so as fibers") {
  mustBeTheSame("objects", {"halves", "dropped", "chained", "asked", "polls"}, false);
  for (const char* variant : {"O3", "O0-G"}) {
    const LoopKernels kernels("objects", variant);
    for (const char* name : {"halves", "dropped", "chained"}) CHECK(kernels.code(name).loop == nullptr);
  }
  for (const std::uint32_t threads : {32u, 64u, 96u, 1024u}) {
    mustStore("objects", "polls", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) { return in[block * threads + thread] + 2; });
    const auto at = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) { return in[block * threads + thread]; };
    mustStore("objects", "halves", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t sum = 0;
      for (std::uint32_t round = 0; thread >= threads / 2 && round < 4; ++round) sum = sum * 3 + at(in, block, thread - threads / 2) + round;
      return sum + thread;
    });
    mustStore("objects", "dropped", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      const std::uint32_t own = at(in, block, thread), rounds = 1 + own % 5;
      return rounds * own + rounds * (rounds - 1) / 2;
    });
    mustStore("objects", "chained", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t seen = in[block];
      for (std::uint32_t warp = 0; warp < thread / 32; ++warp) seen = seen * 7 + warp;
      return seen;
    });
  }
}

TEST_CASE("a wait for a barrier object that nobody is left to end ends the launch") {
  const LoopKernels kernels("objects", "O3");
  const cpu::KernelCode code = kernels.code("stuck");
  REQUIRE(code.loop != nullptr);
  std::vector<std::uint32_t> in = someNumbers();
  CHECK(runAs(code, false, {96, 1, 1}, in, ~0u).error == CudaError::success);
  in[130] = ~0u;
  const Error end = endOf(code, 3, {96, 1, 1}, in, ~0u);
  CHECK(end.code == CudaError::launchFailure);
  CHECK(end.message.find("barrier object") != std::string::npos);
}

}  // namespace rouse::test
