#include "swap/residency.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace rouse::swap {
namespace {

// visit(word, mask) for each word that the range has part of, until one returns false.
template <class Visit>
bool forEachWord(GranuleRange range, Visit&& visit) {
  const std::size_t end = std::size_t{range.first} + range.count;
  for (std::size_t at = range.first; at < end;) {
    const std::size_t bit = at % 64, count = std::min<std::size_t>(64 - bit, end - at);
    if (!visit(at / 64, (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << bit)) return false;
    at += count;
  }
  return true;
}

}  // namespace

const char* name(PageState state) {
  switch (state) {
    case PageState::absent: return "absent";
    case PageState::zero: return "zero";
    case PageState::onDevice: return "on the device only";
    case PageState::onHost: return "on the host only";
    case PageState::both: return "clean";
    case PageState::arriving: return "arriving";
    case PageState::leaving: return "leaving";
  }
  return "?";
}

Residency::Residency(std::uint32_t granules) : granules_(granules) {
  planes_.fill(Plane((granules + 63) / 64));
  forEachWord({0, granules}, [&](std::size_t word, std::uint64_t mask) {
    plane(PageState::absent)[word] = mask;
    return true;
  });
  counts_[static_cast<std::size_t>(PageState::absent)] = granules;
}

Status Residency::move(GranuleRange range, std::initializer_list<PageState> from, PageState to, const char* doing) {
  const auto wrong = [&](const std::string& why) {
    return Error{CudaError::invalidValue, std::string(doing) + " " + std::to_string(range.count) + " granules from " +
                                              std::to_string(range.first) + ": " + why};
  };
  if (range.first > granules_ || range.count > granules_ - range.first)
    return wrong("the window has " + std::to_string(granules_));
  std::uint32_t found = 0;
  const bool right = forEachWord(range, [&](std::size_t word, std::uint64_t mask) {
    std::uint64_t missing = mask;
    for (const PageState state : from) missing &= ~plane(state)[word];
    if (missing != 0) found = static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(missing)));
    return missing == 0;
  });
  if (!right) return wrong("granule " + std::to_string(found) + " is " + name(state(found)));
  forEachWord(range, [&](std::size_t word, std::uint64_t mask) {
    for (const PageState state : from) moveWord(word, mask, state, to);
    return true;
  });
  return {};
}

std::uint32_t Residency::moveWord(std::size_t word, std::uint64_t mask, PageState from, PageState to) {
  const std::uint64_t bits = plane(from)[word] & mask;
  const auto moved = static_cast<std::uint32_t>(std::popcount(bits));
  plane(from)[word] &= ~bits;
  plane(to)[word] |= bits;
  counts_[static_cast<std::size_t>(from)] -= moved;
  counts_[static_cast<std::size_t>(to)] += moved;
  return moved;
}

using enum PageState;

Status Residency::map(GranuleRange range) { return move(range, {absent}, zero, "map"); }
Status Residency::unmap(GranuleRange range) {
  return move(range, {zero, PageState::onDevice, onHost, both}, absent, "unmap");
}
Status Residency::materialize(GranuleRange range) { return move(range, {zero}, PageState::onDevice, "materialize"); }
Status Residency::wrote(GranuleRange range) {
  return move(range, {both, PageState::onDevice}, PageState::onDevice, "write");
}
Status Residency::foundZero(GranuleRange range) { return move(range, {PageState::onDevice, both}, zero, "find zero"); }
Status Residency::arrive(GranuleRange range) { return move(range, {onHost}, arriving, "arrive"); }
Status Residency::arrived(GranuleRange range) { return move(range, {arriving}, both, "arrived"); }
Status Residency::arrivalFailed(GranuleRange range) { return move(range, {arriving}, onHost, "arrival failed"); }
Status Residency::leave(GranuleRange range) { return move(range, {PageState::onDevice}, leaving, "leave"); }
Status Residency::left(GranuleRange range) { return move(range, {leaving}, both, "left"); }
Status Residency::leaveFailed(GranuleRange range) { return move(range, {leaving}, PageState::onDevice, "leave failed"); }

std::uint32_t Residency::evictClean() { return evictClean({0, granules_}); }

std::uint32_t Residency::evictClean(GranuleRange range) {
  assert(range.first <= granules_ && range.count <= granules_ - range.first);
  std::uint32_t evicted = 0;
  forEachWord(range, [&](std::size_t word, std::uint64_t mask) {
    evicted += moveWord(word, mask, both, onHost);
    return true;
  });
  return evicted;
}

PageState Residency::state(std::uint32_t granule) const {
  for (std::size_t state = 0; state < kPageStates; ++state)
    if (planes_[state][granule / 64] >> (granule % 64) & 1) return static_cast<PageState>(state);
  return absent;
}

}  // namespace rouse::swap
