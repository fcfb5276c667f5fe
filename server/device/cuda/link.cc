#include "server/device/cuda/link.h"

#include <time.h>

#include <algorithm>

#include "memory/measure_link.h"
#include "memory/start_failure.h"
#include "server/device/cuda/own_stream.h"
#include "server/device/cuda/pinned_memory.h"
#include "server/device/cuda/properties.h"

namespace rouse::cuda {
namespace {

std::chrono::nanoseconds now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The GPU's first allocations, one behind the other at an address of the driver's choice: of at least so many bytes.
class TrialMemory {
 public:
  TrialMemory(Gpu& gpu, const PhysicalMemory& memory, std::uint64_t bytes) : gpu_(gpu) {
    const Driver& driver = gpu_.driver();
    std::vector<memory::Extent> allocations;
    for (std::uint64_t at = 0; at < bytes; at += allocations.back().count * kGranuleBytes)
      allocations.push_back(memory.allocationOf(static_cast<std::uint32_t>(at / kGranuleBytes)));
    const std::uint64_t whole = (allocations.back().first + allocations.back().count) * kGranuleBytes;
    status_ = gpu_.status(driver.cuMemAddressReserve(&address_, whole, 0, 0, 0), "cuMemAddressReserve");
    if (!status_) return;
    reserved_ = whole;
    for (const memory::Extent& allocation : allocations) {
      const AddressRange at{address_ + allocation.first * kGranuleBytes, allocation.count * kGranuleBytes};
      status_ = gpu_.status(driver.cuMemMap(at.base, at.bytes, 0, memory.handle(allocation), 0), "cuMemMap");
      if (!status_) return;
      mapped_.push_back(at);
    }
    CUmemAccessDesc access{};
    access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu_.device()};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    status_ = gpu_.status(driver.cuMemSetAccess(address_, whole, &access, 1), "cuMemSetAccess");
  }
  ~TrialMemory() {
    const Driver& driver = gpu_.driver();
    if (!mapped_.empty()) (void)gpu_.unmap(mapped_);
    if (reserved_ != 0) gpu_.good(driver.cuMemAddressFree(address_, reserved_), "cuMemAddressFree", nullptr);
  }
  TrialMemory(const TrialMemory&) = delete;

  const Status& status() const { return status_; }
  CUdeviceptr address() const { return address_; }

 private:
  Gpu& gpu_;
  Status status_;
  CUdeviceptr address_ = 0;
  std::uint64_t reserved_ = 0;
  std::vector<AddressRange> mapped_;
};

}  // namespace

std::vector<memory::LinkPeer> describePeers(const Gpu& gpu) {
  const Driver& driver = gpu.driver();
  std::vector<memory::LinkPeer> peers;
  int count = 0;
  if (driver.cuDeviceGetCount(&count) != CUDA_SUCCESS) return peers;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice other = 0;
    if (driver.cuDeviceGet(&other, ordinal) != CUDA_SUCCESS || other == gpu.device()) continue;
    const auto attribute = [&](CUdevice_P2PAttribute what) {
      int value = 0;
      return driver.cuDeviceGetP2PAttribute(&value, what, gpu.device(), other) == CUDA_SUCCESS ? value : 0;
    };
    memory::LinkPeer peer;
    peer.uuid = uuidOf(driver, other);
    peer.pciAddress = pciAddressOf(driver, other);
    int access = 0;
    peer.access = driver.cuDeviceCanAccessPeer(&access, gpu.device(), other) == CUDA_SUCCESS && access != 0;
    if (peer.access) {
      peer.atomics = attribute(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) != 0;
      peer.rank = attribute(CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK);
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

Status measureLink(const std::shared_ptr<Gpu>& gpu, const PhysicalMemory& memory, memory::LinkDescription& link) {
  std::uint64_t bytes = memory::kLargestLinkBlock;
  while (bytes > memory.chunks().size() * kGranuleBytes) bytes /= 2;
  auto pinned = PinnedMemory::create(gpu, bytes, "memory to measure the link with");
  if (!pinned) {
    // What functions would be told one by one is told at once: they cannot have pinned memory either.
    return Error{gpu->lost() ? pinned.error().code : memory::kNotPinned, pinned.error().message};
  }
  const TrialMemory device(*gpu, memory, bytes);
  if (!device.status()) return device.status();
  const OwnStream stream(gpu->driver());
  if (Status status = gpu->status(stream.created(), "cuStreamCreateWithPriority"); !status) return status;

  const Driver& driver = gpu->driver();
  std::byte* const host = (*pinned)->data();
  memory::LinkTrial trial;
  trial.largestBlock = bytes;
  trial.now = now;
  const auto run = [&](const char* call, const auto& copy) -> Result<memory::LinkCurve> {
    trial.copy = [&](std::uint64_t block, std::uint32_t count) -> Status {
      std::uint64_t at = 0;
      for (std::uint32_t i = 0; i < count; ++i, at = (at + block) % bytes)
        if (Status status = gpu->status(copy(at, block), call); !status) return status;
      return gpu->status(driver.cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
    };
    return memory::measureLink(trial);
  };
  auto toDevice = run("cuMemcpyHtoDAsync", [&](std::uint64_t at, std::uint64_t block) {
    return driver.cuMemcpyHtoDAsync(device.address() + at, host + at, block, stream.get());
  });
  if (!toDevice) return std::move(toDevice).error();
  auto toHost = run("cuMemcpyDtoHAsync", [&](std::uint64_t at, std::uint64_t block) {
    return driver.cuMemcpyDtoHAsync(host + at, device.address() + at, block, stream.get());
  });
  if (!toHost) return std::move(toHost).error();
  link.toDevice = std::move(*toDevice);
  link.toHost = std::move(*toHost);
  return {};
}

}  // namespace rouse::cuda
