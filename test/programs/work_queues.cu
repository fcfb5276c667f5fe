// Work taken from a counter: by each thread for itself, by lane 0 for its warp (shuffle), by the leader for its block (shared memory),
// several items at a time, from a counter that counts down, work that makes further work. A semaphore made of atomicAdd and atomicSub
// and a ticket lock, each used by one thread of a block.
#include <algorithm>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu;

struct Queue {
  int next, left, done, turns;
};

__host__ __device__ inline unsigned work(unsigned v) {  // as long as the value says
  for (unsigned k = v % 37; k > 0; --k) v = v * 1664525u + 1013904223u;
  return v;
}

__global__ void threads(Queue* q, const unsigned* in, unsigned* out, int n) {
  int i;
  while ((i = atomicAdd(&q->next, 1)) < n) {
    out[i] = work(in[i]);
    atomicAdd(&q->done, 1);
  }
}

__global__ void down(Queue* q, const unsigned* in, unsigned* out) {
  int mine = 0;
  for (int i; (i = atomicSub(&q->left, 1)) > 0; ++mine) out[i - 1] = work(in[i - 1]);
  int lane = threadIdx.x % 32;  // back together
  __syncthreads();
  for (int k = 16; k > 0; k /= 2) mine += __shfl_xor_sync(kFull, mine, k);
  if (lane == 0) atomicAdd(&q->done, mine);
}

// Items are ranges; each warp takes one, or kSome at a time, and works on it together.
template <int kSome>
__global__ void warps(Queue* q, const int* starts, const unsigned* in, unsigned* out, int items) {
  const int lane = threadIdx.x % 32;
  do {
    int first;
    if (lane == 0) first = atomicAdd(&q->next, kSome);
    first = __shfl_sync(kFull, first, 0);
    if (first >= items) break;
    for (int i = first; i < min(first + kSome, items); ++i) {
      int begin = starts[i], end = starts[i + 1];
      unsigned sum = 0;
      for (int k = begin + lane; k < end; k += 32) sum += work(in[k]);
      for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(kFull, sum, k);
      while (__any_sync(kFull, lane == 0 && sum % 8 != 0)) sum += lane == 0;
      if (lane == 0) out[i] = sum;
    }
  } while (true);
  if (lane == 0) atomicAdd(&q->done, 1);
}

__global__ void blocks(Queue* q, const int* starts, const unsigned* in, unsigned* out, int items) {
  __shared__ int item;
  __shared__ unsigned sums[32];
  int t = threadIdx.x;
  while (true) {
    if (t == 0) item = atomicAdd(&q->next, 1);
    __syncthreads();
    int i = item;
    __syncthreads();
    if (i >= items) break;
    unsigned sum = 0;
    for (int k = starts[i] + t; k < starts[i + 1]; k += blockDim.x) sum += work(in[k]);
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(kFull, sum, k);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
      for (int w = 1; w < blockDim.x / 32; ++w) sum += sums[w];
      out[i] = (sum + 7) / 8 * 8;
      atomicAdd(&q->done, 1);
    }
  }
}

// A tree: an item below the middle makes two more. Each thread goes on until all there are are done.
__global__ void growing(Queue* q, int* seen, int n) {
  while (*const_cast<volatile int*>(&q->done) < n) {
    int i = *const_cast<volatile int*>(&q->next);
    if (i >= *const_cast<volatile int*>(&q->left) || atomicCAS(&q->next, i, i + 1) != i) continue;
    atomicAdd(&seen[i], 1);
    if (2 * i + 2 < n) atomicAdd(&q->left, 2);
    atomicAdd(&q->done, 1);
  }
}

struct Room {
  int semaphore, inside, most, total;
  unsigned ticket, serving;
  int plain;
};

// `blindly`: adds first and looks then, so that those who wait may keep each other out for as long as they like, and on GPUs do.
__global__ void semaphore(Room* r, int limit, int rounds, bool blindly) {
  if (threadIdx.x == 0) {
    for (int k = 0; k < rounds; ++k) {
      if (blindly) {
        while (atomicAdd(&r->semaphore, 1) >= limit) atomicSub(&r->semaphore, 1);
      } else {
        for (int seen = 0; seen >= limit || atomicCAS(&r->semaphore, seen, seen + 1) != seen;) seen = *const_cast<volatile int*>(&r->semaphore);
      }
      __threadfence();
      atomicMax(&r->most, atomicAdd(&r->inside, 1) + 1);
      atomicAdd(&r->total, 1);
      atomicSub(&r->inside, 1);
      __threadfence();
      atomicSub(&r->semaphore, 1);
    }
  }
}

