#include "server/device/cuda/gpu.h"

#include <algorithm>
#include <cstdlib>

#include "memory/start_failure.h"
#include "server/device/cuda/driver/error.h"
#include "server/device/cuda/lanes.h"
#include "server/device/cuda/locked_memory.h"
#include "server/device/cuda/work_memory.h"

namespace rouse::cuda {
namespace {

std::atomic<std::uint64_t> nextSerial{1};
thread_local std::uint64_t currentSerial = 0;

// Before the driver looks at its environment (CUDA Programming Guide, "CUDA Environment Variables"); what an operator
// has set stays. A program's kernels are loaded with their module all the same (LoadedLibrary::bind), since loading at the first launch may wait for
// running kernels; of NVIDIA's libraries only what is called: all of cuBLAS's take seconds. As
// many hardware queues as there are: streams that share one wait for each other.
void prepareEnvironment() {
  ::setenv("CUDA_MODULE_LOADING", "LAZY", 0);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

// The device heap is made when the first module whose kernels allocate is loaded, takes no memory before, and does not grow from then on (CUDA Programming Guide,
// "Heap Memory Allocation"). It is all functions', so there is more than a program of its own has unless it asks: this share of the GPU's memory.
constexpr std::uint64_t kHeapShare = 256;
constexpr std::uint64_t kMostHeap = std::uint64_t{256} << 20;

void prepareHeap(const Driver& driver, CUdevice device) {
  std::size_t now = 0, total = 0;
  if (driver.cuCtxGetLimit(&now, CU_LIMIT_MALLOC_HEAP_SIZE) != CUDA_SUCCESS || driver.cuDeviceTotalMem(&total, device) != CUDA_SUCCESS) return;
  const std::uint64_t wanted = std::min<std::uint64_t>(total / kHeapShare, kMostHeap);
  if (wanted > now) driver.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, wanted);  // refused: what there was will do
}

// What is in the way of a context, as far as it is known. Which result a driver gives for a compute mode has changed
// over the years ("CUDA_ERROR_UNKNOWN if the compute mode is PROHIBITED", CUDA Driver API, cuCtxCreate): the mode
// decides.
Error notOpened(const std::string& name, CUresult result, int computeMode, Error otherwise) {
  if (computeMode == CU_COMPUTEMODE_PROHIBITED)
    return {memory::kGpuTaken, name + " is in compute mode PROHIBITED; set it to DEFAULT (nvidia-smi -c DEFAULT)"};
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return {memory::kGpuFull,
            name + " has no memory left for a context: other processes fill it (nvidia-smi shows them); stop them"};
  if (result != CUDA_ERROR_DEVICE_UNAVAILABLE && result != CUDA_ERROR_INVALID_DEVICE) return otherwise;
  if (computeMode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS)
    return {memory::kGpuTaken,
            name +
                " is in exclusive compute mode and another process uses it; stop that process (nvidia-smi shows it) or "
                "set the mode to DEFAULT (nvidia-smi -c DEFAULT)"};
  return {memory::kGpuTaken,
          name + " is not available: another process holds it, or it needs a reset (nvidia-smi -q shows its state)"};
}

}  // namespace

Gpu::Gpu(std::unique_ptr<Driver> driver)
    : driver_(std::move(driver)), serial_(nextSerial.fetch_add(1, std::memory_order_relaxed)) {}

Result<std::shared_ptr<Gpu>> Gpu::open(std::uint32_t ordinal) {
  prepareEnvironment();
  raiseLockedMemoryLimit();
  auto loaded = loadDriver();
  if (!loaded) return std::move(loaded).error();
  std::shared_ptr<Gpu> gpu(new Gpu(std::move(*loaded)));
  const Driver& driver = gpu->driver();

  CUresult result = driver.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return Error{memory::kNoGpu,
                 "no GPU: the CUDA driver finds none; check nvidia-smi, CUDA_VISIBLE_DEVICES and the device nodes "
                 "/dev/nvidia*, or use the cpu device"};
  if (Status status = check(driver, result, "cuInit", "the CUDA driver does not start; nvidia-smi says more"); !status)
    return status.error();
  int count = 0;
  if (Status status = check(driver, driver.cuDeviceGetCount(&count), "cuDeviceGetCount"); !status)
    return status.error();
  if (count == 0) return Error{memory::kNoGpu, "no GPU: the CUDA driver counts none; or use the cpu device"};
  if (ordinal >= static_cast<std::uint32_t>(count))
    return Error{memory::kNoSuchGpu,
                 "GPU " + std::to_string(ordinal) + ": there are " + std::to_string(count) + " (numbered from 0)"};
  result = driver.cuDeviceGet(&gpu->device_, static_cast<int>(ordinal));
  if (Status status = check(driver, result, "cuDeviceGet"); !status) return status.error();

  char text[256] = {}, pci[32] = {};
  driver.cuDeviceGetName(text, sizeof text, gpu->device_);
  driver.cuDeviceGetPCIBusId(pci, sizeof pci, gpu->device_);
  gpu->name_ = "GPU " + std::to_string(ordinal) + " (" + text + ", " + pci + ")";

  // Waits are the watcher's, not the driver's.
  driver.cuDevicePrimaryCtxSetFlags(gpu->device_, CU_CTX_SCHED_BLOCKING_SYNC);
  CUcontext context = nullptr;
  result = driver.cuDevicePrimaryCtxRetain(&context, gpu->device_);
  if (result != CUDA_SUCCESS) {
    return notOpened(gpu->name_, result, gpu->attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE),
                     driverError(driver, result, "cuDevicePrimaryCtxRetain", gpu->name_));
  }
  gpu->context_ = context;
  gpu->makeCurrent();
  // What no kernel has needed yet is there by the limit.
  if (std::size_t stack = 0; driver.cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE) == CUDA_SUCCESS) gpu->localMemory.grew(stack);
  prepareHeap(driver, gpu->device_);
  gpu->libraries.workIn(std::make_unique<LibraryMemory>(driver, gpu->device_));
  return gpu;
}

