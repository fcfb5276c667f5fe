// Managed memory: cudaMallocManaged and __managed__ variables used in turn by host and device, linked structures shared by both,
// prefetch and advice, attributes of managed pointers.
#include "check.h"

__managed__ int total = 5;
__managed__ int table[64];
__device__ __managed__ struct {
  int* data;
  int n;
} shared;

struct Node {
  int value;
  Node* left;
  Node* right;
};

__global__ void accumulate() {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < shared.n) {
    shared.data[i] *= 2;
    atomicAdd(&total, shared.data[i]);
    atomicAdd(&table[i % 64], 1);
  }
}

__device__ int depth(const Node* node) { return node ? 1 + max(depth(node->left), depth(node->right)) : 0; }
// Their addresses are the same for both, and constants to the compiler.
__global__ void addresses(int** out) {
  out[0] = &total;
  out[1] = &table[4];
  out[2] = &shared.n;
  atomicAdd(&table[63], 1);
}
__global__ void measure(const Node* root, int* out) { *out = depth(root); }

int main() {
  const int n = 3000;
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  CHECK(cudaMallocManaged(&shared.data, n * sizeof(int)));
  shared.n = n;
  int wanted = 5;
  for (int i = 0; i < n; ++i) {
    shared.data[i] = i % 100;
    wanted += 2 * (i % 100);
  }
  for (int i = 0; i < 64; ++i) table[i] = 1000 * i;
  accumulate<<<(n + 127) / 128, 128>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  EXPECT(total == wanted);
  for (int i = 0; i < n; ++i)
    if (shared.data[i] != i % 100 * 2) {
      EXPECT(shared.data[i] == i % 100 * 2);
      break;
    }
  for (int i = 0; i < 64; ++i) EXPECT(table[i] == 1000 * i + n / 64 + (i < n % 64));

  // Host writes again, device reads again; also copies name managed memory.
  total = 0;
  std::vector<int> ones(n, 1), back(n);
  CHECK(cudaMemcpy(shared.data, ones.data(), n * sizeof(int), cudaMemcpyDefault));
  accumulate<<<(n + 127) / 128, 128>>>();
  CHECK(cudaMemcpy(back.data(), shared.data, n * sizeof(int), cudaMemcpyDefault));
  check::equal("copied", back, std::vector<int>(n, 2));
  EXPECT(total == 2 * n);

  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, shared.data + 10));
  EXPECT(attributes.type == cudaMemoryTypeManaged);
  EXPECT(attributes.devicePointer == shared.data + 10 && attributes.hostPointer == shared.data + 10);
  int* address;
  CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), total));
  EXPECT(address == &total);

  int** places;
  CHECK(cudaMallocManaged(&places, 3 * sizeof(int*)));
  table[63] = 6;
  addresses<<<1, 1>>>(places);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  EXPECT(places[0] == &total && places[1] == &table[4] && places[2] == &shared.n && table[63] == 7);
  CHECK(cudaFree(places));

  // A tree built on the host in managed memory; the device follows its pointers.
  const int nodes = 200;
  Node* tree;
  int* deepest;
  CHECK(cudaMallocManaged(&tree, nodes * sizeof(Node), cudaMemAttachGlobal));
  CHECK(cudaMallocManaged(&deepest, sizeof(int)));
  for (int i = 0; i < nodes; ++i)
    tree[i] = {i, 2 * i + 1 < nodes ? &tree[2 * i + 1] : nullptr, 2 * i + 2 < nodes ? &tree[2 * i + 2] : nullptr};
  measure<<<1, 1>>>(tree, deepest);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  EXPECT(*deepest == 8);  // complete binary tree of 200 nodes
  CHECK(cudaFree(tree));
  CHECK(cudaFree(deepest));
  CHECK(cudaFree(shared.data));
  return check::done();
}
