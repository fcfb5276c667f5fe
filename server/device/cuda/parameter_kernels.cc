#include "server/device/cuda/parameter_kernels.h"

#include <algorithm>

#include "server/device/ptx/failure.h"
#include "server/device/ptx/parameter_reach.h"
#include "server/device/ptx/parser.h"
#include "server/fatbin/fatbin.h"

namespace rouse::cuda {

ParameterKernels parameterKernels(std::span<const std::byte> module, std::uint32_t capability) {
  // Code for just this architecture (sm_90a) goes first, and may have been made of what other text leaves out.
  const auto entries = fatbin::entries(module);
  if (entries.ok() && std::any_of(entries->begin(), entries->end(), [&](const fatbin::Entry& entry) {
        return entry.kind == fatbin::EntryKind::cubin && entry.architecture == capability && entry.reach != fatbin::Reach::later;
      }))
    return {};
  const auto text = fatbin::selectPtx(module, capability);
  if (!text.ok() || text->size() > kMostTextBytes) return {};
  try {
    const ptx::Module parsed = ptx::parse(*text);
    return {parsed.target, ptx::kernelsThatReachOnlyParameters(parsed)};
  } catch (const ptx::Failure&) {
    return {};
  }
}

}  // namespace rouse::cuda
