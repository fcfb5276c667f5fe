// Barrier objects in shared memory (cuda::barrier), asynchronous copies that arrive at them, pipelines of stages, producers and
// consumers; below them, in PTX, what no C++ interface reaches: arrivals without completion, drops, bytes that are expected, parities,
// bulk copies, an elected lane.
// nvcc: -gencode arch=compute_90,code=compute_90 --diag-suppress 20054
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <utility>

#include "check.h"

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 256;

__global__ void copyAndWait(const int* in, int* out, int n) {
  __shared__ Barrier barrier;
  __shared__ alignas(16) int buffer[kThreads];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  int sum = 0;
  for (int base = 0; base < n; base += kThreads) {
    cuda::memcpy_async(block, buffer, in + base, cuda::aligned_size_t<16>(sizeof buffer), barrier);
    barrier.arrive_and_wait();
    sum = sum * 3 + buffer[(threadIdx.x * 7 + 3) % kThreads];
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
  }
  out[threadIdx.x] = sum;
}

template <int stages>
__global__ void stagedCopies(const int* in, int* out, int n) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ alignas(16) int buffer[stages][kThreads];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int take = 0, fetch = 0; take < n / kThreads; ++take) {
    for (; fetch < n / kThreads && fetch < take + stages; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buffer[fetch % stages], in + fetch * kThreads, sizeof buffer[0], pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum = sum * 3 + buffer[take % stages][(threadIdx.x * 5 + 1) % kThreads];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// The first half fills a buffer that the second half reads.
__global__ void producersAndConsumers(const int* in, int* out, int n) {
  constexpr int half = kThreads / 2;
  __shared__ Barrier ready, filled;
  __shared__ int buffer[half];
  if (threadIdx.x == 0) {
    init(&ready, kThreads);
    init(&filled, kThreads);
  }
  __syncthreads();
  int sum = 0;
  if (threadIdx.x < half) {
    for (int base = 0; base < n; base += half) {
      ready.arrive_and_wait();
      buffer[threadIdx.x] = in[base + threadIdx.x];
      (void)filled.arrive();
    }
  } else {
    (void)ready.arrive();
    for (int base = 0; base < n; base += half) {
      filled.arrive_and_wait();
      sum = sum * 3 + buffer[threadIdx.x * 3 % half];
      (void)ready.arrive();
    }
  }
  out[threadIdx.x] = sum;
}

// Warps leave one after the other; those that stay are not held up.
__global__ void leaving(int* out) {
  __shared__ Barrier barrier;
  __shared__ int told[kThreads / 32];
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  for (unsigned round = 0; round < kThreads / 32; ++round) {
    if (threadIdx.x / 32 == round) {
      out[threadIdx.x] = round == 0 ? 0 : told[round - 1];
      barrier.arrive_and_drop();
      return;
    }
    if (threadIdx.x == kThreads - 1) told[round] = round + 1;
    barrier.arrive_and_wait();
  }
}

// Tiles of several warps: their barriers and sums are in shared memory that the program does not declare.
template <int size>
__global__ void wideTiles(const int* in, int* out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = cg::reduce(tile, in[i], cg::plus<int>());
  tile.sync();
  sum += tile.shfl(in[i], 40);
  out[i] = tile.any(in[i] == 12345) ? -1 : sum + int(tile.meta_group_rank());
}

namespace ptx {

__device__ unsigned shared(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }
__device__ void init(unsigned long long* object, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(object)), "r"(count) : "memory");
}
__device__ unsigned long long arriveWithout(unsigned long long* object, unsigned count) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state) : "r"(shared(object)), "r"(count) : "memory");
  return state;
}
__device__ unsigned pending(unsigned long long state) {
  unsigned count;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
}
__device__ unsigned long long arrive(unsigned long long* object) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(state) : "l"(object) : "memory");  // a generic address
  return state;
}
__device__ void arriveExpecting(unsigned long long* object, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared(object)), "r"(bytes) : "memory");
}
__device__ bool testState(unsigned long long* object, unsigned long long state) {
  unsigned done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done) : "r"(shared(object)), "l"(state) : "memory");
  return done != 0;
}
__device__ bool testParity(unsigned long long* object, unsigned parity) {
  unsigned done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done) : "r"(shared(object)), "r"(parity) : "memory");
  return done != 0;
}
__device__ void waitParity(unsigned long long* object, unsigned parity) {
  unsigned done = 0;
  while (done == 0)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(shared(object)), "r"(parity), "r"(1000) : "memory");
}
__device__ bool elect() {
  unsigned chosen;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(chosen));
  return chosen != 0;
}

}  // namespace ptx

// One thread looks at an object in each of its states.
__global__ void states(unsigned* out) {
  __shared__ unsigned long long object;
  ptx::init(&object, 3);
  const auto first = ptx::arriveWithout(&object, 2);
  *out++ = ptx::pending(first);
  *out++ = ptx::testState(&object, first);
  *out++ = ptx::testParity(&object, 0);
  *out++ = ptx::testParity(&object, 1);  // the phase before the first counts as over
  const auto last = ptx::arrive(&object);
  *out++ = ptx::pending(last);
  *out++ = ptx::testState(&object, last);
  *out++ = ptx::testParity(&object, 0);
  *out++ = ptx::testParity(&object, 1);
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 48;" ::"r"(ptx::shared(&object)) : "memory");
  const auto again = ptx::arriveWithout(&object, 2);
  ptx::arriveExpecting(&object, 16);  // nobody is missing, 64 bytes are
  *out++ = ptx::pending(again);
  *out++ = ptx::testParity(&object, 1);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 40;" ::"r"(ptx::shared(&object)) : "memory");
  *out++ = ptx::testParity(&object, 1);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 24;" ::"r"(ptx::shared(&object)) : "memory");
  *out++ = ptx::testParity(&object, 1);
  *out++ = ptx::testParity(&object, 0);
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(ptx::shared(&object)) : "memory");
}

