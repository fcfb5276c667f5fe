// Uses cuSOLVER: functions that the pool serves, and one that it does not.
#include <cusolverDn.h>

int main() {
  cusolverDnHandle_t handle;
  cusolverDnCreate(&handle);
  cusolverDnSpotrf(handle, CUBLAS_FILL_MODE_LOWER, 1, nullptr, 1, nullptr, 0, nullptr);
  cusolverDnXgesvdr(handle, nullptr, 'N', 'N', 1, 1, 1, 0, 0, CUDA_R_32F, nullptr, 1, CUDA_R_32F, nullptr, CUDA_R_32F, nullptr, 1, CUDA_R_32F, nullptr, 1, CUDA_R_32F,
                    nullptr, 0, nullptr, 0, nullptr);
  return cusolverDnDestroy(handle);
}
