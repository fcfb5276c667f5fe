// Uses cuBLAS: one function that the pool serves, and one that it does not.
#include <cublasXt.h>
#include <cublas_v2.h>

int main() {
  cublasHandle_t handle;
  float *a = nullptr, one = 1;
  cudaMalloc(&a, 1024);
  cublasCreate(&handle);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &one, a, 2);
  cublasXtHandle_t several;
  cublasXtCreate(&several);
  return cublasDestroy(handle);
}