// Bulk copies in and out, by one elected lane, in two buffers.
__global__ void bulk(const int* in, int* out, int n) {
  __shared__ alignas(128) int buffer[2][kThreads];
  __shared__ alignas(128) int results[kThreads];
  __shared__ unsigned long long full[2];
  if (threadIdx.x == 0) {
    ptx::init(&full[0], 1);
    ptx::init(&full[1], 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  const bool leads = threadIdx.x < 32 && ptx::elect();
  const auto fetch = [&](int batch) {
    if (!leads || batch >= n / kThreads) return;
    ptx::arriveExpecting(&full[batch % 2], sizeof buffer[0]);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     ptx::shared(buffer[batch % 2])),
                 "l"(__cvta_generic_to_global(in + batch * kThreads)), "r"(int(sizeof buffer[0])), "r"(ptx::shared(&full[batch % 2]))
                 : "memory");
  };
  fetch(0);
  for (int batch = 0; batch < n / kThreads; ++batch) {
    fetch(batch + 1);
    ptx::waitParity(&full[batch % 2], batch / 2 % 2);
    if (leads) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncthreads();
    results[threadIdx.x] = buffer[batch % 2][kThreads - 1 - threadIdx.x] * 2 + batch;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (leads) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                       __cvta_generic_to_global(out + batch * kThreads)),
                   "r"(ptx::shared(results)), "r"(int(sizeof results))
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (leads) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <class Index>
std::vector<int> folded(const std::vector<int>& in, int step, Index index) {
  std::vector<int> sums(kThreads);
  for (int t = 0; t < kThreads; ++t)
    for (std::size_t base = 0; base < in.size(); base += step) {
      const int at = index(t);
      if (at >= 0) sums[t] = int(unsigned(sums[t]) * 3u + unsigned(in[base + at]));
    }
  return sums;
}

int main() {
  const int n = 32 * kThreads;
  std::vector<int> in(n);
  for (int i = 0; i < n; ++i) in[i] = int((i * 2654435761u) >> 9);
  int* from = check::toDevice(in);
  int* to = check::deviceArray<int>(n);

  copyAndWait<<<1, kThreads>>>(from, to, n);
  CHECK(cudaGetLastError());
  check::equal("copied", check::toHost(to, kThreads), folded(in, kThreads, [](int t) { return (t * 7 + 3) % kThreads; }));

  const auto staged = folded(in, kThreads, [](int t) { return (t * 5 + 1) % kThreads; });
  stagedCopies<2><<<1, kThreads>>>(from, to, n);
  CHECK(cudaGetLastError());
  check::equal("two stages", check::toHost(to, kThreads), staged);
  stagedCopies<4><<<1, kThreads>>>(from, to, n);
  CHECK(cudaGetLastError());
  check::equal("four stages", check::toHost(to, kThreads), staged);

  producersAndConsumers<<<1, kThreads>>>(from, to, n);
  CHECK(cudaGetLastError());
  check::equal("consumed", check::toHost(to, kThreads),
               folded(in, kThreads / 2, [](int t) { return t < kThreads / 2 ? -1 : t * 3 % (kThreads / 2); }));

  leaving<<<1, kThreads>>>(to);
  CHECK(cudaGetLastError());
  std::vector<int> rounds(kThreads);
  for (int t = 0; t < kThreads; ++t) rounds[t] = t / 32;
  check::equal("left", check::toHost(to, kThreads), rounds);

  const auto tiles = [&](int size, auto kernel) {
    std::vector<int> sums(n);
    for (int i = 0; i < n; ++i) {
      unsigned sum = 0;
      for (int j = 0; j < size; ++j) sum += unsigned(in[i / size * size + j]);
      sums[i] = int(sum + unsigned(in[i / size * size + 40]) + unsigned(i % 512 / size));
    }
    kernel<<<n / 512, 512>>>(from, to);
    CHECK(cudaGetLastError());
    check::equal("wide tiles", check::toHost(to, n), sums);
  };
  tiles(64, wideTiles<64>);
  tiles(128, wideTiles<128>);
  tiles(512, wideTiles<512>);

  const std::vector<unsigned> wanted{3, 0, 0, 1, 1, 1, 1, 0, 3, 0, 0, 1, 0};
  unsigned* seen = check::deviceArray<unsigned>(wanted.size());
  states<<<1, 1>>>(seen);
  CHECK(cudaGetLastError());
  check::equal("states", check::toHost(seen, wanted.size()), wanted);

  bulk<<<1, kThreads>>>(from, to, n);
  CHECK(cudaGetLastError());
  std::vector<int> turned(n);
  for (int i = 0; i < n; ++i) {
    const int batch = i / kThreads;
    turned[i] = in[batch * kThreads + kThreads - 1 - i % kThreads] * 2 + batch;
  }
  check::equal("bulk", check::toHost(to, n), turned);
  CHECK(cudaFree(seen));
  CHECK(cudaFree(to));
  CHECK(cudaFree(from));
  return check::done();
}
