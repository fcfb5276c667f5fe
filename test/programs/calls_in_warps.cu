// What each thread calls on its own between shuffles, votes and barriers: texture fetches, functions through pointers and virtual ones, recursion, printf, malloc handed on to the block, and a lock
// that a function which is not inlined takes; threads that have ended early call nothing.
// expect-stdout: block 1 has 256 threads
// expect-stdout: lane 0 of 32
// expect-stdout: lane 3 of 32
// expect-stdout: lane 30 of 32
// expect-stdout: PASS
#include <algorithm>

#include "check.h"

constexpr unsigned kFull = 0xffffffffu, kThreads = 256;
constexpr int kBlocks = 7;

__device__ float sumOfBlock(float v) {
  __shared__ float warps[kThreads / 32];
  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(kFull, v, k);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  v = threadIdx.x < kThreads / 32 ? warps[threadIdx.x] : 0;
  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(kFull, v, k);
  return v;
}

// A number of every other thread, of those before `n`.
__global__ void fetched(cudaTextureObject_t texture, int n, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0;
  if (i < n) v = tex1Dfetch<float>(texture, i);
  if (i % 2 == 1) v += tex1Dfetch<float>(texture, i / 2);
  v = sumOfBlock(v);
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}

// Between two neighbours of a row, half way down to the next one: filtered, and no barrier anywhere.
__global__ void filtered(cudaTextureObject_t texture, int width, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = tex2D<float>(texture, float(i % width) + 1, float(i / width) + 1);
  out[i] = v - __shfl_xor_sync(kFull, v, 1);
}

using Step = float (*)(float);
__device__ float twice(float v) { return 2 * v; }
__device__ float more(float v) { return v + float(threadIdx.x); }
__device__ Step steps[2] = {twice, more};

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Line : Shape {
  __device__ float area() const override { return 1; }
};

__global__ void through(const float* x, float* out) {
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  v = steps[int(v) % 2](v);
  const Square square(float(int(v) % 8));
  const Line line;
  const Shape* shape = threadIdx.x % 3 == 0 ? static_cast<const Shape*>(&square) : &line;
  v = sumOfBlock(v + shape->area());
  if (threadIdx.x == 0) out[blockIdx.x] = v;
}

