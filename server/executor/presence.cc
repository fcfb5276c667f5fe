#include "server/executor/presence.h"

#include <algorithm>
#include <cassert>
#include <optional>

namespace rouse::executor {

Presence::Presence(memory::OwnerId owner, memory::Device& device, PhysicalMemory& memory, Homes* homes,
                   memory::ExtentMap& extents, swap::PlanKind plan)
    : owner_(owner),
      device_(device),
      memory_(memory),
      homes_(homes),
      extents_(extents),
      plan_(plan),
      order_(homes == nullptr ? AddressRange{extents.window().base, 0} : extents.window()),
      attention_(homes == nullptr ? 0 : kAttention) {
  enroll();
}

void Presence::enroll() {
  if (homes_ != nullptr && !memory_.enroll(owner_, memory::Tenure::visits)) std::abort();  // with nothing promised
}

Status Presence::promise(std::uint64_t bytes) {
  return homes_ == nullptr ? Status{} : homes_->promise(owner_, bytes / kGranuleBytes);
}

void Presence::giveBack(std::uint64_t bytes) {
  if (homes_ != nullptr) homes_->giveBack(owner_, bytes / kGranuleBytes);
}

void Presence::forget(std::uint64_t address) {
  const auto home = homed_.find(address);
  if (home == homed_.end()) return;
  if (home->second.slot != Homes::kNone) homes_->drop(home->second.slot);
  homed_.erase(home);
  order_.forget({address, kGranuleBytes});
}

memory::Stream& Presence::stream(memory::Context& context) {
  if (!stream_) stream_ = context.createStream(0);
  return *stream_;
}

template <class Visit>
void Presence::forEachRun(Visit&& visit) const {
  AddressRange run{};
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    if (address != run.end() || run.empty()) {
      if (!run.empty()) visit(run);
      run = {address, 0};
    }
    run.bytes += kGranuleBytes;
  });
  if (!run.empty()) visit(run);
}

void Presence::findChanges(memory::Context& context) {
  changed_.clear();
  context.takeWritten(changed_);
  for (const std::uint64_t address : changed_)
    if (const auto home = homed_.find(address); home != homed_.end()) home->second.current = false;
}

Status Presence::beginPrints(memory::Context& context) {
  prints_.resize(extents_.backedBytes() / kGranuleBytes);
  std::size_t first = 0;
  Status status;
  forEachRun([&](AddressRange run) {
    const std::size_t count = run.bytes / kGranuleBytes;
    if (status) status = context.fingerprint(stream(context), homes_->key(), run, std::span(prints_).subspan(first, count));
    first += count;
  });
  return status;
}

void Presence::endPrints() {
  auto print = prints_.begin();
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    Home& home = homed_.try_emplace(address, Home{Homes::kNone, false, {}}).first->second;
    home.current = home.current && home.print == *print;
    home.print = *print++;
  });
  prints_.clear();
}

Status Presence::beginLeaving(memory::Context& context) {
  assert(here() && mayLeave());
  where_ = Where::leaving;
  homes_->beginMove(owner_);
  if (!device_.properties().noticesWrites && extents_.backedBytes() != 0) return beginPrints(context);
  findChanges(context);
  saveChanged(context);
  return {};
}

void Presence::saveChanged(memory::Context& context) {
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    Home& home = homed_.try_emplace(address, Home{Homes::kNone, false, {}}).first->second;
    if (home.slot == Homes::kNone) home.slot = homes_->take(owner_);
    if (home.current) return;
    const auto print = device_.properties().noticesWrites ? std::nullopt : std::optional(home.print);
    context.save(stream(context), address, homes_->rewrite(home.slot, print));
    savedBytes_ += kGranuleBytes;
  });
}

Result<bool> Presence::leave(memory::Context& context) {
  assert(where_ == Where::leaving);
  if (!context.idle()) return false;
  if (!prints_.empty()) {
    endPrints();
    saveChanged(context);
    if (!context.idle()) return false;
  }
  Status status;
  forEachRun([&](AddressRange run) {
    if (status) status = context.unmap(run);
  });
  if (!status) return status.error();
  extents_.forEach([&](std::uint64_t address, std::uint32_t chunk) {
    memory_.put(owner_, {chunk, kGranuleBytes});
    extents_.setChunk(address, memory::kNoChunk);
    homed_.at(address).current = true;
  });
  homes_->endMove(owner_);
  ++departures_;
  where_ = Where::away;
  return true;
}

