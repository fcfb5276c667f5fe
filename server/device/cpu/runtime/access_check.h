// What a launch may access, and what is said of an access that it may not make: the runtime's part of checked code (abi.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schemas/base/range.h"
#include "server/device/cpu/abi.h"
#include "server/device/cpu/program.h"

namespace rouse::cpu {

// As of one moment of the command stream.
struct Allocations {
  std::vector<AddressRange> live;   // by address; they do not overlap
  std::vector<AddressRange> freed;  // not long ago, the latest last

  // The one that holds the address; null: none.
  const AddressRange* at(std::uint64_t address) const;
  // The one that lies nearest to the address; null: there is none.
  const AddressRange* nearest(std::uint64_t address) const;
};

struct Access {
  std::uint64_t address = 0, bytes = 0;  // an offset, in shared memory
  std::uint32_t site = 0, what = 0;      // as rouse_cpu_check() is told

  AccessVerb verb() const { return static_cast<AccessVerb>(what & 3); }
  std::uint32_t space() const { return what >> 2 & 63; }  // ptx::Space
  std::uint32_t alignment() const { return what >> 8 & 255; }
  std::uint32_t range() const { return what >> 16; }
  bool aligned() const { return alignment() <= 1 || address % alignment() == 0; }
};

// Of one launch; shared by its workers.
struct LaunchCheck {
  std::shared_ptr<const Allocations> allocations;
  std::function<InstructionSite(std::uint32_t site)> site;
  // One more invalid access, or other fault of a kernel; whether it is to be reported. Any thread.
  std::function<bool()> count;
};

// Of an access that was not valid, all that people want to know.
struct InvalidAccess {
  Access access;
  std::uint32_t space = 0;  // ptx::Space; of a generic address: where it points
  std::string kernel;       // mangled
  std::uint32_t block[3] = {}, thread[3] = {};
  std::uint32_t sharedBytes = 0;
  AddressRange heapBlock{};  // of the device heap, that begins before it; empty: none does
};
std::string describe(const InvalidAccess&, const LaunchCheck&);
// The same in a line, without where in the program it is.
std::string summary(const InvalidAccess&);

// As people write it.
std::string demangled(const std::string& name);

}  // namespace rouse::cpu
