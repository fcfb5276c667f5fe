// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// cuBLAS's handles: what is set in them, streams and events around calls, transfers of vectors and matrices, and what cuBLAS answers when
// an argument is wrong.
#include <limits>
#include <thread>

#include "blas.h"

using namespace blas;

__global__ void scale(float* x, int n, float factor) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= factor;
}

void settings(cublasHandle_t handle) {
  int version = 0;
  BLAS(cublasGetVersion(handle, &version));
  EXPECT(version >= 130000 && version < 140000);
  int major = 0;
  BLAS(cublasGetProperty(MAJOR_VERSION, &major));
  EXPECT(major == 13);
  cublasPointerMode_t pointers;
  BLAS(cublasGetPointerMode(handle, &pointers));
  EXPECT(pointers == CUBLAS_POINTER_MODE_HOST);
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  BLAS(cublasGetPointerMode(handle, &pointers));
  EXPECT(pointers == CUBLAS_POINTER_MODE_DEVICE);
  BLAS(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSetPointerMode(handle, cublasPointerMode_t(7)));
  cublasMath_t math;
  BLAS(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  BLAS(cublasGetMathMode(handle, &math));
  EXPECT(math == CUBLAS_TF32_TENSOR_OP_MATH);
  BLAS(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  cublasAtomicsMode_t atomics;
  BLAS(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED));
  BLAS(cublasGetAtomicsMode(handle, &atomics));
  EXPECT(atomics == CUBLAS_ATOMICS_ALLOWED);
  cudaStream_t stream = nullptr, got = nullptr;
  CHECK(cudaStreamCreate(&stream));
  BLAS(cublasSetStream(handle, stream));
  BLAS(cublasGetStream(handle, &got));
  EXPECT(got == stream);
  BLAS(cublasSetStream(handle, nullptr));
  CHECK(cudaStreamDestroy(stream));
  EXPECT(std::string(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)) == "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT(std::string(cublasGetStatusString(CUBLAS_STATUS_SUCCESS)).size() > 5);
}

void wrongHandles() {
  cublasHandle_t handle = nullptr, second = nullptr;
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasCreate(nullptr));
  BLAS(cublasCreate(&handle));
  BLAS(cublasDestroy(handle));
  BLAS(cublasCreate(&second));
  // Null only: what NVIDIA's library does with a destroyed handle is undefined, and only ours can be asked (test/cublas).
  EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasSetStream(nullptr, nullptr));
  EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr, 1));
  EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasDestroy(nullptr));
  BLAS(cublasDestroy(second));
}

void wrongArguments(cublasHandle_t handle) {
  check::Random r(31);
  Matrix<float> a(r, 8, 8), b(r, 8, 8), c(r, 8, 8);
  const float one = 1, zero = 0;
  const auto gemm = [&](cublasOperation_t ta, int m, int n, int k, int lda, int ldb, int ldc) {
    return cublasSgemm(handle, ta, CUBLAS_OP_N, m, n, k, &one, a.device, lda, b.device, ldb, &zero, c.device, ldc);
  };
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, -1, 8, 8, 8, 8, 8));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 8, -1, 8, 8, 8, 8));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 8, 8, -1, 8, 8, 8));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 8, 8, 8, 7, 8, 8));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 8, 8, 8, 8, 7, 8));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_N, 8, 8, 8, 8, 8, 7));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(CUBLAS_OP_T, 8, 8, 4, 3, 8, 8));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, gemm(cublasOperation_t(99), 8, 8, 8, 8, 8, 8));
  EXPECT_STATUS(CUBLAS_STATUS_SUCCESS, gemm(CUBLAS_OP_N, 0, 8, 8, 8, 8, 8));
  // "incx, incy = 0", says the documentation; NVIDIA's library of CUDA 13 computes something.
  if (check::throughRouse())
    EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSgemv(handle, CUBLAS_OP_N, 8, 8, &one, a.device, 8, b.device, 0, &zero, c.device, 1));
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
                cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a.device, 8, 0, b.device, 8, 0, &zero, c.device, 8, 64, -1));
  EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a.device, CUDA_R_16F, 8, b.device, CUDA_R_16BF, 8,
                                                          &zero, c.device, CUDA_R_32F, 8, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CHECK(cudaDeviceSynchronize());
  c.compare("untouched", [&](int i, int j) { return c(i, j); }, 0);
}

