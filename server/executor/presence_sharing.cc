// Granules in chunks that other functions' granules have as well.
#include "server/executor/presence.h"

namespace rouse::executor {

void Presence::name(std::uint64_t address, const Home& home) {
  if (!sharing()) return;
  if (const std::uint32_t chunk = extents_.chunk(address); chunk != memory::kNoChunk)
    memory_.name(owner_, address, {chunk, kGranuleBytes}, homes_->content(home.slot));
}

void Presence::join(std::vector<std::uint32_t>& wanted) {
  std::erase_if(wanted, [this](std::uint32_t granule) {
    const std::uint64_t address = extents_.window().base + granule * kGranuleBytes;
    Home& home = homed_.at(address);
    const auto chunk = memory_.join(owner_, address, homes_->content(home.slot));
    if (!chunk) return false;
    extents_.setChunk(address, chunk->id);
    home.current = true;
    joined_.push_back(address);
    joinedBytes_ += kGranuleBytes;
    mayCopy_ = true;
    return true;
  });
}

bool Presence::waits() {
  if (!sharing()) return false;
  using Elsewhere = PhysicalMemory::Elsewhere;
  const auto seen = [this](memory::ContentId content) { return memory_.elsewhere(owner_, content); };
  if (!awaited_) {
    awaited_.emplace();
    std::uint64_t missing = 0;
    if (resting_.leftBytes() != extents_.backedBytes()) {
      extents_.forEach([&](std::uint64_t address, std::uint32_t chunk) {
        if (chunk != memory::kNoChunk) return;
        const memory::ContentId content = homes_->content(homed_.at(address).slot);
        const Elsewhere where = seen(content);
        // What has come already is no reason to fetch the rest of it once more.
        missing += where != Elsewhere::there;
        if (where == Elsewhere::coming) awaited_->push_back(content);
      });
    }
    if (awaited_->size() < missing - missing / 2) awaited_->clear();
  }
  while (!awaited_->empty() && seen(awaited_->back()) != Elsewhere::coming) awaited_->pop_back();
  return !awaited_->empty();
}

void Presence::noteCopies(memory::Context& context) {
  if (!mayCopy_ || where_ == Where::leaving || where_ == Where::away) return;
  std::vector<std::uint64_t> told;
  context.takeCopied(told);
  copied_.insert(told.begin(), told.end());
  std::erase_if(copied_, [this](std::uint64_t address) {
    const auto chunk = memory_.exchange(owner_, {extents_.chunk(address), kGranuleBytes});
    if (!chunk) return false;
    extents_.setChunk(address, chunk->id);
    unsettled_.insert(address);
    return true;
  });
}

void Presence::meet(std::uint64_t address) {
  if (!sharing() || context_ == nullptr) return;
  if (where_ == Where::leaving || where_ == Where::arriving) return met_.push_back(address);
  const auto home = homed_.find(address);
  // What has been written since it came the device knows better.
  if (home == homed_.end() || !home->second.current || copied_.contains(address) || unsettled_.contains(address)) return;
  const memory::Chunk chunk{extents_.chunk(address), kGranuleBytes};
  if (chunk.id == memory::kNoChunk) return;
  const auto equal = memory_.join(owner_, address, homes_->content(home->second.slot));
  if (!equal) return name(address, home->second);
  const auto shared = context_->share(address, *equal);
  memory_.put(owner_, shared && *shared ? chunk : *equal);
  if (!shared || !*shared) return;
  mayCopy_ = true;
  extents_.setChunk(address, equal->id);
}

void Presence::meetLate() {
  for (const std::uint64_t address : std::exchange(met_, {})) meet(address);
}

bool Presence::letJoin(std::uint64_t address, memory::Chunk chunk) {
  if (context_ == nullptr) return false;  // it has ended, and what it left nobody asked the device about
  mayCopy_ = true;
  const auto lent = context_->share(address, chunk);
  return lent && *lent;
}

bool Presence::coming(std::uint64_t address) const {
  if (where_ != Where::arriving) return false;
  const std::uint32_t at = granule(address);
  return at < groupOf_.size() && groupOf_[at] != 0 && arrived_->value.load(std::memory_order_acquire) < arrivedBefore_ + groupOf_[at];
}

void Presence::own(std::uint64_t address) {
  if (context_ != nullptr) context_->own(address);
}

}  // namespace rouse::executor
