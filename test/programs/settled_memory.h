// Free memory of the device for programs that count it: what a program that ended just before had may still be on its way back.
#pragma once

#include <chrono>
#include <thread>

#include "check.h"

namespace check {

inline std::size_t freeBytes() {
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT(free <= total);
  return free;
}

// What has stayed for a tenth of a second, or what there is after three: natively others may take and give all the time.
inline std::size_t settledFreeBytes() {
  std::size_t before = freeBytes();
  for (int same = 0, looks = 0; same < 3 && looks < 100; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const std::size_t now = freeBytes();
    same = now == before ? same + 1 : 0;
    before = now;
  }
  return before;
}

}  // namespace check
