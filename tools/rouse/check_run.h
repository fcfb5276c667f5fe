// `rouse run --check`: what a program did wrong, as its kernels' accesses, its calls and its memory show. Conventions are those of NVIDIA's
// compute-sanitizer.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/result.h"
#include "schemas/wire/check_record.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::cli {

struct CheckOptions {
  bool check = false;
  std::uint32_t printLimit = 100;  // 0: none
  int errorExitcode = 0;           // 0: the program's own
  bool leaks = false;
  bool apiErrors = true;
};

// Counts what the processes of one run find.
class CheckRun {
 public:
  // Sets what the program finds it by in this process' environment.
  static Result<CheckRun> begin(const CheckOptions&);
  CheckRun(CheckRun&&) noexcept;
  CheckRun& operator=(CheckRun&&) = delete;
  ~CheckRun();

  // As channel::Prepare wants it.
  static std::uint32_t reports(const CheckOptions&);

  // Says on stderr what has been found. What to end with, the program having ended with `status`.
  int finish(int status) const;

 private:
  explicit CheckRun(const CheckOptions& options) : options_(options) {}
  CheckOptions options_;
  wire::OwnedFd file_;
  wire::CheckRecord* record_ = nullptr;
};

}  // namespace rouse::cli
