// The client's part of `rouse run --check`: calls that return errors, memory that is left at the end, and the count of what the executor has
// found in kernels. Lines go to stderr, as those about kernels do. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "client-shim/core/allocation.h"
#include "schemas/wire/check_record.h"

namespace rouse::client {

class Session;

class AccessCheck {
 public:
  // Behind every block of device memory, so that what lies behind its end is nobody's.
  static constexpr std::uint64_t kGapBytes = 512;

  // `mostReports`: as wire::kAllReports. Options come from the environment (check_record.h).
  AccessCheck(Session& session, std::uint32_t mostReports);
  ~AccessCheck();
  AccessCheck(const AccessCheck&) = delete;

  // The end of device memory, or of all: what is live is left over.
  void leaked(const std::vector<Allocation>& live);
  bool wantsLeaks() const { return leaks_; }
  // `name`: of the error, `text`: what it means.
  void apiError(const char* function, int code, const char* name, const char* text);
  // Counts what the executors have told so far.
  void collect();

 private:
  bool mayReport();

  Session& session_;
  const std::uint32_t mostReports_;
  bool leaks_ = false, apiErrors_ = true;
  wire::CheckRecord own_{};
  wire::CheckRecord* record_ = &own_;  // or what `rouse run` made
  std::mutex mutex_;
  std::vector<std::uint64_t> counted_;  // of each device
};

}  // namespace rouse::client
