#include "client-shim/core/access_check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "client-shim/core/device.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "schemas/wire/access_errors.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::client {

namespace {

// Null, with a line in the log: counts stay in this process, and the tool that waits for them tells of none.
wire::CheckRecord* openRecord() {
  const char* path = std::getenv(wire::kCheckRecordVariable);
  if (path == nullptr) return nullptr;
  const wire::OwnedFd file(::open(path, O_RDWR | O_CLOEXEC));
  const off_t bytes = file ? ::lseek(file.get(), 0, SEEK_END) : -1;
  const bool whole = bytes >= static_cast<off_t>(sizeof(wire::CheckRecord));
  if (bytes >= 0 && !whole) errno = EINVAL;  // it is none
  void* const mapped = whole ? ::mmap(nullptr, sizeof(wire::CheckRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  if (mapped != MAP_FAILED) return static_cast<wire::CheckRecord*>(mapped);
  log(LogLevel::error, "%s=%s cannot be used: %s; rouse run will not know of errors that were found", wire::kCheckRecordVariable, path,
      std::strerror(errno));
  return nullptr;
}

bool isSet(const char* name, const char* value) {
  const char* const set = std::getenv(name);
  return set != nullptr && std::strcmp(set, value) == 0;
}

const char* kindOf(const Allocation& allocation) {
  if (allocation.kind == MemoryKind::managed) return "managed";
  return allocation.kind == MemoryKind::pinned ? "pinned host" : "device";
}

}  // namespace

AccessCheck::AccessCheck(Session& session, std::uint32_t mostReports)
    : session_(session),
      mostReports_(mostReports),
      leaks_(isSet(wire::kCheckLeaksVariable, "full")),
      apiErrors_(!isSet(wire::kCheckApiVariable, "no")) {
  if (wire::CheckRecord* const record = openRecord()) record_ = record;
  record_->sessions.fetch_add(1, std::memory_order_relaxed);
}

AccessCheck::~AccessCheck() {
  if (record_ != &own_) ::munmap(record_, sizeof *record_);
}

bool AccessCheck::mayReport() {
  return record_->reports.fetch_add(1, std::memory_order_relaxed) < mostReports_ || mostReports_ == wire::kAllReports;
}

void AccessCheck::leaked(const std::vector<Allocation>& live) {
  for (const Allocation& allocation : live) {
    record_->leaks.fetch_add(1, std::memory_order_relaxed);
    record_->leakedBytes.fetch_add(allocation.range.bytes, std::memory_order_relaxed);
    if (!mayReport()) continue;
    std::fprintf(stderr, "========= Leaked %" PRIu64 " bytes of %s memory at 0x%" PRIx64 "\n=========\n", allocation.range.bytes, kindOf(allocation),
                 allocation.range.base);
  }
}

void AccessCheck::apiError(const char* function, int code, const char* name, const char* text) {
  if (!apiErrors_) return;
  record_->apiErrors.fetch_add(1, std::memory_order_relaxed);
  if (!mayReport()) return;
  std::fprintf(stderr, "========= Program hit %s (error %d) due to \"%s\" on CUDA API call to %s.\n=========\n", name, code, text, function);
}

void AccessCheck::collect() {
  const std::lock_guard lock(mutex_);
  counted_.resize(session_.deviceCount());
  for (std::uint32_t index = 0; index < counted_.size(); ++index) {
    const std::uint64_t now = wire::accessErrors(session_.device(index).status()).load(std::memory_order_acquire);
    if (now <= counted_[index]) continue;
    record_->invalidAccesses.fetch_add(now - counted_[index], std::memory_order_relaxed);
    counted_[index] = now;
  }
}

}  // namespace rouse::client
