#include "server/device/cuda/parameter_kernels.h"

#include "server/device/cpu/ptx/failure.h"
#include "server/device/cpu/ptx/parameter_reach.h"
#include "server/device/cpu/ptx/parser.h"
#include "server/fatbin/fatbin.h"

namespace rouse::cuda {

ParameterKernels parameterKernels(std::span<const std::byte> module, std::uint32_t capability) {
  const auto text = fatbin::selectPtx(module, capability);
  if (!text.ok() || text->size() > kMostTextBytes) return {};
  try {
    const cpu::ptx::Module parsed = cpu::ptx::parse(*text);
    return {parsed.target, cpu::ptx::kernelsThatReachOnlyParameters(parsed)};
  } catch (const cpu::ptx::Failure&) {
    return {};
  }
}

}  // namespace rouse::cuda
