// A range of this process's addresses held for one function: nothing else is ever mapped there, and what is not backed
// faults.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::device {

class AddressWindow {
 public:
  // `name` is for messages. An empty range is a window that holds nothing.
  static Result<std::unique_ptr<AddressWindow>> reserve(AddressRange range, std::string name);
  ~AddressWindow();
  AddressWindow(const AddressWindow&) = delete;

  // Shares bytes [offset, offset + range.bytes) of the file at the range.
  Status map(AddressRange range, int fd, std::uint64_t offset);
  Status unmap(AddressRange range);
  AddressRange range() const { return range_; }

 private:
  AddressWindow(AddressRange range, std::string name) : range_(range), name_(std::move(name)) {}
  Status check(AddressRange range) const;

  AddressRange range_;
  std::string name_;
};

}  // namespace rouse::device
