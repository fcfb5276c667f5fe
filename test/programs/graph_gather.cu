// Breadth-first search whose threads compete for their block, then for their warp, to expand long rows together, and then take short ones alone (Merrill, Garland, Grimshaw, "Scalable GPU Graph
// Traversal", PPoPP 2012). They compete by stores to one place of shared memory, of which the last one wins, as code for GPUs has it: what all load behind the block's barrier is stored over by the
// winner with no barrier between, and within a warp (volatile) there is none at all, or __syncwarp().
#include "check.h"

constexpr unsigned kFull = 0xffffffffu;
constexpr int kThreads = 256, kNone = -1, kUnseen = -1;

__device__ void visit(int node, int level, int* levels, int* queue, int* length) {
  if (atomicCAS(&levels[node], kUnseen, level) == kUnseen) queue[atomicAdd(length, 1)] = node;
}

template <bool kSync>
__global__ void expand(const int* begins, const int* edges, const int* frontier, int size, int level, int* levels, int* queue, int* length) {
  __shared__ int block[3];
  __shared__ volatile int warps[kThreads / 32][3];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32, i = blockIdx.x * kThreads + t;
  int at = 0, end = 0;
  if (i < size) {
    at = begins[frontier[i]];
    end = begins[frontier[i] + 1];
  }
  if (t == 0) block[0] = kNone;
  __syncthreads();
  while (true) {
    if (end - at >= kThreads) block[0] = t;
    __syncthreads();
    if (block[0] == kNone) break;
    if (block[0] == t) {
      block[1] = at;
      block[2] = end;
      block[0] = kNone;
      at = end;
    }
    __syncthreads();
    for (int k = block[1] + t; k < block[2]; k += kThreads) visit(edges[k], level, levels, queue, length);
    __syncthreads();
  }
  while (__any_sync(kFull, end - at >= 32)) {
    if (end - at >= 32) warps[warp][0] = lane;
    if (kSync) __syncwarp();
    if (warps[warp][0] == lane) {
      warps[warp][1] = at;
      warps[warp][2] = end;
      at = end;
    }
    if (kSync) __syncwarp();
    const int from = warps[warp][1], to = warps[warp][2];
    for (int k = from + lane; k < to; k += 32) visit(edges[k], level, levels, queue, length);
    if (kSync) __syncwarp();
  }
  for (; at < end; ++at) visit(edges[at], level, levels, queue, length);
}

struct Graph {
  std::vector<int> begins, edges;
};

// Most nodes have a few edges, some as many as a warp's or a block's threads.
Graph makeGraph(int nodes, unsigned seed) {
  Graph graph;
  const auto next = [&] { return (seed = seed * 1664525 + 1013904223) >> 8; };
  for (int node = 0; node < nodes; ++node) {
    graph.begins.push_back(int(graph.edges.size()));
    const unsigned kind = next() % 256;
    const int count = kind < 2 ? 256 + next() % 700 : kind < 20 ? 32 + next() % 120 : next() % 4;
    for (int k = 0; k < count; ++k) graph.edges.push_back(int(next() % nodes));
  }
  graph.begins.push_back(int(graph.edges.size()));
  return graph;
}

std::vector<int> search(const Graph& graph, int start) {
  std::vector<int> levels(graph.begins.size() - 1, kUnseen), frontier{start};
  levels[start] = 0;
  for (int level = 1; !frontier.empty(); ++level) {
    std::vector<int> queue;
    for (int node : frontier) {
      for (int k = graph.begins[node]; k < graph.begins[node + 1]; ++k) {
        int& there = levels[graph.edges[k]];
        if (there != kUnseen) continue;
        there = level;
        queue.push_back(graph.edges[k]);
      }
    }
    frontier = std::move(queue);
  }
  return levels;
}

template <bool kSync>
std::vector<int> searchThere(const Graph& graph, int start) {
  const int nodes = int(graph.begins.size()) - 1;
  int *begins, *edges, *levels, *queues[2], *length;
  CHECK(cudaMalloc(&begins, graph.begins.size() * sizeof(int)));
  CHECK(cudaMalloc(&edges, graph.edges.size() * sizeof(int)));
  CHECK(cudaMalloc(&levels, nodes * sizeof(int)));
  CHECK(cudaMalloc(&queues[0], nodes * sizeof(int)));
  CHECK(cudaMalloc(&queues[1], nodes * sizeof(int)));
  CHECK(cudaMalloc(&length, sizeof(int)));
  CHECK(cudaMemcpy(begins, graph.begins.data(), graph.begins.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(edges, graph.edges.data(), graph.edges.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(levels, 0xff, nodes * sizeof(int)));
  const int zero = 0;
  CHECK(cudaMemcpy(levels + start, &zero, sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(queues[0], &start, sizeof(int), cudaMemcpyHostToDevice));
  for (int level = 1, size = 1; size > 0; ++level) {
    CHECK(cudaMemset(length, 0, sizeof(int)));
    expand<kSync><<<(size + kThreads - 1) / kThreads, kThreads>>>(begins, edges, queues[(level - 1) % 2], size, level, levels, queues[level % 2], length);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&size, length, sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(size <= nodes);
    if (size > nodes) break;
  }
  std::vector<int> result(nodes);
  CHECK(cudaMemcpy(result.data(), levels, nodes * sizeof(int), cudaMemcpyDeviceToHost));
  for (int* memory : {begins, edges, levels, queues[0], queues[1], length}) CHECK(cudaFree(memory));
  return result;
}

int main() {
  const Graph graph = makeGraph(6000, 7);
  const std::vector<int> wanted = search(graph, 1);
  const std::vector<int> volatiles = searchThere<false>(graph, 1), synchronized = searchThere<true>(graph, 1);
  check::equal("levels, by volatile memory", volatiles.data(), wanted.data(), wanted.size());
  check::equal("levels, by __syncwarp", synchronized.data(), wanted.data(), wanted.size());
  return check::done();
}
