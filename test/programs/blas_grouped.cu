// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's products in groups: sizes, transpositions and scalars of each group in the program's memory, addresses of all matrices in the device's; against plain loops in
// double.
#include <memory>

#include "blas.h"

using namespace blas;

template <class T>
void groups(cublasHandle_t handle, cublasComputeType_t compute, bool extended) {
  check::Random r(95);
  struct Group {
    cublasOperation_t ta, tb;
    Int m, n, k, count;
  };
  const Group all[] = {{CUBLAS_OP_N, CUBLAS_OP_N, 7, 5, 9, 2}, {CUBLAS_OP_T, CUBLAS_OP_N, 16, 3, 4, 1}, {CUBLAS_OP_N, CUBLAS_OP_T, 1, 30, 12, 3}, {CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, 0},
                       {CUBLAS_OP_T, CUBLAS_OP_T, 8, 8, 8, 1}};
  using Scale = std::conditional_t<std::is_same_v<T, double>, double, float>;
  std::vector<cublasOperation_t> ta, tb;
  std::vector<Int> m, n, k, lda, ldb, ldc, sizes;
  std::vector<Scale> alpha, beta;
  std::vector<std::unique_ptr<Matrix<T>>> as, bs, cs;
  std::vector<T*> aAt, bAt, cAt;
  for (const Group& g : all) {
    ta.push_back(g.ta), tb.push_back(g.tb);
    m.push_back(g.m), n.push_back(g.n), k.push_back(g.k), sizes.push_back(g.count);
    alpha.push_back(Scale(0.5 + double(g.m))), beta.push_back(Scale(-1));
    const int aRows = int(g.ta == CUBLAS_OP_N ? g.m : g.k), bRows = int(g.tb == CUBLAS_OP_N ? g.k : g.n);
    lda.push_back(aRows + 1), ldb.push_back(bRows), ldc.push_back(g.m + 2);
    for (Int e = 0; e < g.count; ++e) {
      as.push_back(std::make_unique<Matrix<T>>(r, aRows, int(g.m + g.k) - aRows, 1));
      bs.push_back(std::make_unique<Matrix<T>>(r, bRows, int(g.n + g.k) - bRows));
      cs.push_back(std::make_unique<Matrix<T>>(r, int(g.m), int(g.n), 2));
      aAt.push_back(as.back()->device), bAt.push_back(bs.back()->device), cAt.push_back(cs.back()->device);
    }
  }
  T **a = check::toDevice(aAt), **b = check::toDevice(bAt), **c = check::toDevice(cAt);
  const Int count = Int(ta.size());
  if (extended) {
    BLAS(BLAS_NAME(cublasGemmGroupedBatchedEx)(handle, ta.data(), tb.data(), m.data(), n.data(), k.data(), alpha.data(), (const void* const*)a, kType<T>, lda.data(),
                                               (const void* const*)b, kType<T>, ldb.data(), beta.data(), (void* const*)c, kType<T>, ldc.data(), count, sizes.data(), compute));
  } else if constexpr (std::is_same_v<T, float>) {
    BLAS(BLAS_NAME(cublasSgemmGroupedBatched)(handle, ta.data(), tb.data(), m.data(), n.data(), k.data(), alpha.data(), a, lda.data(), b, ldb.data(), beta.data(), c, ldc.data(),
                                              count, sizes.data()));
  } else if constexpr (std::is_same_v<T, double>) {
    BLAS(BLAS_NAME(cublasDgemmGroupedBatched)(handle, ta.data(), tb.data(), m.data(), n.data(), k.data(), alpha.data(), a, lda.data(), b, ldb.data(), beta.data(), c, ldc.data(),
                                              count, sizes.data()));
  }
  std::size_t at = 0;
  for (std::size_t g = 0; g < ta.size(); ++g)
    for (Int e = 0; e < sizes[g]; ++e, ++at) {
      cs[at]->compare("grouped", [&](int i, int j) {
        Z sum = 0;
        for (int l = 0; l < int(k[g]); ++l) sum += times(as[at]->op(ta[g], i, l), bs[at]->op(tb[g], l, j));
        return double(alpha[g]) * sum + double(beta[g]) * (*cs[at])(i, j);
      }, 40.0 * double(m[g] + 1));
    }
  for (T** p : {a, b, c}) CHECK(cudaFree(p));
}

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  groups<float>(handle, CUBLAS_COMPUTE_32F, false);
  groups<double>(handle, CUBLAS_COMPUTE_64F, false);
  groups<float>(handle, CUBLAS_COMPUTE_32F, true);
  groups<double>(handle, CUBLAS_COMPUTE_64F, true);
  groups<__half>(handle, CUBLAS_COMPUTE_32F, true);
  groups<__nv_bfloat16>(handle, CUBLAS_COMPUTE_32F, true);
  BLAS(cublasDestroy(handle));
  return check::done();
}
