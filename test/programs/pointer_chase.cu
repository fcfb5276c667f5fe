// What looks like waiting and is not: walks along lists through volatile memory, and blocks that answer each other for a long time. Right, and in time that has to
// do with what is done.
#include <chrono>

#include "check.h"

constexpr int kLinks = 60000, kRounds = 5000;

__global__ void walk(const volatile int* next, int* links) {
  int at = 1, count = 0;
  while (at != 0) {
    at = next[at];
    ++count;
  }
  *links = count;
}

__global__ void popAll(int* top, const volatile int* next, int* popped) {
  int count = 0;
  for (int at = *static_cast<volatile int*>(top); at != 0; at = *static_cast<volatile int*>(top)) {
    if (atomicCAS(top, at, next[at]) == at) ++count;
  }
  *popped = count;
}

__global__ void answer(volatile int* turn, int* sum) {
  for (int round = 0; round < kRounds; ++round) {
    while (*turn != 2 * round + static_cast<int>(blockIdx.x)) {
    }
    *sum += round;
    __threadfence();
    *turn = 2 * round + static_cast<int>(blockIdx.x) + 1;
  }
}

template <class Body>
void mustTake(double most, Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  CHECK(cudaDeviceSynchronize());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (seconds > most) printf("%f s\n", seconds);
  EXPECT(seconds <= most);
}

int main() {
  int *next = nullptr, *words = nullptr;
  CHECK(cudaMallocManaged(&next, sizeof(int) * (kLinks + 1)));
  CHECK(cudaMallocManaged(&words, sizeof(int) * 4));
  // Through all, in no order that a processor foresees.
  for (int i = 1, at = 1; i <= kLinks; ++i) {
    const int to = i == kLinks ? 0 : static_cast<int>(1 + (at - 1 + 12347LL) % kLinks);
    next[at] = to;
    at = to;
  }
  walk<<<1, 1>>>(next, words);
  CHECK(cudaDeviceSynchronize());  // compiled
  EXPECT(words[0] == kLinks);
  mustTake(1, [&] { walk<<<1, 1>>>(next, words); });
  EXPECT(words[0] == kLinks);

  words[1] = 1;
  popAll<<<1, 1>>>(&words[1], next, words);
  CHECK(cudaDeviceSynchronize());
  words[1] = 1;
  mustTake(1, [&] { popAll<<<1, 1>>>(&words[1], next, words); });
  EXPECT(words[0] == kLinks && words[1] == 0);

  words[2] = words[3] = 0;
  answer<<<2, 1>>>(&words[2], &words[3]);
  CHECK(cudaDeviceSynchronize());
  EXPECT(words[2] == 2 * kRounds && words[3] == kRounds * (kRounds - 1));
  return check::done();
}
