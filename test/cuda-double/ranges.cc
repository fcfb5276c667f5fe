#include "test/cuda-double/ranges.h"

#include <sys/mman.h>

#include "test/cuda-double/state.h"

namespace rouse::cuda_double {
namespace {

using Place = VirtualMemory::Place;

bool mappedOnHost(AddressRange range) {
  const std::uint64_t page = roundDown(range.base, 4096);
  return msync(reinterpret_cast<void*>(page), range.end() - page, MS_ASYNC) == 0;
}

const char* ruleOf(Place place) {
  switch (place) {
    case Place::reserved:
      return "unmapped";
    case Place::mapped:
      return "inaccessible";
    case Place::readable:
      return "read-only";
    default:
      return "not-device-memory";
  }
}

bool allUsable(AddressRange range, MemoryKind kind, bool reading) {
  switch (kind) {
    case MemoryKind::device:
      return state().memory.placeOf(range) >= (reading ? Place::readable : Place::accessible);
    case MemoryKind::registered:
      return here()->isRegistered(range);
    case MemoryKind::pageable:
      return mappedOnHost(range);
  }
  return false;
}

}  // namespace

std::optional<MemoryKind> usable(const Rows& rows, Expect expect, const char* name, bool reading) {
  if (expect == Expect::array) return MemoryKind::registered;  // rowsOf() has looked
  const bool device = state().memory.placeOf({rows.base, 1}) != Place::none;
  const auto refuse = [&](const char* rule, AddressRange range) {
    violate(rule, std::string(name) + " [" + hex(range.base) + ", +" + hex(range.bytes) + ")");
    return std::nullopt;
  };
  if (expect == Expect::device && !device && !here()->isRegistered({rows.base, 1}))
    return refuse("not-device-memory", rows.span());
  if (expect == Expect::host && device) return refuse("not-host-memory", rows.span());
  const MemoryKind kind = device                                 ? MemoryKind::device
                          : here()->isRegistered({rows.base, 1}) ? MemoryKind::registered
                                                                 : MemoryKind::pageable;
  if (allUsable(rows.span(), kind, reading)) return kind;
  // What lies between the rows need not be usable.
  for (std::uint64_t z = 0; z < rows.depth; ++z) {
    for (std::uint64_t y = 0; y < rows.height; ++y) {
      const AddressRange row{rows.row(y, z), rows.width};
      if (allUsable(row, kind, reading)) continue;
      if (kind == MemoryKind::device) return refuse(ruleOf(state().memory.placeOf(row)), row);
      return refuse(kind == MemoryKind::registered ? "beyond-registration" : "not-mapped-on-host", row);
    }
  }
  return kind;
}

}  // namespace rouse::cuda_double
