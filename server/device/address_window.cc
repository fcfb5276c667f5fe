#include "server/device/address_window.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace rouse::device {
namespace {

constexpr std::uint64_t kPage = 4096;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

std::string text(AddressRange range) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "[0x%llx, +0x%llx)", static_cast<unsigned long long>(range.base),
                static_cast<unsigned long long>(range.bytes));
  return digits;
}

}  // namespace

Result<std::unique_ptr<AddressWindow>> AddressWindow::reserve(AddressRange range, std::string name) {
  if (!isAligned(range.base, kPage) || !isAligned(range.bytes, kPage)) {
    return Error{CudaError::invalidValue, name + " " + text(range) + " is not a multiple of pages"};
  }
  if (!range.empty()) {
    void* got = mmap(pointer(range.base), range.bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) {
      return Error{CudaError::initializationError, name + " " + text(range) + ": " + std::strerror(errno)};
    }
    if (got != pointer(range.base)) {
      munmap(got, range.bytes);
      return Error{CudaError::initializationError, name + " " + text(range) + " is taken"};
    }
  }
  return std::unique_ptr<AddressWindow>(new AddressWindow(range, std::move(name)));
}

AddressWindow::~AddressWindow() {
  if (!range_.empty()) munmap(pointer(range_.base), range_.bytes);
}

Status AddressWindow::check(AddressRange range) const {
  if (!range.empty() && range_.contains(range) && isAligned(range.base, kPage) && isAligned(range.bytes, kPage))
    return {};
  return Error{CudaError::invalidValue,
               "range " + text(range) + " is not one of whole pages in the " + name_ + " " + text(range_)};
}

Status AddressWindow::map(AddressRange range, int fd, std::uint64_t offset) {
  if (auto status = check(range); !status) return status;
  void* got = mmap(pointer(range.base), range.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                   static_cast<off_t>(offset));
  if (got == MAP_FAILED) {
    return Error{CudaError::memoryAllocation,
                 "mapping " + text(range) + " in the " + name_ + ": " + std::strerror(errno)};
  }
  return {};
}

Status AddressWindow::unmap(AddressRange range) {
  if (auto status = check(range); !status) return status;
  void* got =
      mmap(pointer(range.base), range.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) {
    return Error{CudaError::unknown, "unmapping " + text(range) + " in the " + name_ + ": " + std::strerror(errno)};
  }
  return {};
}

}  // namespace rouse::device
