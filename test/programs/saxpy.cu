// y = a x + y on the device, bit for bit against fmaf on the host; a grid that does not divide the length; a grid-stride loop.
#include "check.h"

__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

__global__ void saxpyStrided(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = fmaf(a, x[i], y[i]);
}

int main() {
  const int n = 100003;
  const float a = 1.7f;
  check::Random random(1);
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = float(random.uniform(-100, 100));
    y[i] = float(random.uniform(-100, 100));
  }
  float *dx, *dy;
  CHECK(cudaMalloc(&dx, n * sizeof(float)));
  CHECK(cudaMalloc(&dy, n * sizeof(float)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  saxpy<<<(n + 255) / 256, 256>>>(n, a, dx, dy);
  CHECK(cudaGetLastError());
  saxpyStrided<<<7, 96>>>(n, -0.3f, dx, dy);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());

  std::vector<float> got(n), wanted(n);
  CHECK(cudaMemcpy(got.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) wanted[i] = std::fmaf(-0.3f, x[i], std::fmaf(a, x[i], y[i]));
  check::equal("y", got, wanted);
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dy));
  return check::done();
}
