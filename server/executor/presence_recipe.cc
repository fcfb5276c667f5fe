// A session's memory, from one device to another: by way of the homes, which other executors can read; and faster, where the device that
// it comes to can read what still rests on the one that it leaves.
#include <cassert>

#include "server/executor/presence.h"

namespace rouse::executor {

void Presence::describe(channel::SessionRecipe& recipe) {
  assert(where_ == Where::away || (here() && extents_.backedBytes() == 0));
  borrowed_.clear();  // it has not come
  homes_->beginMove(owner_);  // what is shared stays where it is until resumed()
  recipe.granules.reserve(extents_.backedBytes() / kGranuleBytes);
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    recipe.granules.push_back({granule(address), homes_->fileOffset(homed_.at(address).slot)});
  });
  recipe.order.assign(order_.touched().begin(), order_.touched().end());
  recipe.arrivals = arrivals_;
  recipe.departures = departures_;
  recipe.savedBytes = savedBytes_;
  recipe.peerBytes = peerBytes_;
  recipe.broughtBytes = broughtBytes_;
}

std::vector<HomeCopy::Page> Presence::adopt(const channel::SessionRecipe& recipe, const StoreView& store) {
  assert(here() && extents_.backedBytes() == 0 && mayLeave());
  const std::uint64_t base = extents_.window().base;
  homes_->beginMove(owner_);
  std::vector<HomeCopy::Page> pages;
  pages.reserve(recipe.granules.size());
  // What lies in this part of the store already, of an executor that had it before, stays where it is. Of those that shared a home one does.
  std::vector<Homes::Slot> inPlace;
  for (const auto& granule : recipe.granules)
    inPlace.push_back(homes_->takeAt(owner_, base + std::uint64_t{granule.number} * kGranuleBytes, granule.home));
  for (std::size_t i = 0; i < recipe.granules.size(); ++i) {
    const auto& granule = recipe.granules[i];
    const std::uint64_t address = base + std::uint64_t{granule.number} * kGranuleBytes;
    const bool stays = inPlace[i] != Homes::kNone;
    const Homes::Slot slot = stays ? inPlace[i] : homes_->take(owner_, address);
    extents_.insert(address, memory::kNoChunk);
    homed_.emplace(address, Home{slot, true, {}});
    if (stays)
      pages.push_back({homes_->at(slot), const_cast<std::byte*>(homes_->at(slot))});
    else
      pages.push_back({store.at(granule.home), homes_->rewrite(slot, std::nullopt)});
  }
  for (const std::uint32_t number : recipe.order) order_.touch({base + std::uint64_t{number} * kGranuleBytes, kGranuleBytes});
  arrivals_ = recipe.arrivals;
  departures_ = recipe.departures;
  savedBytes_ = recipe.savedBytes;
  peerBytes_ = recipe.peerBytes;
  broughtBytes_ = recipe.broughtBytes;
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

Presence::Lent Presence::lend(std::uint32_t from, std::size_t most) {
  Lent lent;
  if (lentBytes_ == 0) {
    if (resting_.leftBytes() == 0 || resting_.fault()) return lent;
    lentBytes_ = resting_.leftBytes();
    resting_.hold();
  }
  extents_.forEach([&](std::uint64_t address, std::uint32_t chunk) {
    // What the program has freed is here as it was left, and at home as it was before.
    if (granule(address) < from || lent.next != 0 || chunk == memory::kNoChunk || !homed_.at(address).current) return;
    if (lent.chunks.size() == most)
      lent.next = granule(address);
    else
      lent.chunks.push_back({granule(address), {chunk, kGranuleBytes}});
  });
  return lent;
}

void Presence::takeBack() {
  lentBytes_ = 0;
  resting_.yield();
}

bool Presence::borrow(std::uint32_t number, std::unique_ptr<memory::PeerChunk> chunk) {
  const std::uint64_t address = extents_.window().base + std::uint64_t{number} * kGranuleBytes;
  if (where_ != Where::away || !homed_.contains(address)) return false;
  borrowed_[address] = std::move(chunk);
  return true;
}

bool Presence::borrows() {
  const bool nothingMore = homeOnly_ || where_ != Where::away;  // than what is under way
  const bool going = where_ == Where::arriving && ((!homeOnly_ && !underWay()) || (lastBorrowed_ != 0 && arrived_->value.load(std::memory_order_acquire) <
                                                                                                          arrivedBefore_ + lastBorrowed_));
  if (nothingMore && !going) borrowed_.clear();
  return !borrowed_.empty();
}

}  // namespace rouse::executor
