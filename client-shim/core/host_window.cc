#include "client-shim/core/host_window.h"

#include <sys/mman.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

namespace rouse::client {

namespace {

Error inTheWay(const char* what, AddressRange range, int number) {
  char text[160];
  std::snprintf(text, sizeof text, "%s of %" PRIu64 " bytes at 0x%" PRIx64 ": %s", what, range.bytes, range.base,
                std::strerror(number));
  return {CudaError::initializationError, text};
}

Result<wire::Mapping> mapExactly(const char* what, AddressRange range, int protection, int flags, int fd) {
  if (range.empty() || !isAligned(range.base, wire::kPageBytes) || !isAligned(range.bytes, wire::kPageBytes)) {
    return inTheWay(what, range, EINVAL);
  }
  void* wanted = reinterpret_cast<void*>(range.base);
  void* got = ::mmap(wanted, range.bytes, protection, flags | MAP_FIXED_NOREPLACE | MAP_NORESERVE, fd, 0);
  if (got == MAP_FAILED) return inTheWay(what, range, errno);
  if (got != wanted) {  // kernels before 4.17 take the flag for a hint
    ::munmap(got, range.bytes);
    return inTheWay(what, range, EEXIST);
  }
  return wire::Mapping{static_cast<std::byte*>(got), range.bytes};
}

}  // namespace

Result<HostWindow> HostWindow::map(wire::OwnedFd memory, AddressRange range) {
  if (range.bytes < wire::kStagingBytes) return inTheWay("host window, smaller than its staging,", range, EINVAL);
  if (Status status = wire::checkSealedMemfd(memory.get(), "host window", range.bytes); !status) return status.error();
  auto mapping = mapExactly("host window", range, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get());
  if (!mapping) return mapping.error();
  return HostWindow{std::move(memory), range, std::move(*mapping)};
}

void HostWindow::discard(AddressRange part) const { ::madvise(pointer(part.base), part.bytes, MADV_REMOVE); }

Status HostWindow::mapAt(void* pages, AddressRange part, int protection) const {
  void* got = ::mmap(pages, part.bytes, protection, MAP_SHARED | MAP_FIXED, memory_.get(),
                     static_cast<off_t>(part.base - range_.base));
  if (got == MAP_FAILED)
    return inTheWay("remapping program memory", {reinterpret_cast<std::uint64_t>(pages), part.bytes}, errno);
  return {};
}

void HostWindow::privatizeInChild() const {
  ::mmap(mapping_.base(), mapping_.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
         memory_.get(), 0);
}

void HostWindow::privatizeInChild(void* pages, AddressRange part) const {
  ::mmap(pages, part.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, memory_.get(),
         static_cast<off_t>(part.base - range_.base));
}

Result<wire::Mapping> reserveWindow(AddressRange range) {
  return mapExactly("device window", range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

}  // namespace rouse::client
