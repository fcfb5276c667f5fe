// The first lane of a warp keeps a stack in volatile shared memory, without a barrier, that all of its lanes read, as programs did before threads
// of a warp were scheduled independently. That the others see in step what one lane alone stores in a branch is not promised any more.
// needs: avx2
#include "check.h"

constexpr int kWarp = 32;

__global__ void common(const int* in, int* out, int rounds) {
  __shared__ volatile int depth[8], top[8];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (lane == 0) {
    depth[warp] = 0;
    top[warp] = in[i];
  }
  int sum = 0;
  for (int r = 0; r < rounds; ++r) {
    sum += top[warp] * (lane + 1) + depth[warp];
    if (lane == 0) {
      depth[warp] = depth[warp] + 1;
      top[warp] = top[warp] * 5 + 1;
    }
  }
  out[i] = sum;
}

int main() {
  constexpr int kBlocks = 20;
  check::Random random(11);
  std::vector<int> in(kBlocks * 256);
  for (int& value : in) value = int(random.below(1000)) - 300;
  const int* given = check::toDevice(in);
  int* out = check::deviceArray<int>(in.size());

  constexpr int kRounds = 9;
  common<<<kBlocks, 256>>>(given, out, kRounds);
  CHECK(cudaGetLastError());
  std::vector<int> wanted(in.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    unsigned top = unsigned(in[i / kWarp * kWarp]), sum = 0;
    for (unsigned r = 0; r < kRounds; ++r, top = top * 5 + 1) sum += top * unsigned(i % kWarp + 1) + r;
    wanted[i] = int(sum);
  }
  check::equal("common", check::toHost(out, in.size()), wanted);
  return check::done();
}
