// Blocks wait for the last one, in every shape a loop that waits can have: what it polls with, where it keeps what it has seen, which way leads out, and how
// the others of its block come to know.
#include <cooperative_groups.h>

#include "check.h"

constexpr int kBlocks = 8, kThreads = 64;

struct Look {
  __device__ virtual int at(int* flag) = 0;
};
struct LookPlain final : Look {
  __device__ int at(int* flag) override { return *reinterpret_cast<volatile int*>(flag); }
};
struct LookAtomic final : Look {
  __device__ int at(int* flag) override { return atomicAdd(flag, 0); }
};

__device__ __noinline__ int deep(volatile int* flag, int depth) {
  const int seen = *flag;
  return seen != 0 || depth == 0 ? seen : deep(flag, depth - 1) + (depth < 0);
}

__device__ __noinline__ void into(int* flag, int* seen, int rounds) {
  for (int k = 0; k < rounds; ++k) *seen = *reinterpret_cast<volatile int*>(flag);
}

template <int kShape>
__global__ void wait(int* flag, int* out, int three) {
  __shared__ int shared;
  const int thread = static_cast<int>(threadIdx.x);
  int seen = 0;
  if (blockIdx.x == gridDim.x - 1) {
    if (thread == 0) {
      __threadfence();
      atomicExch(flag, 1);
    }
    return;
  }
  if constexpr (kShape == 0) {  // what a function returns
    while (!(seen = deep(flag, three - 1))) {
    }
  } else if constexpr (kShape == 1) {  // kept in an array
    int kept[8];
    for (int k = 0; k < three; ++k) kept[k] = 0;
    for (int k = 0; !kept[three - 1]; k = (k + 1) % three)
      if (!kept[k]) kept[k] = *reinterpret_cast<volatile int*>(flag);
    seen = kept[three - 1];
  } else if constexpr (kShape == 2) {  // two ways back, of which one counts
    for (int k = 0; k < three;) {
      if (*reinterpret_cast<volatile int*>(flag)) {
        out[2 * kBlocks * kThreads + thread] = k;
        ++k;
      } else {
        out[3 * kBlocks * kThreads + thread] = k;
      }
    }
    seen = 1;
  } else if constexpr (kShape == 3) {  // handed on, found by an atomic that changes nothing
    for (;;) {
      if (thread == 0) shared = atomicMax(flag, 0);
      __syncthreads();
      if ((seen = shared)) break;
      __syncthreads();
    }
  } else if constexpr (kShape == 4) {  // handed on through global memory
    for (;;) {
      if (thread == 0) out[2 * kBlocks * kThreads + blockIdx.x] = *reinterpret_cast<volatile int*>(flag);
      __syncthreads();
      if ((seen = out[2 * kBlocks * kThreads + blockIdx.x])) break;
      __syncthreads();
    }
  } else if constexpr (kShape == 5) {  // past the caches: a weak load, which a compiler may find to be the same each time, and ptxas does
    while (!(seen = __ldcg(flag))) {
    }
  } else if constexpr (kShape == 12) {  // past the caches, and a fence
    while (!(seen = __ldcg(flag))) __threadfence();
  } else if constexpr (kShape == 6) {  // a load and a fence, handed on
    for (;;) {
      if (thread == 0) {
        shared = *flag;
        __threadfence();
      }
      __syncthreads();
      if ((seen = shared)) break;
      __syncthreads();
    }
  } else if constexpr (kShape == 7) {  // from lane to lane
    __shared__ int warps[kThreads / 32];
    for (;;) {
      if (thread % 32 == 0) warps[thread / 32] = *reinterpret_cast<volatile int*>(flag);
      __syncwarp();
      if ((seen = warps[thread / 32])) break;
      __syncwarp();
    }
  } else if constexpr (kShape == 8) {  // a virtual function
    LookPlain plain;
    LookAtomic atomic;
    Look* const look = thread % 2 == 0 ? static_cast<Look*>(&plain) : &atomic;
    while (!(seen = look->at(flag))) {
    }
  } else if constexpr (kShape == 9) {  // a letter box, and a state
    enum { kEmpty, kHalf, kFull } state = kEmpty;
    while (state != kFull) {
      switch (state) {
        case kEmpty:
          state = atomicCAS(flag, -1, -2) == 1 ? kHalf : kEmpty;
          break;
        case kHalf:
          out[2 * kBlocks * kThreads + thread] = state;
          state = kFull;
          break;
        default:
          break;
      }
    }
    seen = 1;
  } else if constexpr (kShape == 10) {  // by reference
    do {
      into(flag, &seen, three);
    } while (!seen);
  } else {  // a swap by one thread, handed on
    for (;;) {
      if (thread == 0) {
        shared = atomicExch(flag, 0);
        if (shared) atomicExch(flag, 1);
      }
      __syncthreads();
      const int got = shared;
      __syncthreads();
      if ((seen = got)) break;
    }
  }
  out[blockIdx.x * kThreads + thread] = seen + 10;
}

template <int kShape>
bool run(int* flag, int* out) {
  int host[kBlocks * kThreads];
  CHECK(cudaMemset(flag, 0, sizeof(int)));
  CHECK(cudaMemset(out, 0, 4 * sizeof host));
  int three = 3;
  void* arguments[] = {&flag, &out, &three};
  CHECK(cudaLaunchCooperativeKernel(wait<kShape>, dim3(kBlocks), dim3(kThreads), arguments, 0, nullptr));
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
  for (int k = 0; k < (kBlocks - 1) * kThreads; ++k) {
    if (host[k] == 11) continue;
    std::printf("FAIL: shape %d, thread %d: %d\n", kShape, k, host[k]);
    return false;
  }
  return true;
}

int main() {
  int *flag, *out;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  CHECK(cudaMalloc(&out, 4 * kBlocks * kThreads * sizeof(int)));
  bool right = true;
  right &= run<0>(flag, out) && run<1>(flag, out) && run<2>(flag, out) && run<3>(flag, out);
  right &= run<4>(flag, out) && run<6>(flag, out) && run<7>(flag, out) && run<12>(flag, out);
  right &= run<8>(flag, out) && run<9>(flag, out) && run<10>(flag, out) && run<11>(flag, out);
  if (check::onCpuDevice()) right &= run<5>(flag, out);
  CHECK(cudaFree(flag));
  CHECK(cudaFree(out));
  std::printf("%s\n", right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}
