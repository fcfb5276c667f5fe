// The kernels of `rouse-bench kernels`, as they are in CUDA's samples and textbooks. No warp operations: those of one kind are measured
// without, and the others with __syncthreads() only.
#include <cuda_runtime.h>

#define KERNEL extern "C" __global__ void

// --- Threads that do not wait ---

KERNEL saxpy(unsigned n, float a, const float* x, const float* y, float* z) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}

// Edges are copied.
KERNEL stencil(unsigned n, float center, float side, const float* in, float* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= n || y >= n || z >= n) return;
  const unsigned i = (z * n + y) * n + x;
  if (x == 0 || y == 0 || z == 0 || x == n - 1 || y == n - 1 || z == n - 1) {
    out[i] = in[i];
    return;
  }
  out[i] = center * in[i] + side * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
}

KERNEL sgemm_naive(unsigned n, const float* a, const float* b, float* c) {
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (unsigned k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__device__ float cumulativeNormal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  const float tail = 0.39894228040143267794f * expf(-0.5f * d * d) *
                     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

KERNEL black_scholes(unsigned n, float rate, float volatility, const float* price, const float* strike, const float* years, float* call,
                     float* put) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
  const float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
  const float d2 = d1 - volatility * root;
  const float n1 = cumulativeNormal(d1), n2 = cumulativeNormal(d2), discounted = x * expf(-rate * t);
  call[i] = s * n1 - discounted * n2;
  put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

// --- Threads that wait for each other ---

constexpr unsigned kTile = 16;

// n is a multiple of the tile.
KERNEL sgemm_tiled(unsigned n, const float* a, const float* b, float* c) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (unsigned tile = 0; tile < n; tile += kTile) {
    as[y][x] = a[row * n + tile + x];
    bs[y][x] = b[(tile + y) * n + column];
    __syncthreads();
    for (unsigned k = 0; k < kTile; ++k) sum += as[y][k] * bs[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// The sum of each block's part: a second launch with one block adds those.
KERNEL reduce(unsigned n, const float* in, float* sums) {
  __shared__ float part[256];
  float sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

// Inclusive, of each block; `sums` has what each adds up to.
KERNEL scan_blocks(unsigned n, const unsigned* in, unsigned* out, unsigned* sums) {
  __shared__ unsigned part[2][256];
  const unsigned x = threadIdx.x, i = blockIdx.x * blockDim.x + x;
  unsigned now = 0;
  part[0][x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    part[1 - now][x] = part[now][x] + (x >= distance ? part[now][x - distance] : 0);
    now = 1 - now;
    __syncthreads();
  }
  if (i < n) out[i] = part[now][x];
  if (x == blockDim.x - 1) sums[blockIdx.x] = part[now][x];
}

// `sums`: inclusive, of blocks.
KERNEL scan_add(unsigned n, unsigned* out, const unsigned* sums) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x != 0 && i < n) out[i] += sums[blockIdx.x - 1];
}

KERNEL histogram(unsigned n, const unsigned char* in, unsigned* bins) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&mine[in[i]], 1);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

// One body a thread, tiles of a block's size; `bodies` is a multiple of it. w: mass.
KERNEL nbody(unsigned bodies, float softening, const float4* body, float4* acceleration) {
  __shared__ float4 tile[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 me = body[i];
  float ax = 0, ay = 0, az = 0;
  for (unsigned first = 0; first < bodies; first += blockDim.x) {
    tile[threadIdx.x] = body[first + threadIdx.x];
    __syncthreads();
    for (unsigned j = 0; j < blockDim.x; ++j) {
      const float4 other = tile[j];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
      const float force = other.w * inverse * inverse * inverse;
      ax += dx * force, ay += dy * force, az += dz * force;
    }
    __syncthreads();
  }
  acceleration[i] = make_float4(ax, ay, az, 0);
}

// What a launch costs, whatever it does.
KERNEL nothing() {}