Gpu::~Gpu() {
  libraryCalls.end();
  disposal.end();
  if (context_ == nullptr) return;
  if (!lost()) {
    makeCurrent();
    libraries.end();
  }
  driver_->cuCtxSetCurrent(nullptr);
  currentSerial = 0;
  driver_->cuDevicePrimaryCtxRelease(device_);
}

int Gpu::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  return driver_->cuDeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS ? value : 0;
}

void Gpu::makeCurrent() const {
  if (currentSerial == serial_) return;
  if (driver_->cuCtxSetCurrent(context_) == CUDA_SUCCESS) currentSerial = serial_;
}

bool Gpu::good(CUresult result, const char* call, Lanes* whose, std::string_view what) {
  if (result == CUDA_SUCCESS) [[likely]]
    return true;
  Error error = driverError(*driver_, result, call, what);
  if (isFatal(result))
    lose(std::move(error));
  else if (whose != nullptr)
    whose->report(error);
  return false;
}

Status Gpu::status(CUresult result, const char* call, std::string_view what) {
  if (result == CUDA_SUCCESS) return {};
  Error error = driverError(*driver_, result, call, what);
  if (isFatal(result)) lose(error);
  return error;
}

// One call for all of them, as NVIDIA's sample vectorAddMMAP unmaps its stripes. The documentation forbids only a part of what one cuMemMap has mapped
// (CUDA Driver API, cuMemUnmap). A mapping costs the same either way: an H100's 20 us.
Status Gpu::unmap(std::span<const AddressRange> mappings) {
  makeCurrent();
  if (unmapsTogether_ && mappings.size() > 1) {
    const std::uint64_t base = mappings.front().base;
    const CUresult result = driver_->cuMemUnmap(base, mappings.back().end() - base);
    if (result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_NOT_SUPPORTED) return status(result, "cuMemUnmap");
    unmapsTogether_ = false;
  }
  for (const AddressRange& mapping : mappings)
    if (Status status = this->status(driver_->cuMemUnmap(mapping.base, mapping.bytes), "cuMemUnmap"); !status) return status;
  return {};
}

Status Gpu::health() const {
  if (!lost()) return {};
  const std::lock_guard lock(mutex);
  return Error{loss_.code, name_ + " is lost: " + loss_.message};
}

void Gpu::lose(Error error) {
  if (lost()) return;
  loss_ = std::move(error);
  lost_.store(true, std::memory_order_release);
  for (Lanes* context : contexts) context->die(loss_);
  // What the GPU still had is over before anything that it names is given back. It fails at once, with the same error: where streams do. Some results
  // (CUDA_ERROR_UNKNOWN) may leave the context in order; then it would wait for kernels that need not end, and the process ends with what it holds.
  for (const Lanes* context : contexts) {
    const CUstream stream = context->anyBusyStream();
    if (stream == nullptr) continue;
    const CUresult result = driver_->cuStreamQuery(stream);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) driver_->cuCtxSynchronize();
    return;
  }
}

}  // namespace rouse::cuda
