// A product of matrices as libraries' kernels have it: tiles come by asynchronous copies while others are multiplied, fragments for the next step are loaded behind the barrier, unless it is the last, and
// those of before are multiplied meanwhile. All numbers are small whole ones, so that sums are exact in whatever order they are made.
// nvcc: -gencode arch=compute_80,code=compute_80
#include <cuda_fp16.h>

#include "check.h"

constexpr int kSide = 64, kDeep = 32, kPitch = kDeep + 8, kStages = 2;  // of a block's tile; along k at a time; halves of a row in shared memory

__device__ unsigned sharedAddress(const void* pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }
__device__ void loadFragment(unsigned (&to)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(sharedAddress(row)) : "memory");
}
// 16 by 8 by 8.
__device__ void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(b));
}

struct Tiles {
  __half a[kSide][kPitch], b[kSide][kPitch];
};

__device__ void copyTiles(Tiles& to, const __half* a, const __half* b, int depth, int step, bool any) {
  const int thread = int(threadIdx.y) * 32 + int(threadIdx.x);
  for (int i = 0; i < 2; ++i) {
    const int row = thread / 4 + i * 32, part = thread % 4 * 8;
    const int bytes = any ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(&to.a[row][part])), "l"(a + std::size_t(row) * depth + step * kDeep + part), "r"(bytes) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(&to.b[row][part])), "l"(b + std::size_t(row) * depth + step * kDeep + part), "r"(bytes) : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Blocks of 32 by 4 threads, warps of 32 by 32. `last` is the last step, which only the caller knows.
__global__ void __launch_bounds__(128) product(const __half* a, const __half* b, float* c, int depth, int last) {
  __shared__ __align__(16) Tiles tiles[kStages];
  const int lane = int(threadIdx.x), warp = int(threadIdx.y), steps = depth / kDeep;
  const int rowBase = warp % 2 * 32, columnBase = warp / 2 * 32;
  const auto fragments = [&](const Tiles& from, int k, unsigned (&x)[4], unsigned (&y)[4]) {
    loadFragment(x, &from.a[rowBase + lane][k * 8]);
    loadFragment(y, &from.b[columnBase + lane][k * 8]);
  };
  float d[2][4][4] = {};
  const auto multiplyAll = [&](const unsigned (&x)[4], const unsigned (&y)[4]) {
    for (int m = 0; m < 2; ++m)
      for (int n = 0; n < 4; ++n) multiply(d[m][n], x[2 * m], x[2 * m + 1], y[n]);
  };
  copyTiles(tiles[0], a, b, depth, 0, true);
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  unsigned x[2][4], y[2][4];
  fragments(tiles[0], 0, x[0], y[0]);
  for (int step = 0; step < steps; ++step) {
    const Tiles& now = tiles[step % kStages];
    Tiles& next = tiles[(step + 1) % kStages];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (k < 3) fragments(now, k + 1, x[(k + 1) % 2], y[(k + 1) % 2]);
      if (k == 0) copyTiles(next, a, b, depth, step == last ? 0 : step + 1, step != last);
      if (k == 3) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        if (step != last) fragments(next, 0, x[0], y[0]);
      }
      multiplyAll(x[k % 2], y[k % 2]);
    }
  }
  for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 4; ++n)
      for (int i = 0; i < 4; ++i) c[(rowBase + m * 16 + lane / 4 + i / 2 * 8) * kSide + columnBase + n * 8 + lane % 4 * 2 + i % 2] = d[m][n][i];
}

void test(int depth) {
  std::vector<__half> a(kSide * depth), b(kSide * depth);
  std::vector<int> an(a.size()), bn(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = __float2half(float(an[i] = int(i * 2654435761u >> 20) % 9 - 4));
    b[i] = __float2half(float(bn[i] = int(i * 2246822519u >> 20) % 7 - 3));
  }
  __half *const da = check::toDevice(a), *const db = check::toDevice(b);
  float* const dc = check::deviceArray<float>(kSide * kSide);
  product<<<1, dim3(32, 4)>>>(da, db, dc, depth, depth / kDeep - 1);
  CHECK(cudaGetLastError());
  std::vector<float> wanted(kSide * kSide);
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      int sum = 0;
      for (int k = 0; k < depth; ++k) sum += an[row * depth + k] * bn[column * depth + k];
      wanted[row * kSide + column] = float(sum);
    }
  check::equal(("product of depth " + std::to_string(depth)).c_str(), check::toHost(dc, wanted.size()), wanted);
  for (void* each : {static_cast<void*>(da), static_cast<void*>(db), static_cast<void*>(dc)}) CHECK(cudaFree(each));
}

int main() {
  for (int depth : {32, 64, 96, 256}) test(depth);
  return check::done();
}
