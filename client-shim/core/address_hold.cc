#include "client-shim/core/address_hold.h"

#include <sys/mman.h>

#include "schemas/wire/layout.h"

namespace rouse::client {
namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)

bool take(std::uint64_t page) {
  void* got = ::mmap(pointer(page), wire::kPageBytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got == pointer(page)) return true;
  ::munmap(got, wire::kPageBytes);  // a kernel that does not know MAP_FIXED_NOREPLACE
  return false;
}

std::uint64_t firstPage(AddressRange range) { return roundDown(range.base, wire::kPageBytes); }
std::uint64_t endPage(AddressRange range) { return roundUp(range.end(), wire::kPageBytes); }

}  // namespace

AddressHold::~AddressHold() {
  for (const auto& [page, users] : pages_) ::munmap(pointer(page), wire::kPageBytes);
}

bool AddressHold::hold(AddressRange range) {
  if (range.end() < range.base || firstPage(range) == 0) return false;
  for (std::uint64_t page = firstPage(range); page != endPage(range); page += wire::kPageBytes) {
    if (!pages_.contains(page) && !take(page)) {
      release({firstPage(range), page - firstPage(range)});
      return false;
    }
    ++pages_[page];
  }
  return true;
}

void AddressHold::release(AddressRange range) {
  if (range.empty()) return;
  for (std::uint64_t page = firstPage(range); page != endPage(range); page += wire::kPageBytes) {
    const auto found = pages_.find(page);
    if (found == pages_.end() || --found->second != 0) continue;
    ::munmap(pointer(page), wire::kPageBytes);
    pages_.erase(found);
  }
}

}  // namespace rouse::client
