// Granules that another process's executor may read, and such as another has shared: mapped here, for this GPU, read only.
//
// What is mapped stays there when its owner's process ends ("will be freed when all outstanding mappings to the memory are unmapped and when
// all outstanding references to the handle (including it's shareable counterparts) are also released", CUDA Driver API, cuMemRelease), so
// it must not be kept long: the successor of an executor that has died takes what is free.
#pragma once

#include <memory>
#include <vector>

#include "server/device/cuda/physical_memory.h"

namespace rouse::cuda {

struct CudaPeerChunk final : memory::PeerChunk {
  CudaPeerChunk(std::shared_ptr<void> mapping, CUdeviceptr address) : mapping(std::move(mapping)), address(address) {}
  const std::shared_ptr<void> mapping;  // of all that were imported with it
  const CUdeviceptr address;
};

// Whether another GPU of the node could read this one's memory.
bool readByOthers(const Gpu& gpu);

// A descriptor for each allocation that they are of, all of which it stands for. Locked.
Result<memory::SharedChunks> exportChunks(Gpu& gpu, const PhysicalMemory& memory, std::string device, std::span<const memory::Chunk> chunks);
// One range of addresses, and one call that grants access to it. Takes the lock, as giving them up does.
Result<std::vector<std::unique_ptr<memory::PeerChunk>>> importChunks(const std::shared_ptr<Gpu>& gpu, const memory::SharedChunks& chunks);

}  // namespace rouse::cuda
