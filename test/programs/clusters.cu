// Clusters of several blocks: shared memory of one block that others read, add to and store to, a histogram whose bins are spread over a cluster (CUDA C++ Programming Guide,
// "Distributed Shared Memory"), the barrier in two halves, barrier objects of another block, coordinates in three dimensions, early exits, captured launches, and what is refused.
// known-gap-check: kernels whose accesses are checked do not run in clusters of several blocks
// nvcc: -gencode arch=compute_90,code=compute_90
#include <cooperative_groups.h>

#include <algorithm>
#include <utility>

#include "check.h"

namespace cg = cooperative_groups;

template <class... Parameters, class... Arguments>
cudaError_t launchClusters(void (*kernel)(Parameters...), dim3 grid, dim3 block, dim3 cluster, std::size_t shared, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster.x;
  attribute.val.clusterDim.y = cluster.y;
  attribute.val.clusterDim.z = cluster.z;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

// --- A histogram whose bins are spread over the blocks of a cluster.

__global__ void histogram(int* bins, int binsPerBlock, int binCount, const int* input, int n) {
  extern __shared__ int own[];
  cg::cluster_group cluster = cg::this_cluster();
  const int stride = int(gridDim.x * blockDim.x), first = int(blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = int(threadIdx.x); i < binsPerBlock; i += int(blockDim.x)) own[i] = 0;
  cluster.sync();
  for (int i = first; i < n; i += stride) {
    const int bin = input[i] < 0 ? 0 : input[i] >= binCount ? binCount - 1 : input[i];
    int* const theirs = cluster.map_shared_rank(own, bin / binsPerBlock);
    atomicAdd(theirs + bin % binsPerBlock, 1);
  }
  cluster.sync();
  int* const out = bins + cluster.block_rank() * binsPerBlock;
  for (int i = int(threadIdx.x); i < binsPerBlock; i += int(blockDim.x)) atomicAdd(&out[i], own[i]);
}

void testHistogram() {
  const int n = 100'000, binCount = 64, threads = 128;
  check::Random random(7);
  std::vector<int> input(n), wanted(binCount, 0);
  for (int& value : input) value = int(random.below(80)) - 8;
  for (const int value : input) ++wanted[std::min(std::max(value, 0), binCount - 1)];
  int *in = check::toDevice(input), *bins = check::deviceArray<int>(binCount);
  for (const unsigned size : {1u, 2u, 4u, 8u}) {
    CHECK(cudaMemset(bins, 0, binCount * sizeof(int)));
    const int perBlock = binCount / int(size);
    CHECK(launchClusters(histogram, 16, threads, size, perBlock * sizeof(int), nullptr, bins, perBlock, binCount, in, n));
    check::equal("histogram", check::toHost(bins, binCount), wanted);
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(bins));
}

// --- Coordinates, for clusters that are compiled in.

__device__ unsigned packed(dim3 at) { return at.x | at.y << 8 | at.z << 16; }

__global__ void __cluster_dims__(2, 3, 1) coordinates(unsigned* out) {
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x != 0) return;
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned ids[3], counts[3];
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(ids[0]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(ids[1]));
  asm("mov.u32 %0, %%clusterid.z;" : "=r"(ids[2]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(counts[0]));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(counts[1]));
  asm("mov.u32 %0, %%nclusterid.z;" : "=r"(counts[2]));
  out[block * 6 + 0] = packed(cluster.block_index());
  out[block * 6 + 1] = packed(cluster.dim_blocks());
  out[block * 6 + 2] = cluster.block_rank() | cluster.num_blocks() << 8 | unsigned(cluster.num_threads()) << 16;
  out[block * 6 + 3] = packed({ids[0], ids[1], ids[2]});
  out[block * 6 + 4] = packed({counts[0], counts[1], counts[2]});
  out[block * 6 + 5] = packed({blockIdx.x, blockIdx.y, blockIdx.z});
}

void testCoordinates() {
  const unsigned gx = 4, gy = 6, gz = 2, threads = 32;
  unsigned* out = check::deviceArray<unsigned>(gx * gy * gz * 6);
  coordinates<<<dim3(gx, gy, gz), threads>>>(out);
  CHECK(cudaGetLastError());
  std::vector<unsigned> wanted;
  const auto pack = [](unsigned x, unsigned y, unsigned z) { return x | y << 8 | z << 16; };
  for (unsigned z = 0; z < gz; ++z)
    for (unsigned y = 0; y < gy; ++y)
      for (unsigned x = 0; x < gx; ++x)
        wanted.insert(wanted.end(), {pack(x % 2, y % 3, 0), pack(2, 3, 1), x % 2 + 2 * (y % 3) | 6u << 8 | 6 * threads << 16, pack(x / 2, y / 3, z), pack(gx / 2, gy / 3, gz), pack(x, y, z)});
  check::equal("coordinates", check::toHost(out, wanted.size()), wanted);
  CHECK(cudaFree(out));

  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, coordinates));
  check::equal("required", std::vector<int>{attributes.requiredClusterWidth, attributes.requiredClusterHeight, attributes.requiredClusterDepth}, {2, 3, 1});
}

