#include "server/device/cuda/device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "memory/start_failure.h"
#include "server/device/cuda/compiled_cache.h"
#include "server/device/cuda/context.h"
#include "server/device/cuda/link.h"
#include "server/device/cuda/pci_way.h"
#include "server/device/cuda/module.h"
#include "server/device/cuda/pinned_memory.h"
#include "server/device/cuda/nvml/nvml.h"
#include "server/device/cuda/peer_memory.h"
#include "server/device/cuda/properties.h"

namespace rouse::cuda {
namespace {

// What the back end cannot do without, and what to say if a GPU lacks it.
struct Needed {
  CUdevice_attribute attribute;
  const char* what;
};
constexpr Needed kNeeded[] = {
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "unified addressing"},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "virtual memory management"},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, "64-bit stream memory operations"},
};

}  // namespace

CudaDevice::CudaDevice(std::shared_ptr<Gpu> gpu, std::unique_ptr<PhysicalMemory> memory,
                       std::shared_ptr<FingerprintKernel> fingerprints, memory::LinkDescription link)
    : gpu_(std::move(gpu)),
      memory_(std::move(memory)),
      fingerprints_(std::move(fingerprints)),
      properties_(describe(*gpu_, memory_->chunks().size() * kGranuleBytes)),
      watcher_(std::make_unique<Watcher>(gpu_)) {
  properties_.link = std::move(link);
  properties_.link.peers = describePeers(*gpu_);
  properties_.link.sharedWay = sharedPciWay(properties_.pciAddress);
  // After the copies: a GPU that has been idle runs its link at a lower speed.
  if (const auto nvml = nvml::Nvml::open()) {
    properties_.driverVersion = nvml->driverVersion();
    nvml->describe(properties_.pciAddress, properties_.link);
  }
}

Result<std::unique_ptr<memory::Device>> CudaDevice::open(const memory::DeviceOptions& options) {
  if (!options.codeCache.empty()) {
    // Where the driver keeps it by itself, then, or nowhere: slower, and no reason not to serve.
    if (const Status kept = keepCompiled(options.codeCache, options.codeCacheBytes); !kept)
      std::fprintf(stderr, "rouse-executor: %s: it is not used\n", kept.error().message.c_str());
  }
  auto gpu = Gpu::open(options.ordinal);
  if (!gpu) return std::move(gpu).error();
  for (const Needed& needed : kNeeded) {
    if ((*gpu)->attribute(needed.attribute) == 0)
      return Error{CudaError::notSupported, (*gpu)->name() + " has no " + needed.what +
                                                "; Rouse serves GPUs of compute capability 7.0 and higher on Linux"};
  }
  std::unique_lock lock((*gpu)->mutex);
  auto memory = PhysicalMemory::create(*gpu, options.memoryBytes, options.absentBytes, readByOthers(**gpu));
  if (!memory) return std::move(memory).error();
  memory::LinkDescription link;
  if (options.measureLink && options.absentBytes == 0)  // it needs chunks
    if (Status status = measureLink(*gpu, **memory, link); !status) return status.error();
  lock.unlock();
  auto fingerprints = FingerprintKernel::load(*gpu);
  if (!fingerprints) return std::move(fingerprints).error();
  return std::unique_ptr<memory::Device>(
      new CudaDevice(std::move(*gpu), std::move(*memory), std::move(*fingerprints), std::move(link)));
}

CudaDevice::~CudaDevice() {
  watcher_.reset();
  fingerprints_.reset();
  memory_.reset();
  const std::lock_guard lock(gpu_->mutex);
  if (!gpu_->homes.empty()) unregisterHost(*gpu_, reinterpret_cast<void*>(gpu_->homes.base));
}

Status CudaDevice::scrub(memory::Chunk chunk) {
  const std::lock_guard lock(gpu_->mutex);
  return memory_->scrub(chunk);
}

Status CudaDevice::withdraw(std::span<const memory::Chunk> chunks) {
  const std::lock_guard lock(gpu_->mutex);
  return memory_->withdraw(chunks);
}

Result<std::size_t> CudaDevice::supply(std::span<const memory::Chunk> chunks) {
  const std::lock_guard lock(gpu_->mutex);
  return memory_->supply(chunks);
}

