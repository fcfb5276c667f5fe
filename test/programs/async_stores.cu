// What tells a barrier object of another block when it is there: stores and reductions of single values (st.async, red.async), and reductions in bulk (cp.reduce.async.bulk), the latter also
// to global memory, by several blocks at once, of every type and operation.
// known-gap-check: kernels whose accesses are checked do not run in clusters of several blocks
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "check.h"

namespace cg = cooperative_groups;

__device__ unsigned sharedAddress(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ unsigned inBlock(unsigned address, unsigned rank) {
  unsigned theirs;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(address), "r"(rank));
  return theirs;
}

__device__ void expect(unsigned long long* object, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(sharedAddress(object)) : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(object)), "r"(bytes) : "memory");
}

__device__ void waitFor(unsigned long long* object) {
  unsigned done = 0;
  while (done == 0)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(sharedAddress(object)) : "memory");
}

// --- Single values: every thread has one of each for the other block, which waits for nothing but the bytes.

constexpr int kThreads = 64;

struct Received {
  int four[kThreads][4];
  unsigned long long two[kThreads][2];
  float one[kThreads];
  unsigned long long wide[kThreads];
  unsigned add, inc, dec, max, bitAnd, bitOr, bitXor;
  int min;
  unsigned long long addWide;
};
constexpr unsigned kBytesEach = 16 + 16 + 4 + 8 + 8 * 4 + 8;

#define SEND(what, to, constraint, value) \
  asm volatile(what " [%0], %1, [%2];" ::"r"(inBlock(sharedAddress(to), other)), constraint(value), "r"(theirObject) : "memory")
#define REDUCE(what, to, constraint, value) SEND("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." what, to, constraint, value)

__global__ void __cluster_dims__(2) exchange(Received* out) {
  __shared__ alignas(16) Received mine;
  __shared__ unsigned long long object;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), other = rank ^ 1, t = threadIdx.x;
  if (t == 0) {
    mine.add = 5, mine.inc = 0, mine.dec = 3, mine.max = 7, mine.bitAnd = ~0u, mine.bitOr = 0, mine.bitXor = 0x1234, mine.min = 9, mine.addWide = 1ull << 40;
    expect(&object, kThreads * kBytesEach);
  }
  cluster.sync();
  const unsigned theirObject = inBlock(sharedAddress(&object), other);
  const int base = int(blockIdx.x * 1000 + t);
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(inBlock(sharedAddress(mine.four[t]), other)), "r"(base), "r"(base + 1),
               "r"(base + 2), "r"(base + 3), "r"(theirObject)
               : "memory");
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 [%0], {%1, %2}, [%3];" ::"r"(inBlock(sharedAddress(mine.two[t]), other)), "l"(1ull << 40 | base), "l"(2ull << 40 | base),
               "r"(theirObject)
               : "memory");
  SEND("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32", &mine.one[t], "f", float(base) / 8);
  SEND("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s64", &mine.wide[t], "l", -static_cast<long long>(base));
  REDUCE("add.u32", &mine.add, "r", t);
  REDUCE("inc.u32", &mine.inc, "r", 40);
  REDUCE("dec.u32", &mine.dec, "r", 40);
  REDUCE("max.u32", &mine.max, "r", unsigned(base));
  REDUCE("min.s32", &mine.min, "r", -base);
  REDUCE("and.b32", &mine.bitAnd, "r", ~(1u << t % 20));
  REDUCE("or.b32", &mine.bitOr, "r", 1u << t % 24);
  REDUCE("xor.b32", &mine.bitXor, "r", t * 77);
  REDUCE("add.u64", &mine.addWide, "l", 1ull << 33 | t);
  waitFor(&object);
  if (t == 0) out[blockIdx.x] = mine;
  cluster.sync();
}

