// What libnvidia-ml.so.1 needs of the runtime: the process's GPUs, which it has without being attached as well. Found as LibraryHost is, through
// cudaGetExportTable by a number of its own.
//
// Any thread, and before a fork as after it. Nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/base/cuda_error.h"

namespace rouse::client {

struct ManagedGpu {
  char name[96] = {}, uuid[96] = {};
  char pciAddress[32] = {};
  unsigned char uuidBytes[16] = {};  // as cudaDeviceProp has them
  std::uint32_t computeMajor = 0, computeMinor = 0;
  std::int32_t processors = 0;              // streaming multiprocessors; here and below 0: unknown
  std::int32_t clockKHz = 0, memoryClockKHz = 0, memoryBusBits = 0;
  std::uint32_t pciDevice = 0, pciSubsystem = 0;
  bool ecc = false;
  std::uint64_t totalBytes = 0, freeBytes = 0;  // as cudaMemGetInfo has them
  bool begun = false;                // this process has the device's context
  std::uint64_t occupiedBytes = 0;   // by this process
  bool lost = false;                 // this process had it, and its executor is gone
  // What only the daemon knows, where that was asked for: how long work of the function was under way, and its link, 0: unknown.
  std::uint64_t busyNs = 0;
  std::uint32_t pcieGeneration = 0, pcieGenerationAtMost = 0, pcieWidth = 0, pcieWidthAtMost = 0;
};

enum class Asked : std::uint32_t { facts, all };

class ManagementHost {
 public:
  virtual bool attached() const = 0;
  // The GPUs that the process has, or would have if it attached, in its order; `count`: how many, of which `capacity` at most are written. Attaches
  // nothing. Facts of a process that is attached are its own, and read where they lie; anything else is asked of the daemon. noDevice: there is none.
  virtual CudaError gpus(Asked asked, ManagedGpu* gpus, std::uint32_t capacity, std::uint32_t* count) const = 0;

 protected:
  ~ManagementHost() = default;
};

inline constexpr unsigned char kManagementHostId[16] = {'r', 'o', 'u', 's', 'e', ' ', 'm', 'a', 'n', 'a', 'g', 'e', ' ', ' ', '0', '1'};

// Null, with a line on standard error the first time: the process has another libcudart.
const ManagementHost* managementHost();

}  // namespace rouse::client