Result<std::unique_ptr<memory::Context>> CudaDevice::createContext(const memory::ContextOptions& options,
                                                                   memory::ContextObserver& observer) {
  if (options.check != 0) return Error{CudaError::notSupported, "kernels' accesses are checked on the CPU device only; on a GPU use compute-sanitizer"};
  return CudaContext::create(gpu_, *watcher_, *memory_, fingerprints_, options, observer);
}

Result<memory::SharedChunks> CudaDevice::exportChunks(std::span<const memory::Chunk> chunks) {
  const std::lock_guard lock(gpu_->mutex);
  return cuda::exportChunks(*gpu_, *memory_, properties_.uuid, chunks);
}

Result<std::vector<std::unique_ptr<memory::PeerChunk>>> CudaDevice::importChunks(memory::SharedChunks chunks) {
  return cuda::importChunks(gpu_, chunks);
}

Status CudaDevice::useHost(std::span<std::byte> memory) {
  const std::lock_guard lock(gpu_->mutex);
  if (!gpu_->homes.empty()) return Error{CudaError::invalidValue, "host memory has been given to " + gpu_->name() + " already"};
  if (Status status = registerHost(*gpu_, memory.data(), memory.size(), "the host store"); !status)
    return Error{gpu_->lost() ? status.error().code : memory::kNotPinned, status.error().message};
  gpu_->homes = {reinterpret_cast<std::uint64_t>(memory.data()), memory.size()};
  return {};
}

Result<std::shared_ptr<memory::Image>> CudaDevice::load(std::span<const std::byte> module) {
  return CudaImage::load(gpu_, module, properties_.computeMajor * 10 + properties_.computeMinor);
}

Result<wire::TensorMap> CudaDevice::encode(const wire::TensorMapRequest& r) {
  static_assert(sizeof(CUtensorMap) == sizeof(wire::TensorMap));
  if (r.kind != wire::TensorMapKind::replaceAddress && (r.rank == 0 || r.rank > wire::kMaxTensorRank)) return Error{CudaError::invalidValue, "a tensor map of rank " + std::to_string(r.rank)};
  const std::lock_guard lock(gpu_->mutex);
  gpu_->makeCurrent();
  const Driver& driver = gpu_->driver();
  CUtensorMap map{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the program's
  auto* const address = reinterpret_cast<void*>(r.address);
  const auto type = static_cast<CUtensorMapDataType>(r.type);
  const auto interleave = static_cast<CUtensorMapInterleave>(r.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(r.swizzle);
  const auto promotion = static_cast<CUtensorMapL2promotion>(r.promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(r.fill);
  std::array<cuuint64_t, wire::kMaxTensorRank> dims{};
  std::array<cuuint64_t, wire::kMaxTensorRank - 1> strides{};
  std::ranges::copy(r.dims, dims.begin());
  std::ranges::copy(r.strides, strides.begin());
  Status status;
  switch (r.kind) {
    case wire::TensorMapKind::tiled:
      status = gpu_->status(driver.cuTensorMapEncodeTiled(&map, type, r.rank, address, dims.data(), strides.data(), r.box, r.elementStrides, interleave, swizzle, promotion, fill),
                            "cuTensorMapEncodeTiled");
      break;
    case wire::TensorMapKind::im2col:
      status = gpu_->status(driver.cuTensorMapEncodeIm2col(&map, type, r.rank, address, dims.data(), strides.data(), r.lower, r.upper, r.channels, r.pixels, r.elementStrides, interleave,
                                                           swizzle, promotion, fill),
                            "cuTensorMapEncodeIm2col");
      break;
    case wire::TensorMapKind::replaceAddress:
      std::memcpy(&map, r.map.data(), sizeof map);
      status = gpu_->status(driver.cuTensorMapReplaceAddress(&map, address), "cuTensorMapReplaceAddress");
      break;
    default:
      return Error{CudaError::invalidValue, "a tensor map of kind " + std::to_string(static_cast<std::uint32_t>(r.kind))};
  }
  if (!status) return status.error();
  wire::TensorMap made;
  std::memcpy(made.data(), &map, made.size());
  return made;
}

bool CudaDevice::poll(bool& waiting) {
  const std::lock_guard lock(gpu_->mutex);
  return watcher_->poll(waiting);
}

}  // namespace rouse::cuda
