#include "server/device/cuda/peer_memory.h"

#include <map>
#include <numeric>
#include <utility>

namespace rouse::cuda {
namespace {

constexpr CUmemAllocationHandleType kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// What descriptors stand for, each mapped whole, one behind the other.
class PeerMapping {
 public:
  explicit PeerMapping(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~PeerMapping() {
    const std::lock_guard lock(gpu_->mutex);
    gpu_->makeCurrent();
    if (!mapped_.empty()) (void)gpu_->unmap(mapped_);
    if (bytes_ != 0) gpu_->good(gpu_->driver().cuMemAddressFree(address_, bytes_), "cuMemAddressFree", nullptr);
  }
  PeerMapping(const PeerMapping&) = delete;

  CUdeviceptr address() const { return address_; }

  // Once; `bytes` of each, and not 0 of all. Locked; what has been done by an error ends with this object.
  Status map(const std::vector<wire::OwnedFd>& fds, const std::vector<std::uint64_t>& bytes) {
    gpu_->makeCurrent();
    const Driver& driver = gpu_->driver();
    const std::uint64_t whole = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
    if (Status status = gpu_->status(driver.cuMemAddressReserve(&address_, whole, 0, 0, 0), "cuMemAddressReserve"); !status) return status;
    bytes_ = whole;
    AddressRange at{address_, 0};
    for (std::size_t i = 0; i < fds.size(); ++i) {
      at = {at.end(), bytes[i]};
      if (at.empty()) continue;
      CUmemGenericAllocationHandle handle = 0;
      void* const descriptor = reinterpret_cast<void*>(static_cast<std::intptr_t>(fds[i].get()));
      Status status = gpu_->status(driver.cuMemImportFromShareableHandle(&handle, descriptor, kDescriptor), "cuMemImportFromShareableHandle");
      if (!status) return status;
      status = gpu_->status(driver.cuMemMap(at.base, at.bytes, 0, handle, 0), "cuMemMap");
      gpu_->good(driver.cuMemRelease(handle), "cuMemRelease", nullptr);  // the mapping keeps it
      if (!status) return status;
      mapped_.push_back(at);
    }
    CUmemAccessDesc access{};
    access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu_->device()};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    return gpu_->status(driver.cuMemSetAccess(address_, bytes_, &access, 1), "cuMemSetAccess");
  }

 private:
  const std::shared_ptr<Gpu> gpu_;
  CUdeviceptr address_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<AddressRange> mapped_;
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
  std::map<std::uint32_t, std::uint32_t> descriptors;  // by the allocation's first chunk
  for (const memory::Chunk& chunk : chunks) {
    if (Status status = memory.check(chunk); !status) return status.error();
    const memory::Extent allocation = memory.allocationOf(chunk.id);
    const auto [known, another] = descriptors.try_emplace(allocation.first, static_cast<std::uint32_t>(shared.fds.size()));
    if (another) {
      int descriptor = -1;
      const CUresult result = gpu.driver().cuMemExportToShareableHandle(&descriptor, memory.handle(allocation), kDescriptor, 0);
      if (Status status = gpu.status(result, "cuMemExportToShareableHandle"); !status) return status.error();
      shared.fds.emplace_back(descriptor);
    }
    shared.places.push_back({known->second, (chunk.id - allocation.first) * kGranuleBytes, allocation.count * kGranuleBytes});
  }
  return shared;
}

Result<std::vector<std::unique_ptr<memory::PeerChunk>>> importChunks(const std::shared_ptr<Gpu>& gpu, const memory::SharedChunks& chunks) {
  std::vector<std::uint64_t> bytes(chunks.fds.size());
  for (const memory::SharedChunks::Place& place : chunks.places) {
    if (place.descriptor >= bytes.size())
      return refused(*gpu, "descriptor " + std::to_string(place.descriptor) + " of " + std::to_string(bytes.size()));
    const std::uint64_t known = std::exchange(bytes[place.descriptor], place.memoryBytes);
    if (place.memoryBytes == 0 || !isAligned(place.memoryBytes, kGranuleBytes) || place.memoryBytes > AllocationPlan::kLargest * kGranuleBytes ||
        (known != 0 && known != place.memoryBytes))
      return refused(*gpu, "descriptor " + std::to_string(place.descriptor) + " is of " + std::to_string(place.memoryBytes) + " bytes" +
                               (known != 0 ? ", and of " + std::to_string(known) : ""));
    if (!isAligned(place.offset, kGranuleBytes) || place.offset >= place.memoryBytes)
      return refused(*gpu, "there is no granule at " + std::to_string(place.offset) + " of " + std::to_string(place.memoryBytes));
  }
  std::vector<std::unique_ptr<memory::PeerChunk>> imported;
  if (chunks.places.empty()) return imported;
  auto mapping = std::make_shared<PeerMapping>(gpu);
  {
    const std::lock_guard lock(gpu->mutex);
    if (Status status = mapping->map(chunks.fds, bytes); !status) {
      Error error = status.error();
      error.message = "memory of another GPU: " + error.message;
      return error;  // the mapping outlives the lock
    }
  }
  std::vector<CUdeviceptr> begins(bytes.size(), mapping->address());
  std::exclusive_scan(bytes.begin(), bytes.end(), begins.begin(), mapping->address());
  for (const memory::SharedChunks::Place& place : chunks.places)
    imported.push_back(std::make_unique<CudaPeerChunk>(mapping, begins[place.descriptor] + place.offset));
  return imported;
}

}  // namespace rouse::cuda