// Work before, between and behind calls, on a stream and across streams.
void order(cublasHandle_t handle) {
  check::Random r(32);
  const int n = 64;
  Matrix<float> a(r, n, n), b(r, n, n), c(r, n, n);
  const float one = 1, zero = 0;
  cudaStream_t first, second;
  cudaEvent_t event;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  // A copy from pageable memory may still be on its way when it returns, and these streams do not wait for the default one.
  CHECK(cudaDeviceSynchronize());
  BLAS(cublasSetStream(handle, first));
  scale<<<1, 128, 0, first>>>(a.device, n * n, 2);
  BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, b.device, n, &zero, c.device, n));
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(second, event));
  scale<<<1, 128, 0, second>>>(c.device, n * n, 0.5f);
  BLAS(cublasSetStream(handle, second));
  BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.device, n, b.device, n, &one, c.device, n));
  CHECK(cudaStreamSynchronize(second));
  c.compare("in order", [&](int i, int j) {
    Z s = 0;
    for (int l = 0; l < n; ++l) s += 3.0 * a(i, l) * b(l, j);
    return s;
  }, 1000);
  // On threads of the program, each with a handle and a stream of its own.
  std::vector<std::thread> threads;
  std::vector<int> wrong(3);
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      cublasHandle_t own;
      cudaStream_t stream;
      BLAS(cublasCreate(&own));
      CHECK(cudaStreamCreate(&stream));
      BLAS(cublasSetStream(own, stream));
      const int size = 20 + t;
      std::vector<double> x(size, t + 1.0), y(size, 2.0);
      double *dx = check::toDevice(x), *dy = check::toDevice(y), result = 0;
      for (int i = 0; i < 50; ++i) {
        BLAS(cublasDdot(own, size, dx, 1, dy, 1, &result));
        wrong[t] += result != 2.0 * (t + 1) * size;
      }
      CHECK(cudaStreamDestroy(stream));
      BLAS(cublasDestroy(own));
      CHECK(cudaFree(dx));
      CHECK(cudaFree(dy));
    });
  for (auto& t : threads) t.join();
  EXPECT(wrong == std::vector<int>(3));
  BLAS(cublasSetStream(handle, nullptr));
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaEventDestroy(event));
}

void transfers() {
  const int rows = 5, columns = 4;
  std::vector<float> host(rows * columns), back(rows * columns, -1);
  for (int i = 0; i < rows * columns; ++i) host[i] = float(i);
  float* device = check::deviceArray<float>(7 * columns);
  BLAS(cublasSetMatrix(rows, columns, sizeof(float), host.data(), rows, device, 7));
  BLAS(cublasGetMatrix(rows, columns, sizeof(float), device, 7, back.data(), rows));
  check::equal("matrix", back, host);
  std::vector<float> strided(10, -1);
  BLAS(cublasSetVector(5, sizeof(float), host.data(), 2, device, 3));
  BLAS(cublasGetVector(5, sizeof(float), device, 3, strided.data(), 2));
  for (int i = 0; i < 5; ++i) EXPECT(strided[2 * i] == host[2 * i]);
  EXPECT(strided[1] == -1);
  EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSetVector(5, sizeof(float), host.data(), 0, device, 1));
  EXPECT_STATUS(CUBLAS_STATUS_MAPPING_ERROR, cublasSetMatrix(5, 5, sizeof(float), host.data(), 4, device, 5));
  CHECK(cudaFree(device));
}

void workspace(cublasHandle_t handle) {
  check::Random r(33);
  Matrix<float> a(r, 32, 32), b(r, 32, 32), c(r, 32, 32);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 4 << 20));
  BLAS(cublasSetWorkspace(handle, memory, 4 << 20));
  const float one = 1, zero = 0;
  BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 32, 32, 32, &one, a.device, 32, b.device, 32, &zero, c.device, 32));
  c.compare("own workspace", [&](int i, int j) {
    Z s = 0;
    for (int l = 0; l < 32; ++l) s += a(i, l) * b(l, j);
    return s;
  }, 100);
  BLAS(cublasSetWorkspace(handle, nullptr, 0));
  CHECK(cudaFree(memory));
}

int main() {
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  settings(handle);
  wrongHandles();
  wrongArguments(handle);
  order(handle);
  transfers();
  workspace(handle);
  BLAS(cublasDestroy(handle));
  return check::done();
}
