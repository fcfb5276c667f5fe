// Barriers of a program's own between blocks, used again and again, whose pollers wait for a value that stands only until the first of them comes back (Xiao, Feng, "Inter-Block GPU Communication via
// Fast Barrier Synchronization", IPDPS 2010; LonestarGPU's and Gardenia's are of the other kinds here).
// known-gap-check: as fibers, blocks that poll for a value that stands only for a moment miss it
#include "check.h"

struct Counter {
  unsigned arrived;
};

// Exactly so many.
struct Equal {
  static __device__ void meet(Counter* c, unsigned goal) {
    atomicAdd(&c->arrived, 1);
    while (*(volatile unsigned*)&c->arrived != goal) {
    }
  }
};

// Back to zero by itself.
struct Wraps {
  static __device__ void meet(Counter* c, unsigned) {
    if (atomicInc(&c->arrived, gridDim.x - 1) < gridDim.x - 1)
      while (*(volatile unsigned*)&c->arrived) {
      }
  }
};

// A multiple.
struct Multiple {
  static __device__ void meet(Counter* c, unsigned) {
    atomicAdd(&c->arrived, 1);
    while (*(volatile unsigned*)&c->arrived % gridDim.x != 0) {
    }
  }
};

// Looked at by an operation that changes nothing.
struct Adding {
  static __device__ void meet(Counter* c, unsigned goal) {
    atomicAdd(&c->arrived, 1);
    while (atomicAdd(&c->arrived, 0) != goal) {
    }
  }
};

struct Swapping {
  static __device__ void meet(Counter* c, unsigned goal) {
    atomicAdd(&c->arrived, 1);
    while (atomicCAS(&c->arrived, goal, goal) != goal) {
    }
  }
};

template <class Kind>
__device__ void barrier(Counter* c, unsigned goal) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) Kind::meet(c, goal);
  __syncthreads();
}

// Set back by whoever is last, with all of its threads; all others poll with all of theirs.
struct Resets {};

template <>
__device__ void barrier<Resets>(Counter* c, unsigned) {
  __shared__ bool isLast;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) isLast = atomicAdd(&c->arrived, 1) == gridDim.x - 1;
  __syncthreads();
  if (isLast)
    c->arrived = 0;
  else
    while (*(volatile unsigned*)&c->arrived != 0) {
    }
  __syncthreads();
}

// In each round everyone adds one to what their neighbour had.
template <class Kind>
__global__ void rounds(Counter* c, unsigned* from, unsigned* to, unsigned n, unsigned count) {
  for (unsigned round = 0; round < count; ++round) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) *(volatile unsigned*)&to[i] = *(volatile unsigned*)&from[(i + 1) % n] + 1;
    barrier<Kind>(c, (round + 1) * gridDim.x);
    unsigned* const swap = from;
    from = to;
    to = swap;
  }
}

// The same, written out: two barriers in a row.
template <class Kind>
__global__ void twice(Counter* c, unsigned* data, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile unsigned* const at = data;
  const unsigned first = at[(i + 1) % n];
  barrier<Kind>(c, gridDim.x);
  at[i] = first + 1;
  barrier<Kind>(c, 2 * gridDim.x);
  data[n + i] = at[(i + 1) % n];
}

template <class Kind>
void test(const char* name) {
  Counter* c;
  unsigned* data;
  for (const unsigned blocks : {2u, 7u, 40u}) {
    const unsigned threads = 64, n = blocks * threads, count = 30;
    std::vector<unsigned> in(n), out(2 * n), wanted(n);
    for (unsigned i = 0; i < n; ++i) in[i] = i * 7 % 101;
    CHECK(cudaMalloc(&c, sizeof(Counter)));
    CHECK(cudaMalloc(&data, 2 * n * sizeof(unsigned)));
    CHECK(cudaMemset(c, 0, sizeof(Counter)));
    CHECK(cudaMemcpy(data, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    rounds<Kind><<<blocks, threads>>>(c, data, data + n, n, count);
    CHECK(cudaMemcpy(out.data(), data, 2 * n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; ++i) wanted[i] = in[(i + count) % n] + count;
    check::equal(name, out.data(), wanted.data(), n);

    CHECK(cudaMemset(c, 0, sizeof(Counter)));
    CHECK(cudaMemcpy(data, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    twice<Kind><<<blocks, threads>>>(c, data, n);
    CHECK(cudaMemcpy(out.data(), data, 2 * n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; ++i) wanted[i] = in[(i + 2) % n] + 1;
    check::equal(name, out.data() + n, wanted.data(), n);
    CHECK(cudaFree(c));
    CHECK(cudaFree(data));
  }
}

int main() {
  test<Equal>("equal");
  test<Wraps>("wraps");
  test<Multiple>("multiple");
  test<Adding>("adding");
  test<Swapping>("swapping");
  test<Resets>("resets");
  return check::done();
}
