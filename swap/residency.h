// Where the current content of each granule of one function's window is.
//
//   absent     not the program's
//   zero       the program's, never written: reads as zero, needs neither memory nor a home
//   onDevice   on the device only: no home yet, or the home is out of date (dirty)
//   onHost     at home only
//   both       on the device, and the home is its equal (clean)
//   arriving   at home, on its way to the device
//   leaving    on the device, on its way home
//
//                  materialize            leave               arrived
//      absent → zero ───────→ onDevice ─────────→ leaving   arriving ──→ both
//          map     ←─────────    ↑   ←──────────    │ left     ↑  arrivalFailed → onHost
//                  foundZero     │ wrote  leaveFailed↓         │ arrive
//                                └───────────────── both ───→ onHost
//                                                     evictClean
//
// No transition gives up the last copy: device memory of a granule is free only when evictClean(), foundZero() or unmap() says so.
// A transition names a range, all of it in the state that it starts from; otherwise it fails with invalidValue, naming
// the first granule that is not, and changes nothing. Everything costs a few operations for 64 granules. Not thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::swap {

enum class PageState : std::uint8_t { absent, zero, onDevice, onHost, both, arriving, leaving };
inline constexpr std::size_t kPageStates = 7;
const char* name(PageState state);

// Granules of a window, counted from its base.
struct GranuleRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  constexpr bool operator==(const GranuleRange&) const = default;
};

class Residency {
 public:
  explicit Residency(std::uint32_t granules);

  Status map(GranuleRange range);            // absent → zero
  Status unmap(GranuleRange range);          // zero, onDevice, onHost, both → absent: the program freed it
  Status materialize(GranuleRange range);    // zero → onDevice: it has device memory, filled with zeros, and may be written
  Status wrote(GranuleRange range);          // both, onDevice → onDevice: what is at home is out of date
  Status foundZero(GranuleRange range);      // onDevice, both → zero: it holds nothing but zeros
  Status arrive(GranuleRange range);         // onHost → arriving
  Status arrived(GranuleRange range);        // arriving → both
  Status arrivalFailed(GranuleRange range);  // arriving → onHost
  Status leave(GranuleRange range);          // onDevice → leaving
  Status left(GranuleRange range);           // leaving → both: the home is its equal
  Status leaveFailed(GranuleRange range);    // leaving → onDevice: also when it was written meanwhile
  // Every granule in both → onHost. Returns how many: their device memory is free.
  std::uint32_t evictClean();
  std::uint32_t evictClean(GranuleRange range);  // the clean ones in a range, which lies in the window

  PageState state(std::uint32_t granule) const;
  std::uint32_t granules() const { return granules_; }
  std::uint32_t count(PageState state) const { return counts_[static_cast<std::size_t>(state)]; }
  // Everything that is on the device, or about to be, is at home as well.
  bool allClean() const { return count(PageState::onDevice) + count(PageState::leaving) == 0; }
  // Granules that have device memory.
  std::uint32_t onDevice() const {
    return count(PageState::onDevice) + count(PageState::both) + count(PageState::arriving) + count(PageState::leaving);
  }

  // visit(granule), ascending, for those in the state.
  template <class Visit>
  void forEach(PageState state, Visit&& visit) const {
    forEachBit([&](std::size_t word) { return plane(state)[word]; }, visit);
  }
  template <class Visit>
  void forEachDirty(Visit&& visit) const { forEach(PageState::onDevice, visit); }
  template <class Visit>
  void forEachHomeOnly(Visit&& visit) const { forEach(PageState::onHost, visit); }
  template <class Visit>
  void forEachOnDevice(Visit&& visit) const {
    forEachBit(
        [&](std::size_t word) {
          return plane(PageState::onDevice)[word] | plane(PageState::both)[word] | plane(PageState::arriving)[word] |
                 plane(PageState::leaving)[word];
        },
        visit);
  }

 private:
  using Plane = std::vector<std::uint64_t>;

  Plane& plane(PageState state) { return planes_[static_cast<std::size_t>(state)]; }
  const Plane& plane(PageState state) const { return planes_[static_cast<std::size_t>(state)]; }
  template <class Word, class Visit>
  void forEachBit(Word&& word, Visit&& visit) const {
    for (std::size_t i = 0; i < planes_[0].size(); ++i)
      for (std::uint64_t bits = word(i); bits != 0; bits &= bits - 1)
        visit(static_cast<std::uint32_t>(i * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
  }
  Status move(GranuleRange range, std::initializer_list<PageState> from, PageState to, const char* doing);
  std::uint32_t moveWord(std::size_t word, std::uint64_t bits, PageState from, PageState to);

  std::uint32_t granules_;
  std::array<Plane, kPageStates> planes_;  // each granule's bit is set in one
  std::array<std::uint32_t, kPageStates> counts_{};
};

}  // namespace rouse::swap
