// Warp shuffles of every kind (down, up, xor, indexed, with a width) in reductions, scans and broadcasts of int, float,
// double and 64-bit values; a block reduction made of them.
#include "check.h"

template <class T>
__device__ T warpSum(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

template <class T>
__global__ void blockSum(const T* data, T* out) {
  __shared__ T partial[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T sum = warpSum(data[blockIdx.x * blockDim.x + threadIdx.x]);
  if (lane == 0) partial[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warpSum(lane < int(blockDim.x) / 32 ? partial[lane] : T(0));
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

__global__ void lanes(int* up, int* down, int* exchanged, int* indexed, int* narrow, unsigned long long* wide) {
  int t = threadIdx.x, value = 100 + t * 7;
  up[t] = __shfl_up_sync(0xffffffffu, value, 3);
  down[t] = __shfl_down_sync(0xffffffffu, value, 5);
  exchanged[t] = __shfl_xor_sync(0xffffffffu, value, 9);
  indexed[t] = __shfl_sync(0xffffffffu, value, (t * 5) % 32);
  narrow[t] = __shfl_down_sync(0xffffffffu, value, 2, 8);
  wide[t] = __shfl_xor_sync(0xffffffffu, 0x100000001ull * unsigned(t) << 4, 1);
}

__global__ void warpScan(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, sum = in[i];
  for (int offset = 1; offset < 32; offset *= 2) {
    int below = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += below;
  }
  out[i] = sum;
}

template <class T>
void blocks(const char* name) {
  const int threads = 192, count = 40;
  std::vector<T> data(threads * count), wanted(count, T(0));
  check::Random random(3);
  // Small whole numbers: every order of summation is exact.
  for (std::size_t i = 0; i < data.size(); ++i) wanted[i / threads] += data[i] = T(int(random.below(2000)) - 1000);
  T *in = check::toDevice(data), *out = check::deviceArray<T>(count);
  blockSum<<<count, threads>>>(in, out);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(out, count), wanted);
}

int main() {
  blocks<int>("int sums");
  blocks<float>("float sums");
  blocks<double>("double sums");
  blocks<long long>("long long sums");

  int* r = check::deviceArray<int>(5 * 32);
  unsigned long long* wide = check::deviceArray<unsigned long long>(32);
  lanes<<<1, 32>>>(r, r + 32, r + 64, r + 96, r + 128, wide);
  CHECK(cudaGetLastError());
  std::vector<int> got = check::toHost(r, 160), wanted(160);
  std::vector<unsigned long long> wantedWide(32);
  for (int t = 0; t < 32; ++t) {
    auto value = [](int lane) { return 100 + lane * 7; };
    wanted[t] = value(t < 3 ? t : t - 3);
    wanted[32 + t] = value(t + 5 > 31 ? t : t + 5);
    wanted[64 + t] = value(t ^ 9);
    wanted[96 + t] = value(t * 5 % 32);
    wanted[128 + t] = value(t % 8 + 2 > 7 ? t : t + 2);
    wantedWide[t] = 0x100000001ull * unsigned(t ^ 1) << 4;
  }
  check::equal("lanes", got, wanted);
  check::equal("wide", check::toHost(wide, 32), wantedWide);

  std::vector<int> in(256), scanned(256);
  for (int i = 0; i < 256; ++i) {
    in[i] = i * 37 % 101 - 50;
    scanned[i] = in[i] + (i % 32 ? scanned[i - 1] : 0);
  }
  int *din = check::toDevice(in), *dout = check::deviceArray<int>(256);
  warpScan<<<2, 128>>>(din, dout);
  CHECK(cudaGetLastError());
  check::equal("warp scan", check::toHost(dout, 256), scanned);
  return check::done();
}
