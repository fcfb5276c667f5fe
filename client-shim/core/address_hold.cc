#include "client-shim/core/address_hold.h"

#include <sys/mman.h>

namespace rouse::client {
namespace {

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)

}  // namespace

bool AddressHold::take(std::uint64_t page) const {
  void* got = ::mmap(pointer(page), unit_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got == pointer(page)) return true;
  ::munmap(got, unit_);  // a kernel that does not know MAP_FIXED_NOREPLACE
  return false;
}

AddressHold::~AddressHold() {
  for (const auto& [page, users] : pages_) ::munmap(pointer(page), unit_);
}

bool AddressHold::hold(AddressRange range) {
  if (range.end() < range.base || firstPage(range) == 0) return false;
  for (std::uint64_t page = firstPage(range); page != endPage(range); page += unit_) {
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
  for (std::uint64_t page = firstPage(range); page != endPage(range); page += unit_) {
    const auto found = pages_.find(page);
    if (found == pages_.end() || --found->second != 0) continue;
    ::munmap(pointer(page), unit_);
    pages_.erase(found);
  }
}

}  // namespace rouse::client
