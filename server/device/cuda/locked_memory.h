// The limit on memory that a process may lock (RLIMIT_MEMLOCK), for messages.
//
// It is asked about only once a driver has refused: NVIDIA's pins pages by itself and does not count them against the
// limit, so a process with a low one is often served, and refusing it beforehand would be wrong. Containers and other
// drivers may differ.
#pragma once

#include <cstdint>
#include <string>

namespace rouse::cuda {

struct LockedMemoryLimit {
  std::uint64_t bytes = 0;  // ~0: unlimited
  bool binding = true;      // false: the process may lock more all the same (CAP_IPC_LOCK)
};

// Of this process, now.
LockedMemoryLimit lockedMemoryLimit();
// As far as the process itself may (to the hard limit).
void raiseLockedMemoryLimit();

// What to do about `bytes` that could not be pinned under this limit: "the limit on locked memory is …: …".
std::string adviceOnPinning(std::uint64_t bytes, const LockedMemoryLimit& limit);

}  // namespace rouse::cuda
