// Linked structures made of device pointers: a list built on the host with device addresses and walked on the device, lists
// pushed by many threads with compare-and-swap, a binary search tree inserted and searched in device memory.
#include <algorithm>

#include "check.h"

struct Node {
  int value;
  Node* next;
};

__global__ void walk(const Node* head, int* values, int* count) {
  int n = 0;
  for (const Node* p = head; p; p = p->next) values[n++] = p->value;
  *count = n;
}

__device__ Node* buckets[16];

__global__ void push(Node* nodes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node* node = &nodes[i];
  node->value = i * 31 % 1009;
  auto* slot = reinterpret_cast<unsigned long long*>(&buckets[i % 16]);
  unsigned long long seen = *slot, expected;
  do {
    expected = seen;
    node->next = reinterpret_cast<Node*>(expected);
    seen = atomicCAS(slot, expected, reinterpret_cast<unsigned long long>(node));
  } while (seen != expected);
}

__global__ void sumBuckets(long long* sums, int* lengths) {
  long long sum = 0;
  int length = 0;
  for (Node* p = buckets[threadIdx.x]; p; p = p->next) {
    sum += p->value;
    ++length;
  }
  sums[threadIdx.x] = sum;
  lengths[threadIdx.x] = length;
}

struct Tree {
  int key;
  Tree* child[2];
};

__global__ void grow(Tree* nodes, const int* keys, int n, Tree** root) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  nodes[i] = {keys[i], {nullptr, nullptr}};
  __threadfence();
  Tree** link = root;
  for (;;) {
    auto old = atomicCAS(reinterpret_cast<unsigned long long*>(link), 0ull, reinterpret_cast<unsigned long long>(&nodes[i]));
    if (old == 0) return;
    Tree* at = reinterpret_cast<Tree*>(old);
    link = &at->child[keys[i] >= at->key];
  }
}

__global__ void contains(Tree* const* root, const int* queries, int n, int* found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Tree* at = *root;
  while (at && at->key != queries[i]) at = at->child[queries[i] >= at->key];
  found[i] = at != nullptr;
}

int main() {
  const int n = 500;
  check::Random random(11);
  // A list in shuffled order: next pointers computed on the host from the array's device address.
  Node* nodes = check::deviceArray<Node>(n);
  std::vector<int> order(n), wanted(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  for (int i = n - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  std::vector<Node> host(n);
  for (int i = 0; i < n; ++i) {
    wanted[i] = i * i;
    host[order[i]] = {i * i, i + 1 < n ? nodes + order[i + 1] : nullptr};
  }
  CHECK(cudaMemcpy(nodes, host.data(), n * sizeof(Node), cudaMemcpyHostToDevice));
  int *values = check::deviceArray<int>(n), *count = check::deviceArray<int>(1);
  walk<<<1, 1>>>(nodes + order[0], values, count);
  CHECK(cudaGetLastError());
  EXPECT(check::toHost(count, 1)[0] == n);
  check::equal("walked", check::toHost(values, n), wanted);

  const int many = 4000;
  Node* pool = check::deviceArray<Node>(many);
  push<<<(many + 127) / 128, 128>>>(pool, many);
  CHECK(cudaGetLastError());
  long long* sums = check::deviceArray<long long>(16);
  int* lengths = check::deviceArray<int>(16);
  sumBuckets<<<1, 16>>>(sums, lengths);
  CHECK(cudaGetLastError());
  std::vector<long long> wantedSums(16);
  for (int i = 0; i < many; ++i) wantedSums[i % 16] += i * 31 % 1009;
  check::equal("bucket sums", check::toHost(sums, 16), wantedSums);
  check::equal("bucket lengths", check::toHost(lengths, 16), std::vector<int>(16, many / 16));

  std::vector<int> keys(2000), queries(1000), present(1000);
  for (int i = 0; i < 2000; ++i) keys[i] = int(random.below(1 << 30)) * 2;
  for (int i = 0; i < 1000; ++i) {
    queries[i] = i % 2 ? keys[random.below(2000)] : int(random.below(1 << 30)) * 2 + 1;
    present[i] = i % 2;
  }
  Tree *trees = check::deviceArray<Tree>(2000), **root = check::deviceArray<Tree*>(1);
  CHECK(cudaMemset(root, 0, sizeof(Tree*)));
  int *dkeys = check::toDevice(keys), *dqueries = check::toDevice(queries), *found = check::deviceArray<int>(1000);
  grow<<<20, 100>>>(trees, dkeys, 2000, root);
  CHECK(cudaGetLastError());
  contains<<<10, 100>>>(root, dqueries, 1000, found);
  CHECK(cudaGetLastError());
  check::equal("found", check::toHost(found, 1000), present);
  return check::done();
}
