// The host window: one memfd, mapped by this process and by its executors at the same address. Addresses and pages
// only; who uses which part is HostMemory's and Staging's business.
#pragma once

#include <cstdint>
#include <memory>

#include "schemas/base/range.h"
#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"
#include "schemas/wire/segment.h"

namespace rouse::client {

class HostWindow {
 public:
  // Maps all of it, exactly there; initializationError where something else of the process lies in the way.
  static Result<HostWindow> map(wire::OwnedFd memory, AddressRange range);

  AddressRange range() const { return range_; }
  std::byte* pointer(std::uint64_t address) const { return reinterpret_cast<std::byte*>(address); }

  // Gives the pages back to the system; they read as zero afterwards.
  void discard(AddressRange part) const;

  // Maps part of the window over pages of the program, which become the same memory. `protection`: PROT_*.
  Status mapAt(void* pages, AddressRange part, int protection) const;

  // In a forked child: the same bytes, but what is written stays in the child. Async-signal-safe.
  void privatizeInChild() const;
  void privatizeInChild(void* pages, AddressRange part) const;
  void closeInChild() { memory_.reset(); }

 private:
  HostWindow(wire::OwnedFd memory, AddressRange range, wire::Mapping mapping)
      : memory_(std::move(memory)), range_(range), mapping_(std::move(mapping)) {}

  wire::OwnedFd memory_;
  AddressRange range_;
  wire::Mapping mapping_;
};

// Reserves the addresses of a device window, so that nothing else of the process gets them and a stray access faults.
Result<wire::Mapping> reserveWindow(AddressRange range);

}  // namespace rouse::client
