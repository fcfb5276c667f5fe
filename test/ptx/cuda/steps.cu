// Kernels from before independent thread scheduling: what a lane stores the others of its warp load without a barrier, also where it stores in a branch, and lanes that went apart in a loop are
// together behind it. Each is k(n, in, out); `in` has n words, below 2^24, and more than there are threads, so has `out`, 3 * 1024 and 64 behind them, all kUnset. All blocks are of whole warps.
#define KERNEL extern "C" __global__ void

constexpr unsigned kUnset = 0xdeadbeef;

__device__ unsigned lane() { return threadIdx.x % 32; }
__device__ unsigned warp() { return threadIdx.x / 32; }
__device__ unsigned global() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Warps take 32 numbers at a time until there are none; the first lane says which.
template <bool fenced>
__device__ void take(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned next, slots[32];
  if (threadIdx.x == 0) next = 0;
  __syncthreads();
  volatile unsigned* const slot = &slots[warp()];
  while (true) {
    const unsigned taken = lane() == 0 ? atomicAdd(&next, 32) : 0;
    unsigned first;
    if (fenced) {
      if (lane() == 0) slots[warp()] = taken;
      __threadfence_block();
      first = slots[warp()];
    } else {
      if (lane() == 0) *slot = taken;
      first = *slot;
    }
    if (first >= blockDim.x) break;
    const unsigned mine = blockIdx.x * blockDim.x + first + lane();
    out[mine] = in[mine] * 3 + first;
  }
}

KERNEL taken(unsigned n, const unsigned* in, unsigned* out) { take<false>(n, in, out); }
KERNEL taken_fenced(unsigned n, const unsigned* in, unsigned* out) { take<true>(n, in, out); }

// A warp goes on until none of its lanes has found less beside it; the first lane clears the flag that others set.
KERNEL relaxed(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned changed[32], values[1024];
  values[threadIdx.x] = in[global()];
  do {
    if (lane() == 0) changed[warp()] = 0;
    unsigned least = values[threadIdx.x];
    if (lane() > 0) least = min(least, values[threadIdx.x - 1]);
    if (lane() < 31) least = min(least, values[threadIdx.x + 1]);
    if (least < values[threadIdx.x]) {
      values[threadIdx.x] = least;
      changed[warp()] = 1;
    }
  } while (changed[warp()]);
  out[global()] = values[threadIdx.x];
}

// Nobody leaves before all are done.
KERNEL agreed(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned done[32];
  const unsigned most = in[global()] % 17;
  unsigned count = 0, rounds = 0;
  while (true) {
    done[warp()] = 1;
    if (count < most) {
      done[warp()] = 0;
      ++count;
    }
    ++rounds;
    if (done[warp()]) break;
  }
  out[global()] = count * 32 + rounds;
}

// Sums up to each lane, in plain shared memory with fences; between them each goes through a loop of its own.
KERNEL sums_fenced(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[32 * 48];
  unsigned* const own = &sums[48 * warp() + 16 + lane()];
  sums[48 * warp() + lane()] = 0;
  __syncthreads();
  unsigned all = 0;
  for (unsigned at = lane(); at < 160; at += 32) {
    *own = in[(32 * (global() / 32) + at) % n];
    __threadfence_block();
    for (unsigned k = 1; k < 32; k *= 2) {
      *own += *(own - k);
      __threadfence_block();
    }
    all = all * 5 + *own;
    for (unsigned k = in[global()] % 4; k > 0; --k) out[global()] = all >> k;
  }
  out[global()] = all;
}

// One row after the other, each by a warp, that waits for what the rows before store; the lanes add up in step, and one hands on what another has made of it.
KERNEL rows(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned sums[1024 + 16], totals[32];
  volatile unsigned* const ready = out;
  const unsigned warps = gridDim.x * blockDim.x / 32, row = blockIdx.x * blockDim.x / 32 + warp();
  unsigned sum = 0;
  for (unsigned before = (row > 40 ? row - 40 : 0) + lane(); before < row; before += 32) {
    while (ready[before * 32] == kUnset) {
    }
    sum += ready[before * 32] ^ in[(row * 7 + before) % n];
  }
  sums[threadIdx.x] = sum;
  if (lane() < 16) sums[threadIdx.x] += sums[threadIdx.x + 16];
  if (lane() < 8) sums[threadIdx.x] += sums[threadIdx.x + 8];
  if (lane() < 4) sums[threadIdx.x] += sums[threadIdx.x + 4];
  if (lane() < 2) sums[threadIdx.x] += sums[threadIdx.x + 2];
  if (lane() < 1) sums[threadIdx.x] += sums[threadIdx.x + 1];
  if (lane() == 0) totals[warp()] = (sums[threadIdx.x] + in[row]) & 0xffffff;
  const unsigned total = totals[warp()];
  if (lane() != 0) out[row * 32 + lane()] = total + lane();
  if (lane() == 3 && row < warps) {
    __threadfence();
    ready[row * 32] = total;
  }
}

