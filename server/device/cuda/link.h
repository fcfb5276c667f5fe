// How this GPU hangs on its host and on the node's other GPUs. Described only: nothing here opens access to a peer.
#pragma once

#include "memory/link.h"
#include "server/device/cuda/physical_memory.h"

namespace rouse::cuda {

// The node's other GPUs, as the CUDA driver says.
std::vector<memory::LinkPeer> describePeers(const Gpu& gpu);

// Copies to and from memory of the GPU that no function has yet, as functions do: pinned memory, blocks queued one
// behind the other. Fills in the curves. memory::kNotPinned when the host memory for it cannot be had. Blocks for 0.15
// s and the time that the slowest block takes. Locked.
Status measureLink(const std::shared_ptr<Gpu>& gpu, const PhysicalMemory& memory, memory::LinkDescription& link);

}  // namespace rouse::cuda
