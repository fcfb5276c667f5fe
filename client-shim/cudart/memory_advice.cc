#include "client-shim/cudart/memory_advice.h"

#include <iterator>

namespace rouse::cudart {

void MemoryAdvice::split(std::uint64_t address) {
  const auto piece = std::prev(pieces_.upper_bound(address));
  if (piece->first != address) pieces_.emplace_hint(std::next(piece), address, piece->second);
}

std::vector<Advice> MemoryAdvice::pieces(AddressRange range) const {
  const std::lock_guard lock(mutex_);
  std::vector<Advice> found;
  for (auto piece = std::prev(pieces_.upper_bound(range.base)); piece != pieces_.end() && piece->first < range.end();
       ++piece) {
    found.push_back(piece->second);
  }
  return found;
}

void MemoryAdvice::forget(AddressRange range) {
  const std::lock_guard lock(mutex_);
  split(range.base);
  split(range.end());
  const auto first = pieces_.find(range.base);
  first->second = {};
  pieces_.erase(std::next(first), pieces_.find(range.end()));
}

}  // namespace rouse::cudart
