// cudaHostRegister: the program's pages become pages of the host window.
#include <sys/mman.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "client-shim/core/error_codes.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/host_window.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"

namespace rouse::client {

namespace {

struct Protection {
  CudaError error = CudaError::success;
  int bits = 0;  // of all pages of the range
};

// What the range is mapped as (proc(5), /proc/pid/maps). Shared memory cannot be moved: others see the old pages.
Protection protectionOf(AddressRange pages) {
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
  if (maps == nullptr) return {CudaError::notSupported};
  Protection result{CudaError::success, PROT_READ | PROT_WRITE | PROT_EXEC};
  std::uint64_t next = pages.base;
  std::vector<char> line(8192);
  while (next < pages.end() && std::fgets(line.data(), static_cast<int>(line.size()), maps.get()) != nullptr) {
    std::uint64_t begin, end;
    char mode[5] = {};
    if (std::sscanf(line.data(), "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, mode) != 3) continue;
    if (end <= next) continue;
    if (begin > next) break;
    if (mode[3] != 'p' || std::strstr(line.data(), "[stack]") != nullptr) return {CudaError::notSupported};
    if (mode[0] != 'r') return {CudaError::invalidValue};
    if (mode[1] != 'w') result.bits &= ~PROT_WRITE;
    if (mode[2] != 'x') result.bits &= ~PROT_EXEC;
    next = end;
  }
  if (next < pages.end()) return {CudaError::invalidValue};
  return result;
}

// Whole pages, with what lies beside the range. In a program built with AddressSanitizer that is poisoned, and memcpy is the
// sanitizer's: so not memcpy.
__attribute__((no_sanitize("address", "thread"))) void copyPages(std::byte* to, const std::byte* from, std::uint64_t bytes) {
#if defined(__x86_64__)
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
  const auto* source = reinterpret_cast<const volatile std::uint64_t*>(from);
  auto* target = reinterpret_cast<volatile std::uint64_t*>(to);
  for (std::uint64_t i = 0; i < bytes / 8; ++i) target[i] = source[i];
#endif
}

}  // namespace

CudaError HostHeap::registerRange(void* address, std::uint64_t bytes, std::uint32_t flags, std::uint32_t deviceIndex) {
  const AddressRange range{reinterpret_cast<std::uint64_t>(address), bytes};
  if (range.base == 0 || bytes == 0 || range.base + bytes < range.base) return CudaError::invalidValue;
  const std::uint64_t first = roundDown(range.base, wire::kPageBytes);
  const AddressRange pages{first, roundUp(range.end(), wire::kPageBytes) - first};
  if (pages.overlaps(window_.range())) return kHostMemoryAlreadyRegistered;
  if (session_.deviceAt(range.base) != nullptr) return CudaError::invalidValue;

  const std::lock_guard lock(mutex_);
  const auto after = registered_.lower_bound(pages.end());
  if (after != registered_.begin() && std::prev(after)->second.pages.overlaps(pages))
    return kHostMemoryAlreadyRegistered;
  const Protection protection = protectionOf(pages);
  if (protection.error != CudaError::success) {
    log(LogLevel::warn, "cudaHostRegister: %" PRIu64 " bytes at 0x%" PRIx64 " are %s", bytes, range.base,
        protection.error == CudaError::notSupported ? "shared or stack memory, which cannot be registered"
                                                    : "not readable memory");
    return protection.error;
  }

  AddressRange backing;
  if (const CudaError error = takeRange(pages.bytes, &backing); error != CudaError::success) return error;
  copyPages(window_.pointer(backing.base), reinterpret_cast<const std::byte*>(pages.base), pages.bytes);
  if (Status status = window_.mapAt(reinterpret_cast<void*>(pages.base), backing, protection.bits); !status) {
    log(LogLevel::error, "cudaHostRegister: %s", status.error().message.c_str());
    retiring_.push_back(unmapRange(backing));
    return status.error().code;
  }
  Registered& entry = registered_[pages.base];
  entry = {pages, backing, protection.bits, {}};
  entry.allocation = {.kind = MemoryKind::registered, .deviceIndex = deviceIndex, .flags = flags, .range = range};
  entry.allocation.hostBase = range.base;
  entry.allocation.deviceBase = backing.base + (range.base - pages.base);
  entry.allocation.bufferId = session_.handles().nextId();
  // The same memory by its device pointer.
  Allocation& alias = blocks_[entry.allocation.deviceBase];
  alias = entry.allocation;
  alias.range.base = alias.deviceBase;
  tellAllocated(alias.range);
  registeredCount_.fetch_add(1, std::memory_order_release);
  return CudaError::success;
}

CudaError HostHeap::unregisterRange(void* address) {
  const auto base = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard lock(mutex_);
  const auto found = registered_.find(roundDown(base, wire::kPageBytes));
  if (base == 0) return CudaError::invalidValue;
  if (found == registered_.end() || found->second.allocation.range.base != base) return kHostMemoryNotRegistered;
  const Registered entry = found->second;

  void* fresh = ::mmap(nullptr, entry.pages.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED) return CudaError::memoryAllocation;
  tellFreed({entry.allocation.deviceBase, entry.allocation.range.bytes});
  // Where the wait fails the executor is gone: nobody will write there any more.
  (void)wait(unmapRange(entry.backing));
  std::memcpy(fresh, window_.pointer(entry.backing.base), entry.pages.bytes);
  ::mprotect(fresh, entry.pages.bytes, entry.protection);
  void* moved = ::mremap(fresh, entry.pages.bytes, entry.pages.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                         reinterpret_cast<void*>(entry.pages.base));
  if (moved == MAP_FAILED) {
    log(LogLevel::error, "cudaHostUnregister: mremap: %s", std::strerror(errno));
    ::munmap(fresh, entry.pages.bytes);
    return CudaError::unknown;
  }
  blocks_.erase(entry.allocation.deviceBase);
  registered_.erase(found);
  registeredCount_.fetch_sub(1, std::memory_order_release);
  finish(entry.backing);
  return CudaError::success;
}

void HostHeap::privatizeInChild() const {
  window_.privatizeInChild();
  for (const auto& [base, entry] : registered_) {
    window_.privatizeInChild(reinterpret_cast<void*>(base), entry.backing);
  }
}

}  // namespace rouse::client
