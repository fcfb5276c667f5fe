// Clusters of one block: a kernel for such, and cooperative groups' cluster of a kernel that is launched without. Ranks, the barrier, whole and in two halves, shared
// memory by rank.
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cooperative_groups.h>

#include <utility>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kThreads = 96;

__device__ void turnAround(int* out, int rounds) {
  __shared__ int shared[kThreads];
  cg::cluster_group cluster = cg::this_cluster();
  const int thread = int(cluster.thread_rank());
  int value = thread + 1000 * int(cluster.block_rank()) + 10000 * int(cluster.num_blocks()) + 100000 * int(cluster.num_threads() == kThreads);
  for (int round = 0; round < rounds; ++round) {
    shared[thread] = value;
    cluster.sync();
    const int* theirs = cluster.map_shared_rank(shared, 0);
    value = theirs[kThreads - 1 - thread] + int(cluster.query_shared_rank(shared)) + round;
    auto arrived = cluster.barrier_arrive();
    const int own = thread * round;
    cluster.barrier_wait(std::move(arrived));
    value += own;
  }
  out[blockIdx.x * kThreads + thread] = value;
}

__global__ void __cluster_dims__(1, 1, 1) ofOne(int* out, int rounds) { turnAround(out, rounds); }
__global__ void without(int* out, int rounds) { turnAround(out, rounds); }

int main() {
  const int blocks = 5, rounds = 7;
  std::vector<int> wanted(blocks * kThreads);
  for (int block = 0; block < blocks; ++block) {
    int value[kThreads], next[kThreads];
    for (int i = 0; i < kThreads; ++i) value[i] = i + 10000 + 100000;
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < kThreads; ++i) next[i] = value[kThreads - 1 - i] + round + i * round;
      std::memcpy(value, next, sizeof value);
    }
    for (int i = 0; i < kThreads; ++i) wanted[block * kThreads + i] = value[i];
  }
  int* out = check::deviceArray<int>(wanted.size());
  for (void (*kernel)(int*, int) : {ofOne, without}) {
    CHECK(cudaMemset(out, 0, wanted.size() * sizeof(int)));
    kernel<<<blocks, kThreads>>>(out, rounds);
    CHECK(cudaGetLastError());
    check::equal("out", check::toHost(out, wanted.size()), wanted);
  }
  CHECK(cudaFree(out));
  return check::done();
}
