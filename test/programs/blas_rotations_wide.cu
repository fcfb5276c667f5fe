// nvcc: -lcublas -lcublasLt
// library: libcublas.so.13
// blas_rotations with the functions whose sizes and increments have 64 bits.
#define BLAS_SUFFIX _64
#include "blas_rotations.cu"
