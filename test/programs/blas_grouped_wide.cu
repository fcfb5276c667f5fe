// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// blas_grouped with the functions whose sizes have 64 bits.
#define BLAS_SUFFIX _64
#include "blas_grouped.cu"