// --- A ring: in each round every block takes what its neighbour has; the barrier in two halves, with work in between; a block's size that is no multiple of a warp's.

__global__ void ring(int* out, int rounds) {
  __shared__ int buffer[2][100];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const int thread = int(threadIdx.x);
  buffer[0][thread] = int(blockIdx.x) * 1000 + thread;
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    auto arrived = cluster.barrier_arrive();
    sum += round * thread;
    cluster.barrier_wait(std::move(arrived));
    const int* const theirs = cluster.map_shared_rank(buffer[round % 2], next);
    buffer[(round + 1) % 2][thread] = theirs[(thread + 1) % int(blockDim.x)] + 1;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = buffer[rounds % 2][thread] + sum;
  cluster.sync();  // nobody reads what is gone
}

void testRing(unsigned size, unsigned threads) {
  const unsigned blocks = size * 5;
  const int rounds = 9;
  int* out = check::deviceArray<int>(blocks * threads);
  CHECK(launchClusters(ring, blocks, threads, size, 0, nullptr, out, rounds));
  std::vector<int> now(blocks * threads), after(now.size());
  for (unsigned b = 0; b < blocks; ++b)
    for (unsigned t = 0; t < threads; ++t) now[b * threads + t] = int(b * 1000 + t);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    sum += round;
    for (unsigned b = 0; b < blocks; ++b)
      for (unsigned t = 0; t < threads; ++t) {
        const unsigned neighbour = b / size * size + (b % size + 1) % size;
        after[b * threads + t] = now[neighbour * threads + (t + 1) % threads] + 1;
      }
    now = after;
  }
  for (unsigned b = 0; b < blocks; ++b)
    for (unsigned t = 0; t < threads; ++t) now[b * threads + t] += sum * int(t);
  check::equal("ring", check::toHost(out, now.size()), now);
  CHECK(cudaFree(out));
}

// --- Barrier objects: every block stores into the first one's shared memory and arrives at an object there; addresses of the shared state space, which mean the same to all.

__device__ unsigned sharedAddress(const void* at) { return unsigned(__cvta_generic_to_shared(at)); }
__device__ unsigned addressIn(unsigned address, unsigned rank) {
  unsigned mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__global__ void gather(unsigned long long* out) {
  __shared__ alignas(8) unsigned long long object;
  __shared__ unsigned values[8 * 64];
  __shared__ unsigned places[8];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks(), thread = threadIdx.x;
  if (thread == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(&object)), "r"(blocks * blockDim.x) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  // The first block tells the last where its object is; the last one's threads use that, the others map their own.
  if (rank == 0 && thread < blocks) asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(addressIn(sharedAddress(&places[0]), thread)), "r"(sharedAddress(&object)) : "memory");
  cluster.sync();
  const unsigned first = rank + 1 == blocks ? places[0] : addressIn(sharedAddress(&object), 0);
  unsigned owner;
  asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(first));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(addressIn(sharedAddress(&values[rank * 64 + thread]), 0)), "r"(blockIdx.x * 1000 + thread + owner * 7) : "memory");
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(first) : "memory");
  if (rank == 0) {
    unsigned done = 0;
    while (done == 0)
      asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(sharedAddress(&object)) : "memory");
    unsigned long long sum = 0;
    for (unsigned i = 0; i < blocks; ++i) sum = sum * 31 + values[i * 64 + thread];
    out[blockIdx.x / blocks * blockDim.x + thread] = sum;
  }
  cluster.sync();
}

void testGather() {
  const unsigned size = 4, clusters = 6, threads = 64;
  unsigned long long* out = check::deviceArray<unsigned long long>(clusters * threads);
  CHECK(launchClusters(gather, size * clusters, threads, size, 0, nullptr, out));
  std::vector<unsigned long long> wanted;
  for (unsigned c = 0; c < clusters; ++c)
    for (unsigned t = 0; t < threads; ++t) {
      unsigned long long sum = 0;
      for (unsigned b = 0; b < size; ++b) sum = sum * 31 + (c * size + b) * 1000 + t;
      wanted.push_back(sum);
    }
  check::equal("gather", check::toHost(out, wanted.size()), wanted);
  CHECK(cudaFree(out));
}

// --- Threads and blocks that have ended are waited for by nobody; blocks that meet at barriers of their own between those of the cluster.

