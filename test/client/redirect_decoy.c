// A libcudart.so.13 that is not the pool's.
int cudaGetLastError(void) { return 12345; }