// The block adds up; its leader waits its turn and adds the sum where only one may.
__global__ void tickets(Room* r, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    int sum = threadIdx.x % 5 + k;
    for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(kFull, sum, o);
    if (threadIdx.x == 0) {
      unsigned mine = atomicAdd(&r->ticket, 1u);
      while (atomicAdd(&r->serving, 0u) != mine) {
      }
      __threadfence();
      *const_cast<volatile int*>(&r->plain) = *const_cast<volatile int*>(&r->plain) + sum;
      __threadfence();
      atomicExch(&r->serving, mine + 1);
    }
    __syncthreads();
  }
}

int main() {
  const int n = 20000, items = 700;
  check::Random random(74);
  std::vector<unsigned> in(n), wanted(n), perItem(items);
  std::vector<int> starts(items + 1);
  for (int i = 0; i < n; ++i) wanted[i] = work(in[i] = unsigned(random.next()));
  for (int i = 0; i < items; ++i) {
    starts[i + 1] = std::min(n, starts[i] + int(random.below(i % 50 ? 40 : 150)));
    for (int k = starts[i]; k < starts[i + 1]; ++k) perItem[i] += wanted[k];
    perItem[i] = (perItem[i] + 7) / 8 * 8;
  }
  unsigned *din = check::toDevice(in), *out = check::deviceArray<unsigned>(n);
  int *dstarts = check::toDevice(starts), *seen = check::deviceArray<int>(n);
  Queue* q = check::deviceArray<Queue>(1);
  auto run = [&](const char* name, Queue start, const std::vector<unsigned>& right, int done, auto launch) {
    CHECK(cudaMemcpy(q, &start, sizeof start, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(out, 0xff, n * sizeof(unsigned)));
    launch();
    CHECK(cudaGetLastError());
    check::equal(name, check::toHost(out, right.size()), right);
    Queue end = check::toHost(q, 1)[0];
    if (end.done != done) std::printf("%s: %d done, not %d\n", name, end.done, done), ++check::failures;
    return end;
  };
  for (int threadsEach : {32, 100, 256}) {
    Queue end = run("threads", {}, wanted, n, [&] { threads<<<8, threadsEach>>>(q, din, out, n); });
    EXPECT(end.next == n + 8 * threadsEach);
  }
  for (int threadsEach : {64, 256}) {
    Queue end = run("down", {0, n}, wanted, n, [&] { down<<<8, threadsEach>>>(q, din, out); });
    EXPECT(end.left == -8 * threadsEach);
    run("warps", {}, perItem, 6 * threadsEach / 32, [&] { warps<1><<<6, threadsEach>>>(q, dstarts, din, out, items); });
    run("warps, four", {}, perItem, 6 * threadsEach / 32, [&] { warps<4><<<6, threadsEach>>>(q, dstarts, din, out, items); });
    end = run("blocks", {}, perItem, items, [&] { blocks<<<6, threadsEach>>>(q, dstarts, din, out, items); });
    EXPECT(end.next == items + 6);
  }
  CHECK(cudaMemset(seen, 0, n * sizeof(int)));
  run("growing", {0, 1}, {}, 999, [&] { growing<<<4, 64>>>(q, seen, 999); });
  check::equal("seen", check::toHost(seen, 999), std::vector<int>(999, 1));

  Room* room = check::deviceArray<Room>(1);
  CHECK(cudaMemset(room, 0, sizeof *room));
  semaphore<<<8, 32>>>(room, 2, 20, check::onCpuDevice());
  CHECK(cudaGetLastError());
  Room end = check::toHost(room, 1)[0];
  EXPECT(end.total == 160 && end.most >= 1 && end.most <= 2 && end.semaphore == 0 && end.inside == 0);
  tickets<<<8, 64>>>(room, 10);
  CHECK(cudaGetLastError());
  int sum = 0;
  for (int k = 0; k < 10; ++k)
    for (int l = 0; l < 32; ++l) sum += 8 * (l % 5 + k);
  end = check::toHost(room, 1)[0];
  EXPECT(end.plain == sum && end.serving == 80);
  return check::done();
}
