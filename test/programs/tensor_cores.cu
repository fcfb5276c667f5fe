// Matrix products on tensor cores: wmma of f16, bf16, tf32, s8 and f64, and mma.sync fed by ldmatrix from tiles that cp.async brings
// ahead. Operands are small integers, so that every sum is exact in any order.
// nvcc: -arch=compute_80
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

constexpr int M = 64, N = 64, K = 64;

// One warp a tile of C; A by rows, B by columns.
template <int m, int n, int k, class Fragment, class In, class Out>
__global__ void product(const In* a, const In* b, Out* c) {
  const int row = blockIdx.y * m, column = blockIdx.x * n;
  wmma::fragment<wmma::matrix_a, m, n, k, Fragment, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, m, n, k, Fragment, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, m, n, k, Out> sum;
  wmma::fill_fragment(sum, Out(0));
  for (int i = 0; i < K; i += k) {
    wmma::load_matrix_sync(left, a + row * K + i, K);
    wmma::load_matrix_sync(right, b + column * K + i, K);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] * Out(2);
  wmma::store_matrix_sync(c + row * N + column, sum, N, wmma::mem_row_major);
}

// One warp 16 by 8 of C; two stages of tiles of 16 by 16 of A and 16 by 8 of B, both by rows.
__global__ void pipelined(const half* a, const half* b, float* c) {
  __shared__ alignas(16) half left[2][16][16], right[2][16][8];
  const int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 8;
  const auto fetch = [&](int stage, int k) {
    const unsigned toA = static_cast<unsigned>(__cvta_generic_to_shared(&left[stage][lane / 2][lane % 2 * 8]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(toA), "l"(a + (row + lane / 2) * K + k + lane % 2 * 8));
    if (lane < 16) {
      const unsigned toB = static_cast<unsigned>(__cvta_generic_to_shared(&right[stage][lane][0]));
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(toB), "l"(b + (k + lane) * N + column));
    }
    asm volatile("cp.async.commit_group;");
  };
  float sum[4] = {};
  fetch(0, 0);
  for (int k = 0, stage = 0; k < K; k += 16, stage ^= 1) {
    if (k + 16 < K) {
      fetch(stage ^ 1, k + 16);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncwarp();
    unsigned x[4], y[2];
    const unsigned atA = static_cast<unsigned>(__cvta_generic_to_shared(&left[stage][lane % 16][lane / 16 * 8]));
    const unsigned atB = static_cast<unsigned>(__cvta_generic_to_shared(&right[stage][lane % 16][0]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(atA));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "r"(atB));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    __syncwarp();
  }
  for (int i = 0; i < 4; ++i) c[(row + lane / 4 + i / 2 * 8) * N + column + lane % 4 * 2 + i % 2] = 2 * sum[i];
}

int left(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
int right(int k, int column) { return (k * 5 + column * 2) % 9 - 4; }

template <class In, class Out, class Kernel>
void run(const char* name, bool bColumns, dim3 grid, Kernel kernel) {
  std::vector<In> a(M * K), b(K * N);
  std::vector<Out> c(M * N), wanted(M * N);
  for (int row = 0; row < M; ++row)
    for (int k = 0; k < K; ++k) a[row * K + k] = In(static_cast<float>(left(row, k)));
  for (int k = 0; k < K; ++k)
    for (int column = 0; column < N; ++column) b[bColumns ? column * K + k : k * N + column] = In(static_cast<float>(right(k, column)));
  for (int row = 0; row < M; ++row)
    for (int column = 0; column < N; ++column) {
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += left(row, k) * right(k, column);
      wanted[row * N + column] = Out(static_cast<float>(2 * sum));
    }
  In *da, *db;
  Out* dc;
  CHECK(cudaMalloc(&da, a.size() * sizeof(In)));
  CHECK(cudaMalloc(&db, b.size() * sizeof(In)));
  CHECK(cudaMalloc(&dc, c.size() * sizeof(Out)));
  CHECK(cudaMemcpy(da, a.data(), a.size() * sizeof(In), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), b.size() * sizeof(In), cudaMemcpyHostToDevice));
  kernel<<<grid, 32>>>(da, db, dc);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(c.data(), dc, c.size() * sizeof(Out), cudaMemcpyDeviceToHost));
  check::equal(name, c, wanted);
  cudaFree(da), cudaFree(db), cudaFree(dc);
}

int main() {
  run<half, float>("f16, f32", true, dim3(N / 16, M / 16), product<16, 16, 16, half, half, float>);
  run<half, half>("f16", true, dim3(N / 8, M / 32), product<32, 8, 16, half, half, half>);
  run<__nv_bfloat16, float>("bf16", true, dim3(N / 32, M / 8), product<8, 32, 16, __nv_bfloat16, __nv_bfloat16, float>);
  run<float, float>("tf32", true, dim3(N / 16, M / 16), product<16, 16, 8, wmma::precision::tf32, float, float>);
  run<signed char, int>("s8", true, dim3(N / 16, M / 16), product<16, 16, 16, signed char, signed char, int>);
  run<double, double>("f64", true, dim3(N / 8, M / 8), product<8, 8, 4, double, double, double>);
  run<half, float>("mma.sync", false, dim3(N / 8, M / 16), pipelined);
  return check::done();
}
