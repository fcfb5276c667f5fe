// NVML beside the runtime: looked at before CUDA, in a child before and after, by another process of the program; GPUs are matched by UUID and PCI address, and both
// tell the same of them.
// nvcc: -lnvidia-ml
// gpus: 2
// alone
#include <nvml.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

namespace {

__global__ void work(float* values, int rounds) {
  float value = values[threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 1.0001f + 0.5f;
  values[threadIdx.x] = value;
}

#define NVML(call) nvml((call), #call, __LINE__)
void nvml(nvmlReturn_t status, const char* what, int line) {
  if (status == NVML_SUCCESS) return;
  std::printf("%d: %s: %s\n", line, what, nvmlErrorString(status));
  std::fflush(stdout);
  std::_Exit(1);
}

// The child's exit code.
template <class Body>
int inChild(Body&& body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

nvmlDevice_t managed(int device) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, device));
  const auto* bytes = reinterpret_cast<const unsigned char*>(properties.uuid.bytes);
  char uuid[64] = "GPU-", address[32];
  for (int i = 0, at = 4; i < 16; ++i) at += std::snprintf(uuid + at, sizeof uuid - at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
  CHECK(cudaDeviceGetPCIBusId(address, sizeof address, device));
  nvmlDevice_t byUuid = nullptr, byAddress = nullptr;
  NVML(nvmlDeviceGetHandleByUUID(uuid, &byUuid));
  NVML(nvmlDeviceGetHandleByPciBusId(address, &byAddress));
  EXPECT(byUuid == byAddress);
  return byUuid;
}

void tellTheSame(int device, nvmlDevice_t gpu) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, device));
  char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
  NVML(nvmlDeviceGetName(gpu, name, sizeof name));
  EXPECT(std::strcmp(name, properties.name) == 0);
  int major = 0, minor = 0;
  NVML(nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor));
  EXPECT(major == properties.major && minor == properties.minor);
  nvmlPciInfo_t pci;
  NVML(nvmlDeviceGetPciInfo(gpu, &pci));
  EXPECT(static_cast<int>(pci.domain) == properties.pciDomainID && static_cast<int>(pci.bus) == properties.pciBusID && static_cast<int>(pci.device) == properties.pciDeviceID);
  nvmlMemory_t memory;
  std::size_t free = 0, total = 0;
  NVML(nvmlDeviceGetMemoryInfo(gpu, &memory));
  CHECK(cudaSetDevice(device));
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT(memory.total >= total);  // NVIDIA's driver takes some for itself
  EXPECT(!check::throughRouse() || (memory.total == total && memory.free == free));
}

}  // namespace

int main() {
  NVML(nvmlInit());
  unsigned count = 0;
  NVML(nvmlDeviceGetCount(&count));
  EXPECT(count >= 1);
  nvmlDevice_t first;
  NVML(nvmlDeviceGetHandleByIndex(0, &first));
  unsigned long long freeBefore = 0;
  nvmlMemory_t memory;
  NVML(nvmlDeviceGetMemoryInfo(first, &memory));
  freeBefore = memory.free;

  // A child of a process that has only looked uses CUDA.
  EXPECT(inChild([&] {
    int devices = 0;
    float* values = nullptr;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices >= 1 && cudaMalloc(&values, 1024) == cudaSuccess ? 0 : 1;
  }) == 0);

  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  EXPECT(!check::throughRouse() || static_cast<int>(count) == devices);
  for (int device = 0; device < devices; ++device) tellTheSame(device, managed(device));

  CHECK(cudaSetDevice(0));
  const nvmlDevice_t gpu = managed(0);
  float* values = nullptr;
  CHECK(cudaMalloc(&values, 64 << 20));
  CHECK(cudaMemset(values, 0, 64 << 20));
  work<<<1, 32>>>(values, 1000);
  CHECK(cudaDeviceSynchronize());
  NVML(nvmlDeviceGetMemoryInfo(gpu, &memory));
  EXPECT(memory.free + (64 << 20) <= freeBefore);
  EXPECT(memory.total == memory.free + memory.used);
  nvmlMemory_v2_t second{};
  second.version = nvmlMemory_v2;
  NVML(nvmlDeviceGetMemoryInfo_v2(gpu, &second));
  EXPECT(second.total == memory.total);

  nvmlProcessInfo_t processes[256];
  unsigned running = 256;
  NVML(nvmlDeviceGetComputeRunningProcesses(gpu, &running, processes));
  bool here = false;
  for (unsigned i = 0; i < running; ++i) here = here || processes[i].pid == static_cast<unsigned>(::getpid());
  EXPECT(here);
  EXPECT(!check::throughRouse() || (running == 1 && processes[0].usedGpuMemory >= 64u << 20));

  nvmlUtilization_t utilization;
  NVML(nvmlDeviceGetUtilizationRates(gpu, &utilization));
  EXPECT(utilization.gpu <= 100);

  // A child of a process that uses CUDA looks all the same.
  EXPECT(inChild([&] {
    unsigned seen = 0;
    nvmlMemory_t now;
    return nvmlDeviceGetCount(&seen) == NVML_SUCCESS && seen == count && nvmlDeviceGetMemoryInfo(gpu, &now) == NVML_SUCCESS && now.total == memory.total ? 0 : 1;
  }) == 0);

  // Nobody lets a function change its GPU.
  if (check::throughRouse()) {
    EXPECT(nvmlDeviceSetComputeMode(gpu, NVML_COMPUTEMODE_PROHIBITED) == NVML_ERROR_NO_PERMISSION);
    EXPECT(nvmlDeviceResetGpuLockedClocks(gpu) == NVML_ERROR_NO_PERMISSION);
  }
  CHECK(cudaFree(values));
  NVML(nvmlShutdown());
  EXPECT(nvmlDeviceGetCount(&count) == NVML_ERROR_UNINITIALIZED);
  return check::done();
}
