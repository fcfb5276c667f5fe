#include "server/device/cpu/runtime/access_check.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "server/device/ptx/module.h"

namespace rouse::cpu {
namespace {

constexpr const char* kBegin = "========= ";

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string triple(const std::uint32_t (&value)[3]) {
  return "(" + std::to_string(value[0]) + "," + std::to_string(value[1]) + "," + std::to_string(value[2]) + ")";
}

const char* nameOf(std::uint32_t space) {
  switch (static_cast<ptx::Space>(space)) {
    case ptx::Space::shared:
      return "__shared__";
    case ptx::Space::local:
      return "__local__";
    case ptx::Space::constant:
      return "__constant__";
    default:
      return "__global__";
  }
}

const char* nameOf(AccessVerb verb) {
  switch (verb) {
    case AccessVerb::write:
      return "write";
    case AccessVerb::atomic:
      return "atomic";
    default:
      return "read";
  }
}

std::string bytesText(std::uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string allocationText(AddressRange range) { return "allocation at " + hex(range.base) + " of size " + bytesText(range.bytes); }

// How the access lies to memory that there is, or was.
std::string relation(const InvalidAccess& invalid, const Allocations& allocations) {
  const Access& access = invalid.access;
  const auto space = static_cast<ptx::Space>(invalid.space);
  if (space == ptx::Space::shared) return "and the block has " + bytesText(invalid.sharedBytes) + " of shared memory";
  if (space == ptx::Space::local) return "and lies in none of the thread's local variables";
  for (auto freed = allocations.freed.rbegin(); freed != allocations.freed.rend(); ++freed)
    if (freed->contains(access.address) && allocations.at(access.address) == nullptr) return "and is inside an " + allocationText(*freed) + " that has been freed";
  const AddressRange* nearest = allocations.nearest(access.address);
  // Close behind a block of the device heap, or in it.
  constexpr std::uint64_t kClose = 4096;
  if (const AddressRange& block = invalid.heapBlock; !block.empty() && access.address < block.end() + kClose) nearest = &block;
  if (nearest == nullptr) return "and there is no allocation";
  const std::string which = "the nearest " + allocationText(*nearest);
  if (access.address < nearest->base) return "and is " + bytesText(nearest->base - access.address) + " before " + which;
  if (access.address >= nearest->end()) return "and is " + bytesText(access.address - nearest->end() + 1) + " after " + which;
  return "and reaches " + bytesText(access.address + access.bytes - nearest->end()) + " beyond the end of " + which;
}

}  // namespace

const AddressRange* Allocations::at(std::uint64_t address) const {
  const auto after = std::upper_bound(live.begin(), live.end(), address, [](std::uint64_t value, const AddressRange& range) { return value < range.base; });
  if (after == live.begin()) return nullptr;
  const AddressRange& before = *std::prev(after);
  return before.contains(address) ? &before : nullptr;
}

const AddressRange* Allocations::nearest(std::uint64_t address) const {
  const auto after = std::upper_bound(live.begin(), live.end(), address, [](std::uint64_t value, const AddressRange& range) { return value < range.base; });
  const AddressRange* const above = after == live.end() ? nullptr : &*after;
  const AddressRange* const below = after == live.begin() ? nullptr : &*std::prev(after);
  if (above == nullptr || below == nullptr) return above == nullptr ? below : above;
  const std::uint64_t beyond = address < below->end() ? 0 : address - below->end();
  return beyond <= above->base - address ? below : above;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string summary(const InvalidAccess& invalid) {
  const Access& access = invalid.access;
  const std::string what = access.verb() == AccessVerb::texture ? "invalid texture or surface access" : std::string("invalid ") + nameOf(invalid.space) + " " + nameOf(access.verb());
  return what + " of " + bytesText(access.bytes) + " at " + hex(access.address) + (access.aligned() ? "" : ", which is misaligned");
}

std::string describe(const InvalidAccess& invalid, const LaunchCheck& check) {
  const Access& access = invalid.access;
  const InstructionSite site = check.site(access.site);
  std::string text = kBegin;
  if (access.verb() == AccessVerb::texture) {
    text += "Invalid texture or surface access";
  } else {
    text += std::string("Invalid ") + nameOf(invalid.space) + " " + nameOf(access.verb()) + " of size " + bytesText(access.bytes);
  }
  const auto line = [&](const std::string& more) { text += "\n" + std::string(kBegin) + "    " + more; };
  line("at " + demangled(site.function) + (site.file.empty() ? "" : " in " + site.file + ":" + std::to_string(site.fileLine)));
  line("PTX line " + std::to_string(site.line) + ": " + site.text);
  if (site.function != invalid.kernel) line("called from kernel " + demangled(invalid.kernel));
  line("by thread " + triple(invalid.thread) + " in block " + triple(invalid.block));
  line((access.verb() == AccessVerb::texture ? "Access through the object or its memory at " : "Access to ") + hex(access.address) +
       (access.aligned() ? " is out of bounds" : " is misaligned"));
  if (access.aligned()) line(relation(invalid, *check.allocations));
  return text + "\n=========\n";
}

}  // namespace rouse::cpu
