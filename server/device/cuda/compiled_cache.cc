#include "server/device/cuda/compiled_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rouse::cuda {
namespace {

// The most that the driver takes (CUDA Programming Guide, "CUDA Environment Variables").
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 30;

}  // namespace

Status keepCompiled(const std::string& directory, std::uint64_t bytes) {
  if (std::getenv("CUDA_CACHE_PATH") != nullptr) return {};
  const std::filesystem::path folder = std::filesystem::path(directory) / "nvidia";
  const auto refused = [&](const std::string& why) { return Error{CudaError::invalidValue, "code cache " + folder.string() + ": " + why}; };
  if (!folder.is_absolute()) return refused("not an absolute path");
  std::error_code ignored;
  std::filesystem::create_directories(folder.parent_path().parent_path(), ignored);
  for (const std::filesystem::path& each : {folder.parent_path(), folder}) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) return refused(std::strerror(errno));
    struct stat status {};
    if (::stat(each.c_str(), &status) != 0) return refused(std::strerror(errno));
    if (!S_ISDIR(status.st_mode)) return refused(each.string() + " is no folder");
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      return refused(each.string() + " must belong to the user of this process, and be writable by nobody else");
  }
  ::setenv("CUDA_CACHE_PATH", folder.c_str(), 0);
  ::setenv("CUDA_CACHE_MAXSIZE", std::to_string(std::min(bytes, kMostBytes)).c_str(), 0);
  return {};
}

}  // namespace rouse::cuda
