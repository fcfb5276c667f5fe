// cudaMemGetInfo: what is freed is free again at once, through Rouse to the byte, whatever the sizes and however often.
// alone
#include "settled_memory.h"

int main() {
  check::Random random(44);
  CHECK(cudaFree(nullptr));
  const size_t before = check::settledFreeBytes();
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    size_t given = 0;
    while (blocks.size() < 12) {
      size_t bytes = size_t(1) << (random.below(26) + 2);
      void* block = nullptr;
      if (cudaMalloc(&block, bytes) != cudaSuccess) break;
      if (blocks.size() % 3 == 0) CHECK(cudaMemsetAsync(block, round, bytes));
      blocks.push_back(block);
      given += bytes;
    }
    // CUDA hands out and takes back its own pieces.
    if (check::throughRouse()) EXPECT(check::freeBytes() <= before - given);
    while (!blocks.empty()) {
      size_t i = random.below(blocks.size());
      CHECK(cudaFree(blocks[i]));
      blocks.erase(blocks.begin() + long(i));
    }
    if (check::throughRouse()) EXPECT(check::freeBytes() == before);
  }
  return check::done();
}