// Ackermann's function calls itself in two ways.
__host__ __device__ inline unsigned ackermann(unsigned m, unsigned n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__global__ void recursive(unsigned* out) {
  unsigned v = ackermann(threadIdx.x % 3, threadIdx.x % 4 + blockIdx.x);
  // Never 0; but behind a branch the shuffle waits for the lanes that its mask names. ptxas takes it that a function which calls itself returns its
  // lanes together, which they do not, and leaves the wait out otherwise.
  if (v != 0) v += __shfl_xor_sync(kFull, v, 1);
  __syncthreads();
  if (threadIdx.x % 5 == 0) v += ackermann(2, threadIdx.x % 3);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

__global__ void handedOn(const float* x, float* out) {
  __shared__ float* kept;
  if (threadIdx.x == 0) kept = static_cast<float*>(malloc(kThreads * sizeof(float)));
  __syncthreads();
  kept[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  const float v = sumOfBlock(kept[threadIdx.x ^ 5]);
  __syncthreads();
  if (threadIdx.x == 0) free(kept), out[blockIdx.x] = v;
}

__global__ void says(int* out) {
  if (threadIdx.x == 0 && blockIdx.x == 1) printf("block %d has %u threads\n", blockIdx.x, blockDim.x);
  const unsigned some = __ballot_sync(kFull, threadIdx.x % 32 == 3 || threadIdx.x % 30 == 0);
  if (blockIdx.x == 1 && threadIdx.x < 32 && (some >> threadIdx.x & 1) != 0) printf("lane %u of %d\n", threadIdx.x, warpSize);
  if (threadIdx.x == 0) out[blockIdx.x] = int(some);
}

// Lanes of a warp wait for each other.
__device__ int lock;
__device__ __noinline__ unsigned counted(unsigned* counter, unsigned depth) {
  if (depth != 0) return counted(counter, depth - 1);
  while (atomicCAS(&lock, 0, 1) != 0) {}
  __threadfence();
  const unsigned count = *reinterpret_cast<volatile unsigned*>(counter);
  *reinterpret_cast<volatile unsigned*>(counter) = count + 1;
  __threadfence();
  atomicExch(&lock, 0);
  return count;
}
__global__ void locked(unsigned* counter, unsigned* out) {
  const unsigned count = counted(counter, threadIdx.x % 3);
  out[blockIdx.x * blockDim.x + threadIdx.x] = __shfl_sync(kFull, count, threadIdx.x % 32);
}

// Functions that call one another, one of which waits.
__device__ __noinline__ unsigned odd(unsigned* shared, unsigned depth);
__device__ __noinline__ unsigned even(unsigned* shared, unsigned depth) { return depth == 0 ? 1 : odd(shared, depth - 1) * 3; }
__device__ __noinline__ unsigned odd(unsigned* shared, unsigned depth) {
  shared[threadIdx.x] = threadIdx.x + depth;
  __syncthreads();
  const unsigned other = shared[(threadIdx.x + 77) % kThreads];
  __syncthreads();
  return depth == 0 ? other : even(shared, depth - 1) + other;
}
__global__ void inTurns(unsigned depth, unsigned* out) {
  __shared__ unsigned shared[kThreads];
  const unsigned v = odd(shared, depth);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v + __shfl_xor_sync(kFull, v, 1);
}

__global__ void early(int n, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = ackermann(2, i % 4);
  __syncthreads();
  v += __shfl_xor_sync(__activemask(), v, 2) * 0 + ackermann(1, threadIdx.x % 7);
  out[i] = v;
}

unsigned hostOdd(unsigned thread, unsigned depth);
unsigned hostEven(unsigned thread, unsigned depth) { return depth == 0 ? 1 : hostOdd(thread, depth - 1) * 3; }
unsigned hostOdd(unsigned thread, unsigned depth) {
  const unsigned other = (thread + 77) % kThreads + depth;
  return depth == 0 ? other : hostEven(thread, depth - 1) + other;
}

int main() {
  const int n = kBlocks * int(kThreads);
  check::Random random(7);
  std::vector<float> x(n);
  for (float& v : x) v = float(random.below(100));
  float* const in = check::toDevice(x);
  const std::vector<float> wanted(kBlocks);
  float* const sums = check::toDevice(wanted);
  std::vector<unsigned> words(n);
  unsigned* const out = check::toDevice(words);
  const auto compare = [&](const char* name, auto&& of) {
    std::vector<float> got(kBlocks), expected(kBlocks, 0);
    CHECK(cudaMemcpy(got.data(), sums, sizeof(float) * kBlocks, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) expected[i / kThreads] += of(i);
    check::equal(name, got, expected);
  };
  const auto compareWords = [&](const char* name, int count, auto&& of) {
    std::vector<unsigned> got(count), expected(count);
    CHECK(cudaMemcpy(got.data(), out, sizeof(unsigned) * count, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; ++i) expected[i] = of(i);
    check::equal(name, got, expected);
  };

  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = in;
  resource.res.linear.sizeInBytes = n * sizeof(float);
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  cudaTextureDesc description{};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  fetched<<<kBlocks, kThreads>>>(texture, n - 100, sums);
  compare("fetched", [&](int i) { return (i < n - 100 ? x[i] : 0) + (i % 2 == 1 ? x[i / 2] : 0); });
  CHECK(cudaDestroyTextureObject(texture));

  constexpr int width = 64;
  const int height = n / width;
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &resource.res.linear.desc, width, height));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, x.data(), width * sizeof(float), width * sizeof(float), height, cudaMemcpyHostToDevice));
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  description.filterMode = cudaFilterModeLinear;
  description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  filtered<<<kBlocks, kThreads>>>(texture, width, reinterpret_cast<float*>(out));
  compareWords("filtered", n, [&](int i) {
    const auto at = [&](int column, int row) { return x[std::min(row, height - 1) * width + std::min(column, width - 1)]; };
    const auto own = [&](int k) {
      const int column = k % width, row = k / width;
      return (at(column, row) + at(column + 1, row) + at(column, row + 1) + at(column + 1, row + 1)) / 4;
    };
    const float difference = own(i) - own(i ^ 1);
    unsigned word;
    std::memcpy(&word, &difference, sizeof word);
    return word;
  });
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));

  through<<<kBlocks, kThreads>>>(in, sums);
  compare("through", [&](int i) {
    const int thread = i % int(kThreads);
    const float v = int(x[i]) % 2 == 0 ? 2 * x[i] : x[i] + float(thread), side = float(int(v) % 8);
    return v + (thread % 3 == 0 ? side * side : 1);
  });

  recursive<<<kBlocks, kThreads>>>(out);
  compareWords("recursive", n, [&](int i) {
    const auto own = [](int k) { return ackermann(k % kThreads % 3, k % kThreads % 4 + k / kThreads); };
    return own(i) + own(i ^ 1) + (i % kThreads % 5 == 0 ? ackermann(2, i % kThreads % 3) : 0);
  });

  handedOn<<<kBlocks, kThreads>>>(in, sums);
  compare("handedOn", [&](int i) { return x[i]; });

  says<<<2, kThreads>>>(reinterpret_cast<int*>(out));
  compareWords("says", 2, [](int) { return 1u | 1u << 3 | 1u << 30; });

  unsigned* const counter = check::toDevice(std::vector<unsigned>{0});
  locked<<<kBlocks, kThreads>>>(counter, out);
  CHECK(cudaMemcpy(words.data(), out, sizeof(unsigned) * n, cudaMemcpyDeviceToHost));
  std::sort(words.begin(), words.end());
  for (int i = 0; i < n; ++i) EXPECT(words[i] == unsigned(i));

  inTurns<<<kBlocks, kThreads>>>(6, out);
  compareWords("inTurns", n, [](int i) {
    const auto own = [](unsigned thread) { return hostOdd(thread, 6); };
    return own(i % kThreads) + own((i ^ 1) % kThreads);
  });

  early<<<kBlocks, kThreads>>>(n - 100, out);
  compareWords("early", n - 100, [](int i) { return ackermann(2, i % 4) + ackermann(1, i % kThreads % 7); });
  return check::done();
}
