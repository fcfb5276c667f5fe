// Launching kernels: the parameter block is written straight into the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "client-shim/core/module.h"
#include "schemas/base/cluster.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Stream;

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Dim3 grid, block;
  std::uint32_t sharedBytes = 0;  // dynamic
  bool cooperative = false;       // the caller has checked that the grid fits at once
  ClusterShape cluster{};         // none: the kernel's own, if it has one
};

// `arguments`: one pointer for each parameter of the kernel, read before the call returns. Checks at the call, as CUDA
// does: a zero or too large grid or block (CUDA 13; before, that was an error of its own), more threads than the kernel was compiled for, more
// dynamic shared memory than it may have, null arguments are invalidValue; a cluster that is not the kernel's, too large, or no part of the grid is
// invalidClusterSize; a stream of another device than the
// kernel's is invalidResourceHandle. Then the latched error, if any; else it is queued. No heap allocation.
CudaError launch(Stream& stream, const Kernel& kernel, const LaunchShape& shape, const void* const* arguments);

// What launch() would say of the shape, wherever it is launched. `cluster`: as resolveCluster() has it.
CudaError checkLaunch(const Kernel& kernel, const LaunchShape& shape, std::uint32_t* cluster);

// The cluster that a launch of the shape runs in, as it is sent: 0 none.
CudaError resolveCluster(const Kernel& kernel, const LaunchShape& shape, std::uint32_t* packed);

// The same with the parameter block as it is (CU_LAUNCH_PARAM_BUFFER_POINTER); must be at least the kernel's block
// long.
CudaError launchPacked(Stream& stream, const Kernel& kernel, const LaunchShape& shape,
                       std::span<const std::byte> block);

}  // namespace rouse::client
