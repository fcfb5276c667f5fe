#include "server/device/cuda/pinned_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "server/device/cuda/locked_memory.h"

namespace rouse::cuda {
Status registerHost(Gpu& gpu, void* address, std::uint64_t bytes, const std::string& what) {
  gpu.makeCurrent();
  const Driver& driver = gpu.driver();
  gpu.pinnings.fetch_add(1, std::memory_order_relaxed);
  const CUresult result =
      driver.cuMemHostRegister(address, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result != CUDA_SUCCESS) {
    Error error = gpu.status(result, "cuMemHostRegister").error();
    error.message = gpu.name() + ": " + std::to_string(bytes) + " bytes of host memory (" + what +
                    ") could not be pinned; " + adviceOnPinning(bytes, lockedMemoryLimit()) + "; " + error.message;
    return error;
  }
  CUdeviceptr there = 0;
  Status status = gpu.status(driver.cuMemHostGetDevicePointer(&there, address, 0), "cuMemHostGetDevicePointer", what);
  if (status && there != reinterpret_cast<CUdeviceptr>(address)) {
    status = Error{CudaError::notSupported,
                   gpu.name() + " sees " + what +
                       " at another address than the processor does; Rouse needs a GPU with "
                       "unified addressing of registered memory (compute capability 7.0 or higher on Linux)"};
  }
  if (!status) driver.cuMemHostUnregister(address);
  return status;
}

void unregisterHost(Gpu& gpu, void* address) {
  gpu.makeCurrent();
  gpu.good(gpu.driver().cuMemHostUnregister(address), "cuMemHostUnregister", nullptr);
}

std::shared_ptr<SideCalls::Call> unregisterLater(Gpu& gpu, void* address, std::function<void()> after) {
  return gpu.disposal.begin([&driver = gpu.driver(), address, after = std::move(after)]() -> Status {
    driver.cuMemHostUnregister(address);  // fails where the GPU is lost, which others have been told
    after();
    return {};
  });
}

Result<std::unique_ptr<PinnedMemory>> PinnedMemory::create(std::shared_ptr<Gpu> gpu, std::uint64_t bytes,
                                                           const std::string& what) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Error{CudaError::memoryAllocation, what + ": " + std::to_string(bytes) + " bytes: " + std::strerror(errno)};
  std::unique_ptr<PinnedMemory> pinned(new PinnedMemory(std::move(gpu), static_cast<std::byte*>(memory), bytes));
  // A child of fork() must not make the pages copy on write under the GPU.
  ::madvise(memory, bytes, MADV_DONTFORK);
  if (Status status = registerHost(*pinned->gpu_, memory, bytes, what); !status) return status.error();
  pinned->registered_ = true;
  return pinned;
}

PinnedMemory::~PinnedMemory() {
  const auto end = [data = data_, bytes = bytes_] { ::munmap(data, bytes); };
  if (registered_) unregisterLater(*gpu_, data_, end);
  else end();
}

}  // namespace rouse::cuda
