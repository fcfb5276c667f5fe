// Graphs: breadth-first search with frontier queues and host-controlled levels, Bellman-Ford with atomicMin, connected components by
// label propagation, PageRank in fixed point.
#include <algorithm>
#include <queue>

#include "check.h"

struct Graph {
  int nodes;
  const int *starts, *targets, *weights;
};

__global__ void expand(Graph g, const int* frontier, int count, int* next, int* nextCount, int* level, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int node = frontier[i];
  for (int e = g.starts[node]; e < g.starts[node + 1]; ++e)
    if (atomicCAS(&level[g.targets[e]], -1, depth) == -1) next[atomicAdd(nextCount, 1)] = g.targets[e];
}

__global__ void relax(Graph g, unsigned* distance, int* changed) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= g.nodes || distance[node] == ~0u) return;
  unsigned own = distance[node];
  for (int e = g.starts[node]; e < g.starts[node + 1]; ++e)
    if (atomicMin(&distance[g.targets[e]], own + g.weights[e]) > own + g.weights[e]) *changed = 1;
}

__global__ void propagate(Graph g, int* label, int* changed) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= g.nodes) return;
  for (int e = g.starts[node]; e < g.starts[node + 1]; ++e) {
    int a = label[node], b = label[g.targets[e]];
    if (a < b && atomicMin(&label[g.targets[e]], a) > a) *changed = 1;
    if (b < a && atomicMin(&label[node], b) > b) *changed = 1;
  }
}

__global__ void rank(Graph g, const unsigned long long* from, unsigned long long* to) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= g.nodes) return;
  int degree = g.starts[node + 1] - g.starts[node];
  for (int e = g.starts[node]; e < g.starts[node + 1]; ++e) atomicAdd(&to[g.targets[e]], from[node] / degree);
}

int main() {
  const int n = 1500;
  check::Random random(40);
  std::vector<std::vector<std::pair<int, int>>> edges(n);
  for (int e = 0; e < 2600; ++e) {
    // The last 200 nodes are islands of ten.
    int a = int(random.below(n)), b = a >= n - 200 ? a / 10 * 10 + int(random.below(10)) : int(random.below(n - 200)), w = 1 + int(random.below(50));
    edges[a].push_back({b, w});
    edges[b].push_back({a, w});
  }
  std::vector<int> starts = {0}, targets, weights;
  for (auto& list : edges) {
    for (auto& e : list) {
      targets.push_back(e.first);
      weights.push_back(e.second);
    }
    starts.push_back(int(targets.size()));
  }
  Graph g{n, check::toDevice(starts), check::toDevice(targets), check::toDevice(weights)};
  const int blocks = (n + 127) / 128;

  std::vector<int> level(n, -1);
  level[0] = 0;
  std::queue<int> queue({0});
  while (!queue.empty()) {
    int node = queue.front();
    queue.pop();
    for (auto& e : edges[node])
      if (level[e.first] < 0) {
        level[e.first] = level[node] + 1;
        queue.push(e.first);
      }
  }
  std::vector<int> startLevel(n, -1);
  startLevel[0] = 0;
  int *dlevel = check::toDevice(startLevel), *frontier = check::deviceArray<int>(n), *next = check::deviceArray<int>(n), *flag = check::deviceArray<int>(1);
  CHECK(cudaMemset(frontier, 0, sizeof(int)));
  for (int count = 1, depth = 1; count > 0; ++depth) {
    CHECK(cudaMemset(flag, 0, sizeof(int)));
    expand<<<(count + 63) / 64, 64>>>(g, frontier, count, next, flag, dlevel, depth);
    CHECK(cudaGetLastError());
    count = check::toHost(flag, 1)[0];
    std::swap(frontier, next);
  }
  check::equal("levels", check::toHost(dlevel, n), level);

  std::vector<unsigned> distance(n, ~0u), startDistance(n, ~0u);
  startDistance[0] = distance[0] = 0;
  std::priority_queue<std::pair<unsigned, int>, std::vector<std::pair<unsigned, int>>, std::greater<std::pair<unsigned, int>>> heap;
  heap.push({0, 0});
  while (!heap.empty()) {
    auto [d, node] = heap.top();
    heap.pop();
    if (d > distance[node]) continue;
    for (auto& e : edges[node])
      if (d + e.second < distance[e.first]) heap.push({distance[e.first] = d + e.second, e.first});
  }
  unsigned* ddistance = check::toDevice(startDistance);
  for (int again = 1; again;) {
    CHECK(cudaMemset(flag, 0, sizeof(int)));
    relax<<<blocks, 128>>>(g, ddistance, flag);
    CHECK(cudaGetLastError());
    again = check::toHost(flag, 1)[0];
  }
  check::equal("distances", check::toHost(ddistance, n), distance);

  std::vector<int> label(n);
  for (int i = 0; i < n; ++i) label[i] = i;
  int* dlabel = check::toDevice(label);
  for (int again = 1; again;) {
    CHECK(cudaMemset(flag, 0, sizeof(int)));
    propagate<<<blocks, 128>>>(g, dlabel, flag);
    CHECK(cudaGetLastError());
    again = check::toHost(flag, 1)[0];
  }
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < n; ++i)
      for (auto& e : edges[i])
        if (label[e.first] != label[i]) {
          label[e.first] = label[i] = std::min(label[i], label[e.first]);
          again = true;
        }
  }
  check::equal("components", check::toHost(dlabel, n), label);

  std::vector<unsigned long long> ranks(n, 1ull << 40), nextRanks(n);
  unsigned long long *from = check::toDevice(ranks), *to = check::deviceArray<unsigned long long>(n);
  for (int step = 0; step < 10; ++step) {
    CHECK(cudaMemset(to, 0, n * sizeof *to));
    rank<<<blocks, 128>>>(g, from, to);
    CHECK(cudaGetLastError());
    std::swap(from, to);
    std::fill(nextRanks.begin(), nextRanks.end(), 0);
    for (int i = 0; i < n; ++i)
      for (auto& e : edges[i]) nextRanks[e.first] += ranks[i] / edges[i].size();
    ranks.swap(nextRanks);
  }
  check::equal("ranks", check::toHost(from, n), ranks);
  return check::done();
}
