// For doctor: calls what is supported only.
__global__ void fill(int* out) { *out = 42; }

int main() {
  int *device, host = 0;
  cudaMalloc(&device, sizeof *device);
  fill<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  return host != 42;
}
