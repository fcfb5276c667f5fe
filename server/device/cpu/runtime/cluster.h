// A cluster of blocks (CUDA C++ Programming Guide, "Thread Block Clusters"): memory that its blocks share, and the barrier of all its threads. One worker runs all blocks of a
// cluster, so everything here belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/device/cpu/abi.h"

namespace rouse::cpu {

class Cluster {
 public:
  Cluster() = default;
  ~Cluster();
  Cluster(const Cluster&) = delete;

  // For so many blocks of so many threads, with so much shared memory each (SharedMemory). False: no memory.
  bool begin(std::uint32_t blocks, std::uint32_t threads, std::uint32_t sharedBytes, std::uint32_t alignment = kLeastSharedAlignment);

  // Of the first block; each further one's lies kClusterStride (abi.h) behind.
  std::byte* shared() const { return shared_; }

  // barrier.cluster (PTX ISA): the phase that the thread has arrived in. It is over when the number of the phase is another one.
  std::uint64_t arrive();
  std::uint64_t phase() const { return phase_; }
  void threadExited();

  void blockBegins() { ++begun_; }
  // A block has had a turn, in which some of its threads ran, or all waited for the cluster's barrier or for one another. False: all of the cluster do, and nobody is left to let them go.
  bool endTurn(bool ran);

 private:
  void completeIfFull();
  bool protect(std::uint32_t blocks);

  std::byte* region_ = nullptr;
  std::byte* shared_ = nullptr;
  std::uint32_t usable_ = 0;  // blocks whose memory may be accessed
  std::uint32_t blocks_ = 0, begun_ = 0, idleTurns_ = 0;
  std::uint64_t live_ = 0, arrived_ = 0;  // threads
  std::uint64_t phase_ = 0;
};

}  // namespace rouse::cpu
