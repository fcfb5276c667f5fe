// Monte Carlo with own generators (xorshift and PCG) kept in device memory between launches; counts are bit exact.
#include "check.h"

struct Pcg {
  unsigned long long state, increment;
  __host__ __device__ unsigned next() {
    unsigned long long old = state;
    state = old * 6364136223846793005ull + increment;
    unsigned shifted = unsigned(((old >> 18) ^ old) >> 27), rotation = unsigned(old >> 59);
    return shifted >> rotation | shifted << ((32 - rotation) & 31);
  }
};

__host__ __device__ inline unsigned long long inside(Pcg& generator, int samples) {
  unsigned long long hits = 0;
  for (int i = 0; i < samples; ++i) {
    unsigned long long x = generator.next() >> 1, y = generator.next() >> 1;
    hits += x * x + y * y < 1ull << 62;
  }
  return hits;
}

__global__ void start(Pcg* generators, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) generators[i] = {i * 0x9e3779b97f4a7c15ull + 1, unsigned(i) * 2ull + 1};
}

__global__ void sample(Pcg* generators, int n, int samples, unsigned long long* hits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Pcg mine = generators[i];
  unsigned long long found = inside(mine, samples);
  generators[i] = mine;
  atomicAdd(hits, found);
}

int main() {
  const int n = 1000, samples = 100, rounds = 3;
  Pcg* generators = check::deviceArray<Pcg>(n);
  auto* hits = check::deviceArray<unsigned long long>(1);
  CHECK(cudaMemset(hits, 0, sizeof *hits));
  start<<<(n + 127) / 128, 128>>>(generators, n);
  for (int r = 0; r < rounds; ++r) sample<<<(n + 127) / 128, 128>>>(generators, n, samples, hits);
  CHECK(cudaGetLastError());
  std::vector<Pcg> reference(n);
  unsigned long long wanted = 0;
  for (int i = 0; i < n; ++i) {
    reference[i] = {i * 0x9e3779b97f4a7c15ull + 1, unsigned(i) * 2ull + 1};
    for (int r = 0; r < rounds; ++r) wanted += inside(reference[i], samples);
  }
  unsigned long long got = check::toHost(hits, 1)[0];
  EXPECT(got == wanted);
  check::equal("generators", check::toHost(generators, n), reference);
  double pi = 4.0 * double(got) / (double(n) * samples * rounds);
  EXPECT(pi > 3.12 && pi < 3.16);
  return check::done();
}
