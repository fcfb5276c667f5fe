// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// faults
// expect-stdout: operand: cudaErrorIllegalAddress, then CUBLAS_STATUS_EXECUTION_FAILED
// expect-stdout: again
// expect-stdout: array: cudaErrorIllegalAddress
// expect-stdout: again
// A call of cuBLAS with an address that is not the program's: an error of the program, found at the next synchronisation, also where the
// address lies in an array on the device; after a reset everything works again.
#include <cstdlib>

#include "blas.h"

using namespace blas;

float* const nowhere = reinterpret_cast<float*>(0x10000);

void works() {
  check::Random r(61);
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  Matrix<float> a(r, 8, 8), b(r, 8, 8), c(r, 8, 8);
  const float one = 1, zero = 0;
  BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, a.device, 8, b.device, 8, &zero, c.device, 8));
  c.compare("again", [&](int i, int j) {
    Z s = 0;
    for (int l = 0; l < 8; ++l) s += a(i, l) * b(l, j);
    return s;
  }, 50);
  BLAS(cublasDestroy(handle));
  if (check::failures == 0) std::printf("again\n");
}

void operand() {
  const float one = 1, zero = 0;
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  float* memory = check::deviceArray<float>(1 << 20);
  BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, nowhere, 64, memory, 64, &zero, memory, 64));
  const cudaError_t error = cudaDeviceSynchronize();
  const cublasStatus_t status = cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, memory, 64, memory, 64, &zero, memory, 64);
  std::printf("operand: %s, then %s\n", cudaGetErrorName(error), cublasGetStatusName(status));
  (void)cublasDestroy(handle);
}

void array() {
  const float one = 1, zero = 0;
  cublasHandle_t handle;
  BLAS(cublasCreate(&handle));
  float* memory = check::deviceArray<float>(1 << 20);
  const float** as = check::toDevice(std::vector<const float*>{memory, memory});
  float** cs = check::toDevice(std::vector<float*>{memory, nowhere});
  BLAS(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 64, 64, 64, &one, as, 64, as, 64, &zero, cs, 64, 2));
  std::printf("array: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  (void)cublasDestroy(handle);
}

int main(int argc, char** argv) {
  struct Part {
    const char* name;
    void (*run)();
  };
  const Part parts[] = {{"operand", operand}, {"first", works}, {"array", array}, {"second", works}};
  for (const Part& part : parts) {
    if (argc > 1) {
      if (std::strcmp(argv[1], part.name) == 0) part.run();
      continue;
    }
    if (check::onCpuDevice()) {
      part.run();
      if (part.run != works) CHECK(cudaDeviceReset());
      continue;
    }
    // "This leaves the process in an inconsistent state ... To continue using CUDA, the process must be terminated and relaunched"
    // (cudaErrorIllegalAddress): NVIDIA's library makes no handle again, whatever is reset.
    std::fflush(stdout);
    EXPECT(std::system((std::string("'") + argv[0] + "' " + part.name).c_str()) == 0);
  }
  return check::failures == 0 ? 0 : 1;
}