void Presence::beginArriving(memory::Context& context) {
  assert(where_ == Where::away);
  where_ = Where::arriving;
  homes_->beginMove(owner_);
  attention_ = kAttention;
  const std::uint64_t base = extents_.window().base;
  std::vector<std::uint32_t> wanted;
  extents_.forEach([&](std::uint64_t address, std::uint32_t) { wanted.push_back(granule(address)); });
  const swap::TransferPlan plan = swap::planTransfer(plan_, order_.arrange(wanted), base, homes_->curve());
  std::vector<memory::Chunk> chunks = memory_.takeAny(owner_, wanted.size());

  groups_ = static_cast<std::uint32_t>(plan.groups.size());
  groupOf_.assign(wanted.empty() ? 0 : wanted.back() + 1, 0);
  while (events_.size() < groups_) events_.push_back(context.createEvent());
  if (!arrived_) arrived_ = std::make_unique<wire::Slot>();
  auto chunk = chunks.begin();
  std::vector<memory::Arrival> arrivals;
  for (std::uint32_t group = 0; group < groups_; ++group) {
    arrivals.clear();
    for (std::uint32_t i = 0; i < plan.groups[group].pieces; ++i) {
      const AddressRange& piece = plan.pieces[plan.groups[group].firstPiece + i];
      for (std::uint64_t at = piece.base; at != piece.end(); at += kGranuleBytes, ++chunk) {
        extents_.setChunk(at, chunk->id);
        groupOf_[granule(at)] = group + 1;
        arrivals.push_back({at, *chunk, homes_->at(homed_.at(at).slot)});
      }
    }
    context.restore(stream(context), arrivals);
    context.record(stream(context), *events_[group]);
    context.signal(stream(context), *arrived_, arrivedBefore_ + group + 1, false);
  }
}

bool Presence::arrive() {
  assert(where_ == Where::arriving);
  if (groups_ != 0 && arrived_->value.load(std::memory_order_acquire) < arrivedBefore_ + groups_) return false;
  arrivedBefore_ += groups_;
  groups_ = 0;
  ++arrivals_;
  homes_->endMove(owner_);
  where_ = Where::here;
  return true;
}

void Presence::use(memory::Context& context, memory::Stream& stream, AddressRange range) {
  if (!extents_.window().contains(range.base) || range.empty()) return;
  order_.touch(range);
  if (where_ != Where::arriving) return;
  const std::uint32_t first = granule(range.base);
  const std::uint32_t end = std::min<std::uint32_t>(granule(range.end() - 1) + 1, static_cast<std::uint32_t>(groupOf_.size()));
  std::uint32_t groups = 0;
  for (std::uint32_t i = first; i < end; ++i) groups = std::max(groups, groupOf_[i]);
  awaitGroups(context, stream, groups);
}

void Presence::useEverything(memory::Context& context, memory::Stream& stream) {
  if (where_ == Where::arriving) awaitGroups(context, stream, groups_);
}

void Presence::awaitGroups(memory::Context& context, memory::Stream& stream, std::uint32_t groups) {
  // In the order of one stream: whoever has the last has them all.
  if (groups == 0 || arrived_->value.load(std::memory_order_acquire) >= arrivedBefore_ + groups) return;
  context.wait(stream, *events_[groups - 1]);
}

void Presence::endStream() {
  stream_.reset();
  events_.clear();
}

void Presence::release() {
  extents_.forEach([&](std::uint64_t, std::uint32_t chunk) {
    if (chunk != memory::kNoChunk) memory_.put(owner_, {chunk, kGranuleBytes});
  });
  memory_.release(owner_);
  if (homes_ != nullptr) {
    homed_.clear();
    homes_->release(owner_);
    order_ = swap::AccessOrder(extents_.window());
    attention_ = kAttention;
  }
  arrivedBefore_ += groups_;
  groups_ = 0;
  prints_.clear();
  where_ = Where::here;
}

}  // namespace rouse::executor
