// What a program run under `rouse run --check` has been found to do wrong, counted by its client library for the command line tool to tell. A
// file of this size, made by `rouse run`, whose path is in the program's environment; all processes of one run add to it. Nothing depends on
// what is in it but that tool's summary and its exit code.
#pragma once

#include <atomic>
#include <cstdint>

namespace rouse::wire {

struct CheckRecord {
  std::atomic<std::uint64_t> sessions;        // processes that have attached
  std::atomic<std::uint64_t> invalidAccesses;  // and other faults of kernels
  std::atomic<std::uint64_t> apiErrors;
  std::atomic<std::uint64_t> leaks;
  std::atomic<std::uint64_t> leakedBytes;
  std::atomic<std::uint64_t> reports;  // API errors and leaks, printed or beyond the limit
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr const char* kCheckRecordVariable = "ROUSE_CHECK_RECORD";  // path
inline constexpr const char* kCheckLeaksVariable = "ROUSE_CHECK_LEAKS";    // "full": allocations that are left at the end are reported
inline constexpr const char* kCheckApiVariable = "ROUSE_CHECK_API";        // "no": errors that calls return are not reported

}  // namespace rouse::wire
