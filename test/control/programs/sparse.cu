// Uses cuSPARSE: functions that the pool serves, and one that it does not.
#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>

int main() {
  cusparseHandle_t handle;
  cusparseCreate(&handle);
  const float one = 1;
  cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, nullptr, nullptr, &one, nullptr, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
  cusparseColorInfo_t colors;
  cusparseCreateColorInfo(&colors);
  return cusparseDestroy(handle);
}