void testExchange() {
  const int blocks = 6;
  Received* out = check::deviceArray<Received>(blocks);
  exchange<<<blocks, kThreads>>>(out);
  CHECK(cudaGetLastError());
  const std::vector<Received> got = check::toHost(out, blocks);
  for (int block = 0; block < blocks; ++block) {
    const int from = (block ^ 1) * 1000;
    const Received& have = got[std::size_t(block)];
    bool right = have.add == 5 + kThreads * (kThreads - 1) / 2 && have.max == unsigned(from + kThreads - 1) && have.min == -(from + kThreads - 1);
    unsigned inc = 0, dec = 3, bitAnd = ~0u, bitOr = 0, bitXor = 0x1234;
    unsigned long long wide = 1ull << 40;
    for (unsigned t = 0; t < kThreads; ++t) {
      inc = inc >= 40 ? 0 : inc + 1;
      dec = dec == 0 || dec > 40 ? 40 : dec - 1;
      bitAnd &= ~(1u << t % 20), bitOr |= 1u << t % 24, bitXor ^= t * 77, wide += 1ull << 33 | t;
      const auto base = static_cast<unsigned long long>(from) + t;
      for (int k = 0; k < 4; ++k) right = right && have.four[t][k] == int(base) + k;
      right = right && have.two[t][0] == (1ull << 40 | base) && have.two[t][1] == (2ull << 40 | base) && have.one[t] == float(base) / 8 && have.wide[t] == -base;
    }
    right = right && have.inc == inc && have.dec == dec && have.bitAnd == bitAnd && have.bitOr == bitOr && have.bitXor == bitXor && have.addWide == wide;
    EXPECT(right);
  }
  CHECK(cudaFree(out));
}

// --- In bulk to global memory: each block reduces its values into the same place.

constexpr int kBlocks = 8, kBulkBytes = 512;

template <class T>
__device__ T valueOf(unsigned block, unsigned k) {
  return static_cast<T>(static_cast<float>((block * 7 + k * 3) % 23));
}

#define BULK(name, type, what)                                                                                                                                                   \
  __global__ void name(type* out) {                                                                                                                                              \
    __shared__ alignas(16) type mine[kBulkBytes / sizeof(type)];                                                                                                                  \
    for (unsigned k = threadIdx.x; k < kBulkBytes / sizeof(type); k += blockDim.x) mine[k] = valueOf<type>(blockIdx.x, k);                                                          \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                                                                                 \
    __syncthreads();                                                                                                                                                             \
    if (threadIdx.x != 0) return;                                                                                                                                                \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." what " [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(out)), "r"(sharedAddress(mine)), "r"(kBulkBytes) : "memory"); \
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");                                                                                                                    \
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");                                                                                                                    \
  }

BULK(addU32, unsigned, "add.u32")
BULK(addS32, int, "add.s32")
BULK(addU64, unsigned long long, "add.u64")
BULK(addF32, float, "add.f32")
BULK(addF64, double, "add.f64")
BULK(addF16, __half, "add.noftz.f16")
BULK(addBf16, __nv_bfloat16, "add.noftz.bf16")
BULK(minU32, unsigned, "min.u32")
BULK(maxS32, int, "max.s32")
BULK(minU64, unsigned long long, "min.u64")
BULK(maxS64, long long, "max.s64")
BULK(minF16, __half, "min.f16")
BULK(maxBf16, __nv_bfloat16, "max.bf16")
BULK(andB32, unsigned, "and.b32")
BULK(orB64, unsigned long long, "or.b64")
BULK(xorB32, unsigned, "xor.b32")

template <class T, class Combine>
void testBulk(const char* name, void (*kernel)(T*), double start, Combine combine) {
  const std::size_t n = kBulkBytes / sizeof(T);
  std::vector<double> wanted(n, start);
  for (unsigned block = 0; block < kBlocks; ++block)
    for (unsigned k = 0; k < n; ++k) wanted[k] = combine(wanted[k], static_cast<double>((block * 7 + k * 3) % 23));
  T* out = check::toDevice(std::vector<T>(n, static_cast<T>(static_cast<float>(start))));
  kernel<<<kBlocks, 32>>>(out);
  CHECK(cudaGetLastError());
  std::vector<double> got;
  for (const T& value : check::toHost(out, n)) got.push_back(static_cast<double>(static_cast<float>(value)));
  check::equal(name, got, wanted);
  CHECK(cudaFree(out));
}

