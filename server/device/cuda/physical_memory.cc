#include "server/device/cuda/physical_memory.h"

#include <algorithm>

#include "memory/start_failure.h"

namespace rouse::cuda {
namespace {

// What stays free for the driver: code of modules, local memory, printf and heap, libraries' workspaces. Local memory is there for all threads that
// the GPU can have at once: an H100's 270,336 take 2.2 GB for a stack of 8 KiB each.
constexpr std::uint64_t kHeadRoomShare = 16;
constexpr std::uint64_t kMostHeadRoom = std::uint64_t{4} << 30;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Result<std::unique_ptr<PhysicalMemory>> PhysicalMemory::create(std::shared_ptr<Gpu> gpu, std::uint64_t atMost, std::uint64_t absent,
                                                                bool shareable) {
  const Driver& driver = gpu->driver();
  std::unique_ptr<PhysicalMemory> memory(new PhysicalMemory(gpu));

  memory->shareable_ = shareable && gpu->attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) != 0;
  const CUmemAllocationProp property = memory->property();
  std::size_t granularity = 0;
  Status status =
      gpu->status(driver.cuMemGetAllocationGranularity(&granularity, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                  "cuMemGetAllocationGranularity");
  if (!status) return status.error();
  if (granularity == 0 || kGranuleBytes % granularity != 0)
    return Error{CudaError::notSupported, gpu->name() + " maps memory in pieces of " + std::to_string(granularity) +
                                              " bytes, Rouse in pieces of " + std::to_string(kGranuleBytes)};

  std::size_t free = 0, total = 0;
  if (status = gpu->status(driver.cuMemGetInfo(&free, &total), "cuMemGetInfo"); !status) return status.error();
  const std::uint64_t headRoom = std::min<std::uint64_t>(total / kHeadRoomShare, kMostHeadRoom);
  const std::uint64_t possible = roundDown(free - std::min<std::uint64_t>(free, headRoom), kGranuleBytes);
  const std::uint64_t wanted = atMost == 0 ? possible : roundDown(atMost, kGranuleBytes);
  absent = std::min(roundDown(absent, kGranuleBytes), wanted);
  if (wanted == 0 || wanted - absent > possible) {
    const std::string needed = wanted == 0 ? mebibytes(kGranuleBytes) : mebibytes(wanted);
    return Error{
        memory::kGpuFull,
        gpu->name() + " is too full: " + mebibytes(free) + " of " + mebibytes(total) + " are free, needed are " +
            needed + " and " + mebibytes(headRoom) +
            " for the driver; other processes hold the rest (nvidia-smi shows them): stop them, or ask for less "
            "memory"};
  }

  const auto count = static_cast<std::uint32_t>(wanted / kGranuleBytes);
  memory->handles_.reserve(count);
  for (std::uint32_t id = 0; id < count; ++id) {
    if (id < absent / kGranuleBytes) {
      memory->handles_.push_back(kNone);
      memory->chunks_.push_back({id, kGranuleBytes});
      continue;
    }
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = driver.cuMemCreate(&handle, kGranuleBytes, &property, 0);
    gpu->allocations.fetch_add(1, std::memory_order_relaxed);
    if (result != CUDA_SUCCESS) {
      // Somebody else was faster: what there is will do, if it was not asked for by size.
      if (result == CUDA_ERROR_OUT_OF_MEMORY && atMost == 0 && id >= count / 2) break;
      Error error = gpu->status(result, "cuMemCreate").error();
      error.message =
          gpu->name() + ", granule " + std::to_string(id) + " of " + std::to_string(count) + ": " + error.message;
      return error;
    }
    memory->handles_.push_back(handle);
    memory->chunks_.push_back({id, kGranuleBytes});
  }
  memory->dirty_.assign(memory->chunks_.size(), true);
  return memory;
}

PhysicalMemory::~PhysicalMemory() {
  gpu_->makeCurrent();
  for (const CUmemGenericAllocationHandle handle : handles_)
    if (handle != kNone) gpu_->driver().cuMemRelease(handle);
}

CUmemAllocationProp PhysicalMemory::property() const {
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu_->device()};
  if (shareable_) property.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return property;
}

// The driver frees it once nothing maps it ("Virtual Memory Management", cuMemRelease), which is so.
Status PhysicalMemory::withdraw(memory::Chunk chunk) {
  if (Status status = check(chunk); !status) return status;
  gpu_->makeCurrent();
  if (Status status = gpu_->status(gpu_->driver().cuMemRelease(handles_[chunk.id]), "cuMemRelease"); !status) return status;
  handles_[chunk.id] = kNone;
  return {};
}

Status PhysicalMemory::supply(memory::Chunk chunk) {
  if (Status status = known(chunk); !status) return status;
  if (handles_[chunk.id] != kNone)
    return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " has memory"};
  gpu_->makeCurrent();
  const CUmemAllocationProp property = this->property();
  CUmemGenericAllocationHandle handle = kNone;
  const CUresult result = gpu_->driver().cuMemCreate(&handle, kGranuleBytes, &property, 0);
  gpu_->allocations.fetch_add(1, std::memory_order_relaxed);
  if (Status status = gpu_->status(result, "cuMemCreate"); !status) return status;
  handles_[chunk.id] = handle;
  dirty_[chunk.id] = true;
  return {};
}

Status PhysicalMemory::check(memory::Chunk chunk) const {
  if (Status status = known(chunk); !status) return status;
  if (handles_[chunk.id] != kNone) return {};
  return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " has given its memory up"};
}

Status PhysicalMemory::known(memory::Chunk chunk) const {
  if (chunk.id < chunks_.size() && chunk.bytes == kGranuleBytes) return {};
  return Error{CudaError::invalidValue, gpu_->name() + ": chunk " + std::to_string(chunk.id) + " of " +
                                            std::to_string(chunk.bytes) + " bytes; there are " +
                                            std::to_string(chunks_.size()) + " of " + std::to_string(kGranuleBytes)};
}

}  // namespace rouse::cuda
