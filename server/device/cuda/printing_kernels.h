// Which kernels of a module may print: those from which vprintf can be called, the function behind the device's printf
// (CUDA Programming Guide, "Formatted output"). Where code does not say who calls it, all of them may.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "server/device/cuda/module_images.h"

namespace rouse::cuda {

struct PrintingKernels {
  bool all = false;
  std::set<std::string, std::less<>> names;
  bool prints(std::string_view kernel) const { return all || names.contains(kernel); }
};

// Pure. `images`: from clients; what cannot be read in them counts as printing.
PrintingKernels printingKernels(std::span<const ModuleImage> images);

}  // namespace rouse::cuda