void testBulks() {
  const auto add = [](double a, double b) { return a + b; };
  const auto min = [](double a, double b) { return std::min(a, b); };
  const auto max = [](double a, double b) { return std::max(a, b); };
  const auto bits = [](auto combine) { return [combine](double a, double b) { return double(combine(unsigned(a), unsigned(b))); }; };
  testBulk("add.u32", addU32, 3, add);
  testBulk("add.s32", addS32, -500, add);
  testBulk("add.u64", addU64, 1 << 20, add);
  testBulk("add.f32", addF32, 0.5, add);
  testBulk("add.f64", addF64, 0.25, add);
  testBulk("add.f16", addF16, 1, add);
  testBulk("add.bf16", addBf16, 0, add);
  testBulk("min.u32", minU32, 11, min);
  testBulk("max.s32", maxS32, -4, max);
  testBulk("min.u64", minU64, 9, min);
  testBulk("max.s64", maxS64, 12, max);
  testBulk("min.f16", minF16, 10, min);
  testBulk("max.bf16", maxBf16, 8, max);
  testBulk("and.b32", andB32, 31, bits([](unsigned a, unsigned b) { return a & b; }));
  testBulk("or.b64", orB64, 64, bits([](unsigned a, unsigned b) { return a | b; }));
  testBulk("xor.b32", xorB32, 5, bits([](unsigned a, unsigned b) { return a ^ b; }));
}

// --- In bulk to the memory of another block, whose barrier object is told: all blocks of a cluster add to the first one's.

__global__ void __cluster_dims__(4) gather(unsigned* out) {
  __shared__ alignas(16) unsigned mine[kThreads], sum[kThreads];
  __shared__ unsigned long long object;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned t = threadIdx.x;
  mine[t] = (blockIdx.x + 1) * 100 + t;
  sum[t] = 7;
  if (t == 0) expect(&object, 4 * sizeof mine + 4 * sizeof mine / 2);
  asm volatile("fence.proxy.async;" ::: "memory");
  cluster.sync();
  if (t == 0) {
    const unsigned to = inBlock(sharedAddress(sum), 0), theirObject = inBlock(sharedAddress(&object), 0);
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], %2, [%3];" ::"r"(to), "r"(sharedAddress(mine)), "r"(unsigned(sizeof mine)),
                 "r"(theirObject)
                 : "memory");
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.xor.b32 [%0], [%1], %2, [%3];" ::"r"(to), "r"(sharedAddress(mine)), "r"(unsigned(sizeof mine / 2)),
                 "r"(theirObject)
                 : "memory");
  }
  if (cluster.block_rank() == 0) {
    waitFor(&object);
    out[blockIdx.x / 4 * kThreads + t] = sum[t];
  }
  cluster.sync();
}

void testGather() {
  const int clusters = 3;
  unsigned* out = check::deviceArray<unsigned>(clusters * kThreads);
  gather<<<4 * clusters, kThreads>>>(out);
  CHECK(cudaGetLastError());
  const std::vector<unsigned> got = check::toHost(out, clusters * kThreads);
  for (unsigned cluster = 0; cluster < clusters; ++cluster) {
    for (unsigned t = kThreads / 2; t < kThreads; ++t) {  // the first half's reductions are of two kinds, in some order
      unsigned wanted = 7;
      for (unsigned block = 0; block < 4; ++block) wanted += (4 * cluster + block + 1) * 100 + t;
      EXPECT(got[cluster * kThreads + t] == wanted);
    }
  }
  CHECK(cudaFree(out));
}

int main() {
  testExchange();
  testBulks();
  testGather();
  return check::done();
}
