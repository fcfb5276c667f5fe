#include "server/device/cuda/ptx_version.h"

#include <charconv>
#include <optional>
#include <utility>

namespace rouse::cuda {
namespace {

using PtxVersion = std::pair<unsigned, unsigned>;

// PTX ISA, "Release Notes": 9.0 came with CUDA 13.0, 9.1 with 13.1.
std::optional<PtxVersion> latestOf(int driverVersion) {
  if (driverVersion / 1000 != 13) return std::nullopt;
  return PtxVersion{9, static_cast<unsigned>(driverVersion % 1000 / 10)};
}

}  // namespace

std::string lowerPtxVersion(std::string& ptx, int driverVersion) {
  constexpr std::string_view kDirective = ".version";
  const auto latest = latestOf(driverVersion);
  const std::size_t directive = ptx.find(kDirective);
  if (!latest || directive == std::string::npos) return {};
  const std::size_t begin = ptx.find_first_not_of(" \t", directive + kDirective.size());
  if (begin == std::string::npos) return {};
  const char *at = ptx.data() + begin, *const end = ptx.data() + ptx.size();
  PtxVersion version{};
  const auto major = std::from_chars(at, end, version.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return {};
  const auto minor = std::from_chars(major.ptr + 1, end, version.second);
  if (minor.ec != std::errc() || version <= *latest) return {};
  const std::string before(at, minor.ptr);
  ptx.replace(begin, before.size(), std::to_string(latest->first) + "." + std::to_string(latest->second));
  return before;
}

}  // namespace rouse::cuda