// A bit is a lock that one lane takes and gives back for its warp; what the others store is stored before.
KERNEL locked_by_one(unsigned n, const unsigned* in, unsigned* out) {
  unsigned* const cells = out + 3 * 1024;
  unsigned* const lock = cells + 40;
  for (unsigned round = 0; round < 8; ++round) {
    bool held = true;
    while (held) {
      if (lane() == 1) held = (atomicOr(lock, 0x2000'0000) & 0x2000'0000) != 0;
      held = __shfl_sync(~0u, held, 1);
    }
    __threadfence();
    const unsigned value = cells[lane()];
    unsigned more = in[(global() + round) % n];
    for (unsigned k = 0; k < 300; ++k) more = (more ^ more >> 7) * 5;
    cells[lane()] = value + more;
    __threadfence();
    if (lane() == 1) atomicAnd(lock, ~0x2000'0000u);
  }
}

// A generator of random numbers that a warp has in common, and all its lanes draw from at once; the new ones are made in a function that is called, in the place of those they are made of.
constexpr unsigned kWords = 101, kNumbers = 3;
__shared__ volatile unsigned words[8][kWords];
__shared__ volatile unsigned char drawnOf[8];

__device__ __noinline__ void renew(unsigned distance) {
  volatile unsigned* const own = words[warp()];
  for (unsigned k = lane(); k < kWords - distance; k += 32) own[k] = own[k] * 5 + (own[k + 1] ^ own[k + distance]);
  for (unsigned k = kWords - distance + lane(); k < kWords; k += 32) own[k] = own[k] * 5 + (own[k + 1 == kWords ? 0 : k + 1] ^ own[k + distance - kWords]);
}

KERNEL generated(unsigned n, const unsigned* in, unsigned* out) {
  for (unsigned k = lane(); k < kWords; k += 32) words[warp()][k] = in[(warp() * 77 + k) % n];
  if (lane() == 0) drawnOf[warp()] = 0;
  unsigned mixed = 0;
  for (unsigned round = 0; round < 20; ++round) {
    unsigned index = drawnOf[warp()] + 1;
    if (index >= kNumbers) {
      renew(37 + n % 2);
      index = 0;
    }
    if (lane() == 0) drawnOf[warp()] = index;
    mixed ^= words[warp()][32 * index + lane()] + round;
    for (unsigned k = mixed % 5; k > 0; --k) mixed = mixed * 3 + (in[k] & 1);
  }
  out[global()] = mixed;
}

// Lanes count in their warp's part of volatile shared memory, as before there were atomic operations there: who finds its tag has counted.
KERNEL tagged(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned words[32 * 64];
  const unsigned thread = threadIdx.x, tag = thread << 27;
  volatile unsigned* const counts = words + thread / 32 * 64;
  for (unsigned k = thread % 32; k < 64; k += 32) counts[k] = 0;
  __syncthreads();
  for (unsigned k = thread; k < n; k += blockDim.x) {
    const unsigned bin = in[k] & 63;
    unsigned count;
    do {
      count = tag | ((counts[bin] & 0x07ffffff) + 1);
      counts[bin] = count;
    } while (counts[bin] != count);
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum = sum * 3 + (words[warp * 64 + thread % 64] & 0x07ffffff);
  out[blockIdx.x * blockDim.x + thread] = sum;
}

// Lanes take turns at what is their warp's, each adding to another's sum, and look at their own behind the loop (OpenMM's forces).
KERNEL turned(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[1024];
  const unsigned first = threadIdx.x - lane();
  unsigned at = lane(), own = 0;
  sums[threadIdx.x] = 0;
  __syncwarp();
  for (unsigned k = 0; k < 32; ++k) {
    const unsigned word = in[(global() * 7 + k) % n];
    if (word % 3 != 0) {
      sums[first + at] += word;
      own = own * 3 + word;
    }
    at = (at + 1) % 32;
  }
  out[global()] = sums[threadIdx.x] * 5 + own;
}
