// Kernels whose lanes exchange values, as vectors where the processor has masks, beside the same with fibers.
#include "test/ptx/loop_kernels.h"

namespace rouse::test {
namespace {

constexpr memory::Dim3 kNoWholeRows[] = {{48, 1, 1}, {8, 8, 1}, {16, 16, 1}, {1, 64, 1}, {24, 4, 1}, {16, 8, 2}, {4, 4, 8}, {8, 3, 4}, {12, 4, 2}, {12, 3, 8}, {1, 1, 64}};

}  // namespace

TEST_CASE("lanes of a warp exchange in vectors what they exchange as fibers") {
  mustBeTheSame("warps", {"shuffles", "votes", "reduces", "block_sum", "warp_branches", "scans", "synchronized", "matrices", "loaded_ahead", "parts", "last_stage", "groups", "voted", "aggregated", "paired", "skewed", "before", "outside", "rounds", "unread"}, false);
  mustBeTheSame("warp_loops", {"summed_rounds", "summed_doubles", "summed_halves", "summed_fused"}, false);
  mustBeTheSame("warps", {"ranges", "own_arrays", "by_warps", "strided", "strided_sum", "tiles", "halves_strided", "even", "even_rows", "even_plain"}, false);
}

TEST_CASE("threads that end early leave the others to warps and barriers") {
  mustBeTheSame("blocks", {"leave_behind", "leave_warps", "leave_lanes", "leave_rounds", "leave_by_turns", "leave_reductions", "leave_volatile"}, __builtin_cpu_supports("avx2"), {"O3"});
  mustBeTheSame("blocks", {"leave_behind", "leave_warps", "leave_lanes", "leave_rounds", "leave_by_turns", "leave_reductions", "leave_volatile"}, false);
}

TEST_CASE("warps that come to barriers each in its own way are vectors") {
  const LoopKernels kernels("warp_loops", "O3");
  for (const char* name : {"rows_apart", "rows_within_rows"}) CHECK((kernels.code(name).loop != nullptr) == static_cast<bool>(__builtin_cpu_supports("avx2")));
  mustBeTheSame("warp_loops", {"rows_apart", "rows_within_rows"}, false);
}

// Where the processor has masks; else all of them are fibers.
TEST_CASE("blocks that go by what they load are vectors") {
  CHECK_FALSE(LoopKernels("blocks", "O3").code("counted_rounds").mayPoll);
  mustBeTheSame("blocks", {"rounds_loaded", "counted_rounds", "brought_alike"}, __builtin_cpu_supports("avx2"), {"O3"});
  mustBeTheSame("blocks", {"rounds_loaded", "counted_rounds", "brought_alike"}, false);
}

TEST_CASE("whole warps are vectors") {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    WARN("left out: this processor has no AVX-512, and kernels with operations of warps run as fibers");
    return;
  }
  const auto mustBe = [](const LoopKernels& kernels, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      INFO(name);
      const cpu::KernelCode code = kernels.code(name);
      CHECK(code.loop != nullptr);
      CHECK(code.wholeWarps);
    }
  };
  mustBe(LoopKernels("warps", "O3"), {"shuffles", "votes", "reduces", "block_sum", "warp_branches", "scans", "synchronized", "matrices", "loaded_ahead", "parts", "last_stage", "groups", "voted", "aggregated", "lost", "ranges",
                                      "own_arrays", "tasks", "plain_tree", "by_warps", "strided", "tiles", "halves_strided"});
  mustBe(LoopKernels("warp_loops", "O3"), {"refilled", "summed_rounds", "summed_doubles", "summed_halves", "summed_fused"});
}

TEST_CASE("warps of blocks whose rows are no whole warps are vectors") {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
    WARN("left out: this processor has no AVX-512, and kernels with operations of warps run as fibers");
    return;
  }
  const LoopKernels kernels("warps", "O3");
  for (const char* name : {"shuffles", "votes", "reduces", "synchronized", "groups", "voted", "aggregated", "block_sum"}) {
    for (const memory::Dim3& block : kNoWholeRows) {
      INFO(name << ", " << block.x << " x " << block.y << " x " << block.z);
      CHECK(kernels.codeFor(name, block).loop != nullptr);
    }
  }
}

TEST_CASE("warps of several rows are vectors where the kernel takes the rows to be as they are") {
  const LoopKernels kernels("warps", "O3");
  const std::vector<std::uint32_t> in = someNumbers();
  const cpu::KernelCode any = kernels.code("in_eights");
  CHECK(any.loop == nullptr);
  for (const memory::Dim3& block : {memory::Dim3{8, 4, 1}, memory::Dim3{8, 8, 1}, memory::Dim3{8, 32, 1}, memory::Dim3{8, 4, 4}, memory::Dim3{8, 4, 32}}) {
    INFO(block.x << " x " << block.y << " x " << block.z);
    const cpu::KernelCode own = kernels.codeFor("in_eights", block);
    CHECK((own.loop != nullptr || !any.wholeWarps));
    const Outcome loop = runAs(own, false, block, in, 777), fibers = runAs(any, true, block, in, 777);
    CHECK(loop.error == CudaError::success);
    CHECK(fibers.error == CudaError::success);
    CHECK(loop.words == fibers.words);
  }
}

