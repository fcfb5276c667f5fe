// For doctor: calls a name that is not supported.
#include <cuda_runtime_api.h>

int main() { return cudaGraphicsUnregisterResource(nullptr) != cudaSuccess; }
