#include "swap/eviction_plan.h"

#include <algorithm>
#include <numeric>

namespace rouse::swap {

bool inTurn(std::uint64_t hereSince, std::uint64_t tookToCome, std::uint64_t now) {
  return now - hereSince < std::clamp(tookToCome, kTurnNs, kLongestTurnNs);
}

std::vector<std::size_t> planEviction(std::uint64_t chunks, std::span<const Resident> residents, std::uint64_t now) {
  std::vector<std::size_t> order(residents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) {
    const Resident& resident = residents[i];
    return resident.chunks == 0 || (resident.state == Resident::State::busy && inTurn(resident.hereSince, resident.tookToCome, now));
  });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Resident &left = residents[a], &right = residents[b];
    if (left.state != right.state) return left.state < right.state;
    return left.state == Resident::State::busy ? left.hereSince < right.hereSince : left.activeAt < right.activeAt;
  });
  std::uint64_t found = 0;
  std::size_t count = 0;
  while (count < order.size() && found < chunks) found += residents[order[count++]].chunks;
  if (found < chunks) return {};
  order.resize(count);
  // The last one made it enough; of those before it, the ones used last need perhaps not go.
  for (std::size_t i = order.size(); i-- > 0;) {
    if (found - residents[order[i]].chunks < chunks) continue;
    found -= residents[order[i]].chunks;
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return order;
}

}  // namespace rouse::swap
