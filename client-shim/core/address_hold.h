// Addresses that a device has given to module variables. They lie outside all windows, so that nothing keeps this
// process from having memory of its own there, and a pointer would then mean two things: the pages are kept from being
// used here.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

#include "schemas/base/range.h"

namespace rouse::client {

class AddressHold {
 public:
  AddressHold() = default;
  ~AddressHold();
  AddressHold(const AddressHold&) = delete;

  // False, and nothing changes, if the process has memory of its own there.
  bool hold(AddressRange range);
  // What hold() was called with.
  void release(AddressRange range);

 private:
  std::map<std::uint64_t, std::uint32_t> pages_;  // page -> variables that touch it
};

}  // namespace rouse::client
