#include "test/cuda-double/gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "test/cuda-double/record.h"
#include "test/cuda-double/simulation.h"

namespace rouse::cuda_double {
namespace {

constexpr std::uint64_t kModuleBytes = std::uint64_t{64} << 20;

// Beside the double in a bundle, or where the build tree has it.
std::string backendPath() {
  if (auto chosen = simulation::cpuDevice(); !chosen.empty()) return chosen;
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&backendPath), &self);
  const auto folder = std::filesystem::absolute(self.dli_fname).parent_path();
  for (const char* where : {".", "..", "../rouse-backends", "../../lib/rouse-backends", "../lib/rouse-backends"}) {
    const auto path = folder / where / "librouse-device-cpu.so";
    if (std::filesystem::exists(path)) return path.lexically_normal().string();
  }
  return "librouse-device-cpu.so";
}

Result<std::unique_ptr<memory::Device>> openDevice(int ordinal, std::uint64_t bytes) {
  const std::string path = backendPath();
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{CudaError::systemNotReady, dlerror()};
  const auto open = reinterpret_cast<memory::OpenDevice>(dlsym(library, memory::kOpenDeviceSymbol));
  if (open == nullptr) return Error{CudaError::systemNotReady, path + " is no back end"};
  memory::DeviceOptions options;
  options.ordinal = static_cast<std::uint32_t>(ordinal);
  options.memoryBytes = bytes;
  options.workers = simulation::workers();
  return open(options);
}

}  // namespace

Result<std::unique_ptr<Gpu>> Gpu::open(int ordinal, std::uint64_t memoryBytes) {
  memoryBytes = roundDown(memoryBytes, kGranuleBytes);
  auto device = openDevice(ordinal, memoryBytes + kModuleBytes);
  if (!device) return std::move(device).error();
  return std::unique_ptr<Gpu>(new Gpu(ordinal, memoryBytes, std::move(device).value()));
}

Gpu::Gpu(int ordinal, std::uint64_t memoryBytes, std::unique_ptr<memory::Device> opened)
    : ordinal(ordinal), memoryBytes(memoryBytes), device(std::move(opened)) {
  for (const memory::Chunk& chunk : device->chunks()) {
    if (free_.size() * kGranuleBytes < memoryBytes)
      free_.insert(chunk.id);
    else
      modules_.push_back(chunk);
  }
  firstOfModules_ = modules_.front().id;
}

std::vector<memory::Chunk> Gpu::take(std::uint64_t bytes) {
  std::lock_guard lock(chunksMutex_);
  if (bytes > freeLocked()) return {};
  const std::size_t count = bytes / kGranuleBytes;
  auto first = free_.begin();
  std::size_t run = 0;
  for (auto at = free_.begin(); run != count && at != free_.end(); ++at) {
    if (run == 0 || *at != *std::prev(at) + 1) {
      first = at;
      run = 0;
    }
    ++run;
  }
  if (run != count) first = free_.begin();
  std::vector<memory::Chunk> taken;
  for (; taken.size() != count; first = free_.erase(first)) taken.push_back({*first, kGranuleBytes});
  return taken;
}

std::vector<memory::Chunk> Gpu::takeForModules(std::uint64_t bytes) {
  std::lock_guard lock(chunksMutex_);
  if (bytes > modules_.size() * kGranuleBytes) return {};
  const std::vector<memory::Chunk> taken(modules_.end() - static_cast<std::ptrdiff_t>(bytes / kGranuleBytes),
                                         modules_.end());
  modules_.resize(modules_.size() - taken.size());
  return taken;
}

void Gpu::giveBack(const std::vector<memory::Chunk>& chunks) {
  std::lock_guard lock(chunksMutex_);
  for (const memory::Chunk& chunk : chunks) {
    if (chunk.id >= firstOfModules_)
      modules_.push_back(chunk);
    else
      free_.insert(chunk.id);
  }
}

std::uint64_t Gpu::freeLocked() const {
  const std::uint64_t free = free_.size() * kGranuleBytes;
  const auto limit = simulation::freeBytes();
  if (!limit) return free;
  const std::uint64_t used = memoryBytes - free;
  return std::min(free, roundDown(*limit > used ? *limit - used : 0, kGranuleBytes));
}

std::uint64_t Gpu::freeBytes() {
  std::lock_guard lock(chunksMutex_);
  return freeLocked();
}

int Gpu::attribute(int number) const {
  switch (number) {
    // What the double itself does, which the CPU device has no attribute for.
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      if (simulation::prohibited()) return CU_COMPUTEMODE_PROHIBITED;
      return simulation::exclusive() ? CU_COMPUTEMODE_EXCLUSIVE_PROCESS : CU_COMPUTEMODE_DEFAULT;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
      return 1;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS:
      return 0;
    default:
      break;
  }
  const auto& known = device->properties().attributes;
  return static_cast<std::size_t>(number) < known.size() ? known[static_cast<std::size_t>(number)] : 0;
}

}  // namespace rouse::cuda_double
