// All-pairs gravity with positions tiled through shared memory, rsqrt, float4; against double precision on the host.
#include "check.h"

constexpr int kThreads = 64;

__global__ void accelerate(const float4* bodies, float3* out, int n) {
  __shared__ float4 tile[kThreads];
  int i = blockIdx.x * kThreads + threadIdx.x;
  float4 self = bodies[i];
  float3 sum = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += kThreads) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < kThreads; ++j) {
      float dx = tile[j].x - self.x, dy = tile[j].y - self.y, dz = tile[j].z - self.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      float scale = tile[j].w * inverse * inverse * inverse;
      sum.x += dx * scale;
      sum.y += dy * scale;
      sum.z += dz * scale;
    }
    __syncthreads();
  }
  out[i] = sum;
}

int main() {
  const int n = 512;
  check::Random random(15);
  std::vector<float4> bodies(n);
  for (float4& b : bodies)
    b = make_float4(float(random.uniform(-1, 1)), float(random.uniform(-1, 1)), float(random.uniform(-1, 1)), float(random.uniform(0.1, 1)));
  float4* device = check::toDevice(bodies);
  float3* out = check::deviceArray<float3>(n);
  accelerate<<<n / kThreads, kThreads>>>(device, out, n);
  CHECK(cudaGetLastError());
  std::vector<float3> got = check::toHost(out, n);
  for (int i = 0; i < n; ++i) {
    double sum[3] = {0, 0, 0}, magnitude = 0;
    for (int j = 0; j < n; ++j) {
      double d[3] = {double(bodies[j].x) - bodies[i].x, double(bodies[j].y) - bodies[i].y, double(bodies[j].z) - bodies[i].z};
      double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01, scale = bodies[j].w / (r2 * std::sqrt(r2));
      for (int k = 0; k < 3; ++k) sum[k] += d[k] * scale;
      magnitude += scale * std::sqrt(r2);
    }
    // Summing n terms in float loses at most n * 2^-24 of the sum of magnitudes; each term a few ulp more.
    double bound = (n + 16) * 6e-8 * magnitude;
    if (!check::near("ax", i, got[i].x, sum[0], 0, bound) || !check::near("ay", i, got[i].y, sum[1], 0, bound) ||
        !check::near("az", i, got[i].z, sum[2], 0, bound))
      break;
  }
  return check::done();
}