TEST_CASE("what the lanes of a warp have equally much of they do side by side, however nvcc unrolls it") {
  const LoopKernels kernels("warps", "O3");
  const std::vector<std::uint32_t> in = someNumbers();
  const bool vectors = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  for (const char* name : {"even", "even_rows", "even_written", "even_plain"}) {
    const cpu::KernelCode code = kernels.code(name);
    CHECK((code.loop != nullptr) == vectors);
    for (const std::uint32_t threads : {128u, 256u, 384u, 1024u}) {
      INFO(name << ", " << threads);
      const Outcome loop = runAs(code, !vectors, {threads, 1, 1}, in, 777, &kernels), fibers = runAs(code, true, {threads, 1, 1}, in, 777, &kernels);
      CHECK(loop.error == CudaError::success);
      CHECK(fibers.error == CudaError::success);
      CHECK(loop.words == fibers.words);
    }
  }
}

TEST_CASE("lanes that wait for each other at different places, or in different rounds, are fibers") {
  const LoopKernels kernels("warps", "O3");
  for (const char* name : {"paired", "skewed", "rounds", "halves_meet", "strided_sum"}) CHECK(kernels.code(name).loop == nullptr);
  CHECK(LoopKernels("warp_loops", "O3").code("late").loop == nullptr);
  mustBeTheSame("warp_loops", {"late"}, false);
  for (const std::uint32_t threads : {32u, 64u, 1024u}) {
    const auto at = [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) { return in[block * threads + thread]; };
    mustStore("warps", "halves_meet", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) { return at(in, block, thread ^ 1); });
    mustStore("warps", "paired", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      return at(in, block, thread) * (thread % 2 == 0 ? 3 : 5) + at(in, block, thread ^ 1);
    });
    mustStore("warps", "skewed", true, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
      std::uint32_t own = at(in, block, thread), other = at(in, block, thread ^ 1);
      for (std::uint32_t times = 0; times < 4; ++times) {
        const std::uint32_t next = own * 3 + other + times;
        other = other * 3 + own + times;
        own = next;
      }
      return own;
    });
  }
}

TEST_CASE("an endless loop that nobody comes to is nothing") {
  const bool vectors = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  CHECK((LoopKernels("warps", "O3").code("own_step").loop != nullptr) == vectors);
  for (const std::uint32_t threads : {32u, 64u, 1024u}) {
    for (const bool fibers : {false, true}) {
      mustStore("warps", "own_step", fibers || !vectors, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
        const std::uint32_t lane = thread % 32, warps = threads / 32;
        std::uint32_t sum = 0;
        for (std::uint32_t i = thread / 32; i < 64; i += warps)
          for (std::uint32_t r = 0; r < warps; ++r) sum = sum * 3 + in[(i + r * 32 + lane) % 64] + in[(i + r * 32 + (lane ^ 1)) % 64];
        return sum;
      });
    }
  }
}

TEST_CASE("of a lane that is not there a shuffle gets 0") {
  const bool vectors = LoopKernels("warps", "O3").code("lost").loop != nullptr;
  for (const std::uint32_t threads : {32u, 64u, 1024u}) {
    for (const bool fibers : {false, true}) {
      mustStore("warps", "lost", fibers || !vectors, threads, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread) {
        const std::uint32_t lane = thread % 32;
        std::vector<std::uint32_t> sums(in.begin() + block * threads + thread - lane, in.begin() + block * threads + thread - lane + 32);
        if (lane >= 8) return sums[lane] * 4 + 11;
        const std::uint32_t told = sums[3] * 7;
        sums.resize(8);
        sums.resize(48);
        for (std::uint32_t k = 16; k > 0; k /= 2) {
          std::vector<std::uint32_t> next = sums;
          for (std::uint32_t l = 0; l < 8; ++l) next[l] = sums[l] + (l + k < 8 ? sums[l + k] : 0);
          sums = next;
        }
        return sums[lane] * 4 + told * 11;
      });
    }
  }
}

// As fibers they have no place where they would meet behind a store that some of them make.
TEST_CASE("a warp's tree over plain shared memory goes in step side by side") {
  if (LoopKernels("warps", "O3").code("plain_tree").loop == nullptr) {
    WARN("left out: this processor has no AVX-512, and kernels with operations of warps run as fibers");
    return;
  }
  mustStore("warps", "plain_tree", false, 64, [&](const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t) {
    std::uint32_t least = ~std::uint32_t{0};
    for (std::uint32_t k = 0; k < 64; ++k) least = std::min(least, in[block * 64 + k] % 100003);
    return 2 * least;
  });
}

TEST_CASE("who looks at what its warp has fetched waits for nobody") {
  const bool vectors = __builtin_cpu_supports("avx2");
  CHECK((LoopKernels("warp_loops", "O3").code("refilled").loop != nullptr) == vectors);
  for (const bool fibers : {false, true}) {
    for (const std::uint32_t threads : {32u, 96u, 1024u}) {
      mustStore("warp_loops", "refilled", fibers || !vectors, threads, [](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) {
        const std::uint32_t lane = thread % 32, begin = thread / 32 * 50;
        std::uint32_t sum = 0;
        for (std::uint32_t at = begin; at < begin + 50; ++at) {
          const std::uint32_t entry = at / 3;
          if (entry < 700 && 3 * entry + in[entry] % 3 == at) continue;
          for (std::uint32_t k = 1; k <= 32; ++k) sum += k * in[(at + (lane + k - 1) % 32) % 777];
        }
        return sum;
      }, false);
    }
  }
}

TEST_CASE("who fetches a task for its warp waits for nobody") {
  const bool vectors = LoopKernels("warps", "O3").code("tasks").loop != nullptr;
  for (const bool fibers : {false, true}) {
    mustStore("warps", "tasks", fibers || !vectors, 256, [&](const std::vector<std::uint32_t>& in, std::uint32_t, std::uint32_t thread) { return 40 * 39 / 2 * in[thread % 1000]; });
  }
}

}  // namespace rouse::test
