// A session's memory, from one device to another: by way of the homes, which other executors can read.
#include <cassert>

#include "server/executor/presence.h"

namespace rouse::executor {

void Presence::describe(channel::SessionRecipe& recipe) {
  assert(where_ == Where::away || (here() && extents_.backedBytes() == 0));
  homes_->beginMove(owner_);  // what is shared stays where it is until resumed()
  recipe.granules.reserve(extents_.backedBytes() / kGranuleBytes);
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    recipe.granules.push_back({granule(address), homes_->fileOffset(homed_.at(address).slot)});
  });
  recipe.order.assign(order_.touched().begin(), order_.touched().end());
  recipe.arrivals = arrivals_;
  recipe.departures = departures_;
  recipe.savedBytes = savedBytes_;
}

std::vector<HomeCopy::Page> Presence::adopt(const channel::SessionRecipe& recipe, const StoreView& store) {
  assert(here() && extents_.backedBytes() == 0 && mayLeave());
  const std::uint64_t base = extents_.window().base;
  homes_->beginMove(owner_);
  std::vector<HomeCopy::Page> pages;
  pages.reserve(recipe.granules.size());
  for (const auto& granule : recipe.granules) {
    const std::uint64_t address = base + std::uint64_t{granule.number} * kGranuleBytes;
    const Homes::Slot slot = homes_->take(owner_, address);
    extents_.insert(address, memory::kNoChunk);
    homed_.emplace(address, Home{slot, true, {}});
    pages.push_back({store.at(granule.home), homes_->rewrite(slot, std::nullopt)});
  }
  for (const std::uint32_t number : recipe.order) order_.touch({base + std::uint64_t{number} * kGranuleBytes, kGranuleBytes});
  arrivals_ = recipe.arrivals;
  departures_ = recipe.departures;
  savedBytes_ = recipe.savedBytes;
  // Who has nothing has nothing to wait for.
  where_ = pages.empty() ? Where::here : Where::away;
  return pages;
}

void Presence::adopted(std::span<const memory::PageFingerprint> prints) {
  homes_->endMove(owner_);
  auto print = prints.begin();
  if (prints.empty()) return;
  extents_.forEach([&](std::uint64_t address, std::uint32_t) { homed_.at(address).print = *print++; });
}

}  // namespace rouse::executor
