// cudaMemGetInfo: what is freed is free again at once, through Rouse to the byte, whatever the sizes and however often.
// alone
#include <chrono>
#include <thread>

#include "check.h"

static size_t freeBytes() {
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT(free <= total);
  return free;
}

int main() {
  check::Random random(44);
  CHECK(cudaFree(nullptr));
  // What a program that ended just before had may still be on its way back.
  size_t before = freeBytes();
  for (int same = 0; same < 3;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const size_t now = freeBytes();
    same = now == before ? same + 1 : 0;
    before = now;
  }
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
    if (check::throughRouse()) EXPECT(freeBytes() <= before - given);
    while (!blocks.empty()) {
      size_t i = random.below(blocks.size());
      CHECK(cudaFree(blocks[i]));
      blocks.erase(blocks.begin() + long(i));
    }
    if (check::throughRouse()) EXPECT(freeBytes() == before);
  }
  return check::done();
}
