#include "tools/rouse/check_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "schemas/wire/access_errors.h"

namespace rouse::cli {
namespace {

constexpr const char* kBegin = "========= ";

std::string counted(std::uint64_t count, const char* what) { return std::to_string(count) + " " + what + (count == 1 ? "" : "s"); }

}  // namespace

CheckRun::CheckRun(CheckRun&& other) noexcept
    : options_(other.options_), file_(std::move(other.file_)), record_(std::exchange(other.record_, nullptr)) {}

CheckRun::~CheckRun() {
  if (record_ != nullptr) ::munmap(record_, sizeof *record_);
}

std::uint32_t CheckRun::reports(const CheckOptions& options) {
  if (!options.check) return 0;
  return options.printLimit == 0 ? wire::kAllReports : options.printLimit;
}

Result<CheckRun> CheckRun::begin(const CheckOptions& options) {
  const auto failed = [](const char* what) { return Error{CudaError::systemNotReady, std::string("the record of errors: ") + what + ": " + std::strerror(errno)}; };
  CheckRun run(options);
  run.file_ = wire::OwnedFd(::memfd_create("rouse-check", MFD_CLOEXEC));
  if (!run.file_ || ::ftruncate(run.file_.get(), sizeof(wire::CheckRecord)) != 0) return failed("memfd");
  void* const mapped = ::mmap(nullptr, sizeof(wire::CheckRecord), PROT_READ | PROT_WRITE, MAP_SHARED, run.file_.get(), 0);
  if (mapped == MAP_FAILED) return failed("mmap");
  run.record_ = static_cast<wire::CheckRecord*>(mapped);
  // Through this process, which outlives the program: programs close descriptors that they do not know.
  const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(run.file_.get());
  ::setenv(wire::kCheckRecordVariable, path.c_str(), 1);
  ::setenv(wire::kCheckLeaksVariable, options.leaks ? "full" : "no", 1);
  ::setenv(wire::kCheckApiVariable, options.apiErrors ? "all" : "no", 1);
  return run;
}

int CheckRun::finish(int status) const {
  const auto value = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_acquire); };
  const std::uint64_t kernels = value(record_->invalidAccesses), calls = value(record_->apiErrors), leaks = value(record_->leaks);
  if (value(record_->sessions) == 0) std::cerr << kBegin << "The program has used no GPU: nothing was checked\n";
  if (options_.leaks)
    std::cerr << kBegin << "LEAK SUMMARY: " << counted(value(record_->leakedBytes), "byte") << " leaked in " << counted(leaks, "allocation") << "\n";
  const std::uint64_t errors = kernels + calls + leaks, most = options_.printLimit == 0 ? errors : options_.printLimit;
  std::cerr << kBegin << "ERROR SUMMARY: " << counted(errors, "error") << "\n";
  // Counted of all GPUs together, while each prints so many.
  if (kernels > most || calls + leaks > most) std::cerr << kBegin << "Not all of them may have been printed: --print-limit is " << options_.printLimit << "\n";
  return errors != 0 && options_.errorExitcode != 0 ? options_.errorExitcode : status;
}

}  // namespace rouse::cli
