#include "client-shim/cudart/cooperative.h"

#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/occupancy_calculation.h"

namespace rouse::cudart {

cudaError_t checkCooperative(const client::Device& device, const client::Kernel& kernel,
                             const client::LaunchShape& shape) {
  if (deviceAttribute(device.info(), cudaDevAttrCooperativeLaunch) == 0) return cudaErrorNotSupported;
  const client::Dim3 &grid = shape.grid, &block = shape.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024) return cudaErrorInvalidValue;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t resident =
      std::uint64_t{maxActiveBlocks(multiprocessorLimits(device.info()), kernelNeeds(kernel),
                                    static_cast<std::uint32_t>(threads), shape.sharedBytes)} *
      static_cast<std::uint64_t>(deviceAttribute(device.info(), cudaDevAttrMultiProcessorCount));
  return blocks <= resident ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

}  // namespace rouse::cudart
