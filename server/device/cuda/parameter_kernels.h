// Which kernels of a module reach only memory that their parameters lead to (server/device/ptx/parameter_reach.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace rouse::cuda {

struct ParameterKernels {
  std::uint32_t target = 0;  // the architecture that the text is for, 90: it says nothing of machine code that was made for another
  std::set<std::string, std::less<>> names;
  bool contains(std::string_view kernel, std::uint32_t ptxVersion) const { return target != 0 && ptxVersion == target && names.contains(kernel); }
};

// `module`: from a client, one that imagesFor() takes. None where there is no PTX for a GPU of this capability, or code for no other that goes first; where it is longer than kMostTextBytes, or it has what the parser does not
// know. Pure.
ParameterKernels parameterKernels(std::span<const std::byte> module, std::uint32_t capability);

// Parsed, PTX takes some fifty times as much memory for the while.
inline constexpr std::size_t kMostTextBytes = std::size_t{8} << 20;

}  // namespace rouse::cuda