__global__ void early(int* out) {
  __shared__ int values[64];
  cg::cluster_group cluster = cg::this_cluster();
  const int thread = int(threadIdx.x), rank = int(cluster.block_rank());
  values[thread] = thread + 100 * rank;
  cluster.sync();
  const int theirs = *cluster.map_shared_rank(values + thread, (rank + 1) % 4);
  cluster.sync();
  if (rank == 3 || thread >= 32) return;
  values[thread] = theirs;
  asm volatile("bar.sync 1, 32;" ::: "memory");
  int sum = 0;
  for (int i = 0; i < 32; ++i) sum += values[i];
  cluster.sync();
  out[(blockIdx.x / 4 * 3 + rank) * 32 + thread] = sum + thread;
}

void testEarly() {
  const int clusters = 3;
  int* out = check::deviceArray<int>(clusters * 3 * 32);
  CHECK(launchClusters(early, clusters * 4, 64, 4, 0, nullptr, out));
  std::vector<int> wanted;
  for (int c = 0; c < clusters; ++c)
    for (int rank = 0; rank < 3; ++rank)
      for (int t = 0; t < 32; ++t) wanted.push_back(31 * 32 / 2 + 32 * 100 * (rank + 1) + t);
  check::equal("early", check::toHost(out, wanted.size()), wanted);
  CHECK(cudaFree(out));
}

// --- Kernels that ask nothing of their cluster run in one all the same.

__global__ void plain(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = int(blockIdx.x * blockDim.x + threadIdx.x) * 3; }

void testCaptured() {
  const unsigned size = 2, threads = 64, blocks = size * 5;
  int *rings = check::deviceArray<int>(blocks * threads), *plains = check::deviceArray<int>(blocks * threads);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(launchClusters(ring, blocks, threads, size, 0, stream, rings, 4));
  CHECK(cudaStreamSynchronize(stream));
  const auto wanted = check::toHost(rings, blocks * threads);
  CHECK(cudaMemset(rings, 0, blocks * threads * sizeof(int)));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(launchClusters(ring, blocks, threads, size, 0, stream, rings, 4));
  CHECK(launchClusters(plain, blocks, threads, size, 0, stream, plains));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t nodes[2];
  std::size_t count = 2;
  CHECK(cudaGraphGetNodes(graph, nodes, &count));
  cudaLaunchAttributeValue value{};
  CHECK(cudaGraphKernelNodeGetAttribute(nodes[0], cudaLaunchAttributeClusterDimension, &value));
  check::equal("node's cluster", std::vector<unsigned>{value.clusterDim.x, value.clusterDim.y, value.clusterDim.z}, {size, 1, 1});
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  check::equal("captured", check::toHost(rings, wanted.size()), wanted);
  std::vector<int> tripled(blocks * threads);
  for (std::size_t i = 0; i < tripled.size(); ++i) tripled[i] = int(i) * 3;
  check::equal("plain", check::toHost(plains, tripled.size()), tripled);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(rings));
  CHECK(cudaFree(plains));
}

// --- What is refused, at the call, and leaves everything as it was.

void testRefused() {
  int* out = check::deviceArray<int>(16 * 64);
  const auto refused = [&](const char* what, cudaError_t error) {
    check::expect(error != cudaSuccess, what, __FILE__, __LINE__);
    (void)cudaGetLastError();
  };
  refused("grid of parts", launchClusters(plain, 5, 64, 2, 0, nullptr, out));
  refused("more than portable", launchClusters(plain, 16, 64, 16, 0, nullptr, out));
  refused("other than compiled", launchClusters(coordinates, dim3(4, 6, 1), 32, dim3(2, 1, 1), 0, nullptr, reinterpret_cast<unsigned*>(out)));
  refused("set over compiled", cudaFuncSetAttribute(coordinates, cudaFuncAttributeRequiredClusterWidth, 2));
  CHECK(launchClusters(plain, 16, 64, 8, 0, nullptr, out));
  CHECK(cudaDeviceSynchronize());

  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 16;
  config.blockDim = 64;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0, size = 0;
  CHECK(cudaOccupancyMaxActiveClusters(&clusters, plain, &config));
  EXPECT(clusters >= 1);
  CHECK(cudaOccupancyMaxPotentialClusterSize(&size, plain, &config));
  check::equal("potential size", std::vector<int>{size}, {8});
  CHECK(cudaFree(out));
}

int main() {
  testHistogram();
  testCoordinates();
  for (const unsigned size : {2u, 3u, 5u, 8u}) {
    testRing(size, 100);
    testRing(size, 33);
  }
  testGather();
  testEarly();
  testCaptured();
  testRefused();
  return check::done();
}
