// Kernels whose threads wait for barrier objects (mbarrier). Each is k(n, in, out), as in barriers.cu. What waits as a whole block first, then what does
// not: parts of it, several objects at once.
#include <cuda/barrier>

#include "kernel.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ unsigned address(const void* object) { return static_cast<unsigned>(__cvta_generic_to_shared(object)); }

__device__ void initialize(unsigned long long* object, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(object)), "r"(count) : "memory");
}

__device__ unsigned long long arrive(unsigned long long* object) {
  unsigned long long token;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(address(object)) : "memory");
  return token;
}

__device__ bool isOver(unsigned long long* object, unsigned parity) {
  unsigned over;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(address(object)), "r"(parity) : "memory");
  return over != 0;
}

// The C++ interface, whose loops ask for the time and sleep.
KERNEL tiles(unsigned n, const unsigned* in, unsigned* out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  __shared__ unsigned tile[1024];
  if (linear() == 0) init(&barrier, threads());
  __syncthreads();
  unsigned sum = 0;
  for (unsigned first = 0; first + threads() <= n; first += threads()) {
    tile[linear()] = in[first + linear()];
    barrier.arrive_and_wait();
    for (unsigned k = 0; k < 8; ++k) sum = sum * 3 + tile[(linear() * 7 + k) % threads()];
    auto token = barrier.arrive();
    sum ^= sum >> 5;
    barrier.wait(static_cast<Barrier::arrival_token&&>(token));
  }
  out[global()] = sum;
}

// The first thread out of a wait makes the object anew, or gives it up, while the others are still about to look at it: a barrier's destructor, and the next one's place.
KERNEL made_anew(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long object;
  unsigned sum = 0;
#pragma unroll
  for (unsigned round = 0; round < 4; ++round) {
    if (linear() == 0) initialize(&object, threads());
    __syncthreads();
    sum = sum * 3 + in[global() + round];
    const unsigned long long token = arrive(&object);
    for (unsigned over = 0; over == 0;) {
      asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(address(&object)), "l"(token) : "memory");
    }
    if (round % 2 == 1 && linear() == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address(&object)) : "memory");
  }
  out[global()] = sum;
}

// An object that one thread's arrival completes, asked for by parity; another one that each thread's does.
KERNEL elected(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long ready, empty;
  __shared__ unsigned value;
  if (linear() == 0) initialize(&ready, 1), initialize(&empty, threads());
  __syncthreads();
  unsigned sum = 0;
  for (unsigned round = 0; round < 6; ++round) {
    if (linear() == round % threads()) {
      value = in[blockIdx.x * 6 + round];
      arrive(&ready);
    }
    while (!isOver(&ready, round & 1)) {
    }
    sum = sum * 5 + value + linear();
    arrive(&empty);
    while (!isOver(&empty, round & 1)) __nanosleep(20);
  }
  out[global()] = sum;
}

// Beside barriers of the other kind, in branches that all take alike, and with values that warps exchange.
KERNEL mixed(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long object;
  __shared__ unsigned part[1024];
  if (linear() == 0) initialize(&object, threads());
  part[linear()] = in[global()];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned round = 0; round < n % 7; ++round) {
    if (round % 2 == 0) {
      sum += part[(linear() + round) % threads()];
      const unsigned long long token = arrive(&object);
      unsigned over = 0;
      do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(address(&object)), "l"(token) : "memory");
      } while (over == 0);
      part[linear()] = sum;
    } else {
      __syncthreads();
      sum ^= part[threads() - 1 - linear()];
    }
    __syncthreads();
  }
  out[global()] = sum;
}

// Threads that leave arrive for good.
KERNEL dropped(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long object;
  __shared__ unsigned part[1024];
  if (linear() == 0) initialize(&object, threads());
  part[linear()] = 0;
  __syncthreads();
  const unsigned rounds = 1 + in[global()] % 5;
  unsigned long long token;
  for (unsigned round = 0; round < rounds; ++round) {
    part[linear()] += in[global()] + round;
    if (round + 1 == rounds) break;
    token = arrive(&object);
    while (!isOver(&object, round & 1)) {
    }
  }
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(token) : "r"(address(&object)) : "memory");
  out[global()] = part[linear()];
}

// Halves that go by turns.
KERNEL halves(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long filled, taken;
  __shared__ unsigned part[1024];
  const unsigned half = (threads() + 1) / 2;
  if (linear() == 0) initialize(&filled, half), initialize(&taken, threads() - half == 0 ? 1 : threads() - half);
  __syncthreads();
  unsigned sum = 0;
  for (unsigned round = 0; round < 4; ++round) {
    if (linear() < half) {
      if (round != 0 && half != threads()) {
        while (!isOver(&taken, (round - 1) & 1)) {
        }
      }
      part[linear()] = in[global()] + round;
      arrive(&filled);
    } else {
      while (!isOver(&filled, round & 1)) {
      }
      sum = sum * 3 + part[linear() - half];
      arrive(&taken);
    }
  }
  out[global()] = sum + linear();
}

// Each 32 threads wait for those before them: one place in the code, as many objects as warps.
KERNEL chained(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long objects[33];
  __shared__ unsigned running;
  const unsigned warp = linear() / 32;
  const unsigned members = min(32u, threads() - warp * 32);
  if (linear() == 0) {
    running = in[blockIdx.x];
    initialize(&objects[0], 1);
  }
  if (linear() % 32 == 0) initialize(&objects[warp + 1], members);
  __syncthreads();
  if (linear() == 0) arrive(&objects[0]);
  while (!isOver(&objects[warp], 0)) {
  }
  const unsigned seen = running;
  __shared__ unsigned come[32];
  if (linear() % 32 == 0) come[warp] = 0;
  __syncwarp();
  if (atomicAdd(&come[warp], 1) == members - 1) running = seen * 7 + warp;
  __syncwarp();
  arrive(&objects[warp + 1]);
  out[global()] = seen;
}

// Asked for, but not waited for.
KERNEL asked(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long object;
  if (linear() == 0) initialize(&object, threads());
  __syncthreads();
  const bool before = isOver(&object, 0);
  __syncthreads();
  arrive(&object);
  __syncthreads();
  out[global()] = (before ? 1 : 0) + (isOver(&object, 0) ? 2 : 0) + (isOver(&object, 1) ? 4 : 0);
}

// Nobody arrives if a word is n.
KERNEL stuck(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long object;
  if (linear() == 0) initialize(&object, threads());
  __syncthreads();
  if (in[global()] != n) arrive(&object);
  while (!isOver(&object, 0)) {
  }
  out[global()] = 1;
}

// Polls, gives up, and goes on: that waits for nobody.
KERNEL polls(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned long long object;
  if (linear() == 0) initialize(&object, threads());
  __syncthreads();
  bool over = false;
#pragma unroll 1
  for (unsigned tries = 0; tries < n % 9; ++tries) {
    if (isOver(&object, 0)) {
      over = true;
      break;
    }
  }
  __syncthreads();
  arrive(&object);
  while (!isOver(&object, 0)) {
  }
  out[global()] = (over ? 1 : 2) + in[global()];
}
