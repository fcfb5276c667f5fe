// Addresses that a device has given to module variables, or that another process shares with this one. They lie outside this process's windows, so
// that nothing keeps it from having memory of its own there, and a pointer would then mean two things: the pages are kept from being used here.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "schemas/base/range.h"
#include "schemas/wire/layout.h"

namespace rouse::client {

class AddressHold {
 public:
  // `unit`: bytes that are held at once, a multiple of a page.
  explicit AddressHold(std::uint64_t unit = wire::kPageBytes) : unit_(unit) {}
  ~AddressHold();
  AddressHold(const AddressHold&) = delete;

  // False, and nothing changes, if the process has memory of its own there.
  bool hold(AddressRange range);
  // What hold() was called with.
  void release(AddressRange range);

 private:
  bool take(std::uint64_t page) const;
  std::uint64_t firstPage(AddressRange range) const { return roundDown(range.base, unit_); }
  std::uint64_t endPage(AddressRange range) const { return roundUp(range.end(), unit_); }

  const std::uint64_t unit_;
  std::map<std::uint64_t, std::uint32_t> pages_;  // of a unit each -> what touches it
};

}  // namespace rouse::client
