// Kernels of the conformance suite for what only GPUs from sm_90 on have.
#include <cooperative_groups.h>

// Each block of a cluster adds up what all of them have stored to their shared memory.
extern "C" __global__ void clusterSum(unsigned* out) {
  __shared__ unsigned values[32];
  auto cluster = cooperative_groups::this_cluster();
  values[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
  cluster.sync();
  unsigned sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) sum = sum * 3 + *cluster.map_shared_rank(values + threadIdx.x, rank);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  cluster.sync();
}
