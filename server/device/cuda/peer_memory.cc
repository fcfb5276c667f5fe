#include "server/device/cuda/peer_memory.h"

namespace rouse::cuda {
namespace {

constexpr CUmemAllocationHandleType kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

class PeerMapping {
 public:
  explicit PeerMapping(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~PeerMapping() {
    const std::lock_guard lock(gpu_->mutex);
    gpu_->makeCurrent();
    const Driver& driver = gpu_->driver();
    if (mapped_ != 0) (void)gpu_->unmap({address_, mapped_});
    if (bytes_ != 0) gpu_->good(driver.cuMemAddressFree(address_, bytes_), "cuMemAddressFree", nullptr);
  }
  PeerMapping(const PeerMapping&) = delete;

  CUdeviceptr address() const { return address_; }

  // Once. Locked; what has been done by an error ends with this object.
  Status map(const memory::SharedChunks& chunks) {
    gpu_->makeCurrent();
    const Driver& driver = gpu_->driver();
    const std::uint64_t bytes = chunks.places.size() * kGranuleBytes;
    if (Status status = gpu_->status(driver.cuMemAddressReserve(&address_, bytes, 0, 0, 0), "cuMemAddressReserve"); !status) return status;
    bytes_ = bytes;
    for (const memory::SharedChunks::Place& place : chunks.places) {
      CUmemGenericAllocationHandle handle = 0;
      void* const descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(chunks.fds[place.descriptor].get()));
      Status status = gpu_->status(driver.cuMemImportFromShareableHandle(&handle, descriptor, kDescriptor), "cuMemImportFromShareableHandle");
      if (!status) return status;
      status = gpu_->status(driver.cuMemMap(address_ + mapped_, kGranuleBytes, 0, handle, 0), "cuMemMap");
      gpu_->good(driver.cuMemRelease(handle), "cuMemRelease", nullptr);  // the mapping keeps it
      if (!status) return status;
      mapped_ += kGranuleBytes;
    }
    CUmemAccessDesc access{};
    access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu_->device()};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    return gpu_->status(driver.cuMemSetAccess(address_, bytes_, &access, 1), "cuMemSetAccess");
  }

 private:
  const std::shared_ptr<Gpu> gpu_;
  CUdeviceptr address_ = 0;
  std::uint64_t bytes_ = 0, mapped_ = 0;
};

Error refused(const Gpu& gpu, const std::string& what) { return {CudaError::invalidValue, gpu.name() + ": memory of another GPU: " + what}; }

}  // namespace

bool readByOthers(const Gpu& gpu) {
  const Driver& driver = gpu.driver();
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return false;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice other = 0;
    int access = 0;
    if (driver.cuDeviceGet(&other, ordinal) == CUDA_SUCCESS && other != gpu.device() &&
        driver.cuDeviceCanAccessPeer(&access, other, gpu.device()) == CUDA_SUCCESS && access != 0)
      return true;
  }
  return false;
}

Result<memory::SharedChunks> exportChunks(Gpu& gpu, const PhysicalMemory& memory, std::string device, std::span<const memory::Chunk> chunks) {
  if (!memory.shareable()) return Error{CudaError::notSupported, "no other GPU reads the memory of " + gpu.name()};
  memory::SharedChunks shared{.device = std::move(device), .places = {}, .fds = {}};
  gpu.makeCurrent();
  for (const memory::Chunk& chunk : chunks) {
    if (Status status = memory.check(chunk); !status) return status.error();
    int descriptor = -1;
    const CUresult result = gpu.driver().cuMemExportToShareableHandle(&descriptor, memory.handle(chunk), kDescriptor, 0);
    if (Status status = gpu.status(result, "cuMemExportToShareableHandle"); !status) return status.error();
    shared.places.push_back({static_cast<std::uint32_t>(shared.fds.size()), 0});
    shared.fds.emplace_back(descriptor);
  }
  return shared;
}

Result<std::vector<std::unique_ptr<memory::PeerChunk>>> importChunks(const std::shared_ptr<Gpu>& gpu, const memory::SharedChunks& chunks) {
  for (const memory::SharedChunks::Place& place : chunks.places) {
    if (place.descriptor >= chunks.fds.size())
      return refused(*gpu, "descriptor " + std::to_string(place.descriptor) + " of " + std::to_string(chunks.fds.size()));
    if (place.offset != 0) return refused(*gpu, "there is no granule at " + std::to_string(place.offset));
  }
  std::vector<std::unique_ptr<memory::PeerChunk>> imported;
  if (chunks.places.empty()) return imported;
  auto mapping = std::make_shared<PeerMapping>(gpu);
  {
    const std::lock_guard lock(gpu->mutex);
    if (Status status = mapping->map(chunks); !status) {
      Error error = status.error();
      error.message = "memory of another GPU: " + error.message;
      return error;  // the mapping outlives the lock
    }
  }
  for (std::size_t i = 0; i < chunks.places.size(); ++i)
    imported.push_back(std::make_unique<CudaPeerChunk>(mapping, mapping->address() + i * kGranuleBytes));
  return imported;
}

}  // namespace rouse::cuda
