// How much memory this process may still have, and what sets the limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "schemas/base/result.h"

namespace rouse::memory {

struct MemoryRequest {
  std::uint64_t bytes = 0;
  bool hugetlb = false;  // out of the kernel's reserve of huge pages, not out of free memory
  bool lock = false;
};

// memoryAllocation when the machine (MemAvailable), a control group on the way up from this process's (version 2:
// memory.max and memory.high, less memory.current; version 1: memory.limit_in_bytes), RLIMIT_AS, RLIMIT_FSIZE (a memfd is a
// file) or, to lock, RLIMIT_MEMLOCK leaves less. Says what was asked, what the limit is and who may raise it. What is
// free now may be gone a moment later: it keeps mistakes from becoming kills by the kernel, no more. `root` is where /proc
// and /sys are found.
Status checkMemoryLimits(const MemoryRequest& request, const std::filesystem::path& root = "/");

// Bytes in unreserved free huge pages of 2 MiB.
std::uint64_t freeHugePageBytes(const std::filesystem::path& root = "/");

}  // namespace rouse::memory
