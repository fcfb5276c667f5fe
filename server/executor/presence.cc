#include "server/executor/presence.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

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
  if ((homes_ != nullptr || memory_.promisedElsewhere()) && !memory_.enroll(owner_, memory::Tenure::visits)) std::abort();  // with nothing promised
  if (sharing()) memory_.introduce(owner_, *this);
}

Status Presence::promise(std::uint64_t bytes) {
  return homes_ == nullptr ? Status{} : homes_->promise(owner_, bytes / kGranuleBytes);
}

void Presence::giveBack(std::uint64_t bytes) {
  if (homes_ != nullptr) homes_->giveBack(owner_, bytes / kGranuleBytes);
}

void Presence::forget(std::uint64_t address) {
  copied_.erase(address);
  unsettled_.erase(address);
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
  // They are not watched.
  for (const std::uint64_t address : unsaved_)
    if (const auto home = homed_.find(address); home != homed_.end() && !home->second.current) changed_.push_back(address);
  unsaved_.clear();
  context.takeWritten(changed_);
  for (const std::uint64_t address : changed_) {
    homed_.at(address).current = false;
    // Where it was copied, its chunk is others', who have not written it.
    if (!copied_.contains(address)) memory_.unname({extents_.chunk(address), kGranuleBytes});
  }
  // Whatever else has a home was restored, or has been watched since it was saved: nobody is asked about it.
  if (homed_.size() != extents_.backedBytes() / kGranuleBytes) findNew();
  std::erase_if(changed_, [&](std::uint64_t address) {
    if (!needless(address, homed_.at(address))) return false;
    unsaved_.push_back(address);
    return true;
  });
}

void Presence::setVacant(AddressRange granules, bool vacant) {
  if (homes_ == nullptr || granules.empty()) return;
  const std::size_t first = granule(granules.base), end = first + granules.bytes / kGranuleBytes;
  if (vacant && vacant_.size() < end) vacant_.resize(end);
  if (first >= vacant_.size()) return;
  std::fill(vacant_.begin() + static_cast<std::ptrdiff_t>(first),
            vacant_.begin() + static_cast<std::ptrdiff_t>(std::min(end, vacant_.size())), vacant);
}

void Presence::findNew() {
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    if (homed_.try_emplace(address, Home{Homes::kNone, false, {}}).second) changed_.push_back(address);
  });
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
  changed_.clear();
  auto print = prints_.begin();
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    Home& home = homed_.try_emplace(address, Home{Homes::kNone, false, {}}).first->second;
    const memory::PageFingerprint now = *print++;
    home.current = home.current && home.print == now;
    if (home.current || needless(address, home)) return;
    home.print = now;
    changed_.push_back(address);
  });
  prints_.clear();
}

Status Presence::beginLeaving(memory::Context& context) {
  assert(here() && mayLeave());
  context_ = &context;
  noteCopies(context);
  where_ = Where::leaving;
  homes_->beginMove(owner_);
  if (!device_.properties().noticesWrites && extents_.backedBytes() != 0) return beginPrints(context);
  findChanges(context);
  for (const std::uint64_t address : unsettled_) context.settle(stream(context), address, {extents_.chunk(address), kGranuleBytes});
  unsettled_.clear();
  saveChanged(context);
  return {};
}

void Presence::saveChanged(memory::Context& context) {
  for (const std::uint64_t address : changed_) {
    Home& home = homed_.at(address);
    if (home.slot == Homes::kNone) home.slot = homes_->take(owner_, address);
    const auto print = device_.properties().noticesWrites ? std::nullopt : std::optional(home.print);
    context.save(stream(context), address, homes_->rewrite(home.slot, print));
    savedBytes_ += kGranuleBytes;
  }
}

Status Presence::endSaving(memory::Context& context) {
  for (const std::uint64_t address : changed_) homed_.at(address).current = true;
  if (device_.properties().noticesWrites) {
    std::sort(changed_.begin(), changed_.end());
    for (std::size_t i = 0; i < changed_.size();) {
      AddressRange run{changed_[i], 0};
      for (; i < changed_.size() && changed_[i] == run.end(); ++i) run.bytes += kGranuleBytes;
      if (Status status = context.noticeWrites(run); !status) return status;
    }
  }
  // Nothing could be had for these: they come from home again.
  for (const std::uint64_t address : copied_) {
    if (Status status = context.unmap({address, kGranuleBytes}); !status) return status;
    memory_.put(owner_, {extents_.chunk(address), kGranuleBytes});
    extents_.setChunk(address, memory::kNoChunk);
  }
  for (const std::uint64_t address : changed_) name(address, homed_.at(address));
  changed_.clear();
  return {};
}

Result<bool> Presence::leave(memory::Context& context) {
  assert(where_ == Where::leaving);
  if (!context.idle()) return false;
  if (!prints_.empty()) {
    endPrints();
    saveChanged(context);
    if (!context.idle()) return false;
  }
  if (Status status = endSaving(context); !status) return status.error();
  resting_.begin(context, copied_.size());
  copied_.clear();
  homes_->endMove(owner_);
  ++departures_;
  where_ = Where::away;
  meetLate();
  return true;
}

void Presence::beginArriving(memory::Context& context) {
  assert(where_ == Where::away);
  const std::uint64_t left = resting_.leftBytes(), gone = extents_.backedBytes() - left;
  returnedBytes_ += left;
  resting_.end();
  context_ = &context;
  awaited_.reset();
  if (gone == 0) {
    ++arrivals_;
    where_ = Where::here;
    return;
  }
  where_ = Where::arriving;
  homes_->beginMove(owner_);
  attention_ = kAttention;
  std::vector<std::uint32_t> wanted;
  wanted.reserve(gone / kGranuleBytes);
  extents_.forEach([&](std::uint64_t address, std::uint32_t chunk) {
    if (chunk == memory::kNoChunk) wanted.push_back(granule(address));
  });
  if (sharing()) join(wanted);
  coming_ = swap::planTransfer(plan_, order_.arrange(wanted), extents_.window().base, homes_->curve());
  groups_ = static_cast<std::uint32_t>(coming_.groups.size());
  chunks_.begin(coming_);
  sent_ = lastBorrowed_ = 0;
  groupOf_.assign(wanted.empty() ? 0 : wanted.back() + 1, 0);
  while (events_.size() < groups_) events_.push_back(context.createEvent());
  if (!arrived_) arrived_ = std::make_unique<wire::Slot>();
}

Result<bool> Presence::bring(memory::Context& context) {
  std::uint64_t granules = 0;
  for (; !joined_.empty() && granules < kGranulesPerTurn; ++granules, joined_.pop_back()) {
    const std::uint64_t address = joined_.back();
    if (auto shared = context.share(address, {extents_.chunk(address), kGranuleBytes}); !shared) return std::move(shared).error();
  }
  bool any = granules != 0;
  std::vector<memory::Arrival> arrivals;
  for (; sent_ < groups_ && granules < kGranulesPerTurn;) {
    const swap::TransferPlan::Group& group = coming_.groups[sent_];
    const std::size_t count = group.bytes / kGranuleBytes;
    // Somebody who rests could not give up what was counted on: until that session has ended.
    if (!chunks_.take(count)) return any;
    prepare(context, count);
    ++sent_;
    arrivals.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const auto [at, chunk] = chunks_.go();
      extents_.setChunk(at, chunk.id);
      groupOf_[granule(at)] = sent_;
      Home& home = homed_.at(at);
      home.current = true;
      memory::Arrival& arrival = arrivals.emplace_back(memory::Arrival{at, chunk, homes_->at(home.slot)});
      if (const auto peer = borrowed_.find(at); peer != borrowed_.end() && !homeOnly_) {
        arrival.peer = peer->second.get();
        peerBytes_ += kGranuleBytes;
        lastBorrowed_ = sent_;
      } else {
        broughtBytes_ += kGranuleBytes;
      }
      name(at, home);
    }
    context.restore(stream(context), arrivals);
    context.record(stream(context), *events_[sent_ - 1]);
    context.signal(stream(context), *arrived_, arrivedBefore_ + sent_, false);
    granules += count;
    any = true;
  }
  return any;
}

void Presence::prepare(memory::Context& context, std::size_t count) {
  std::vector<ComingChunks::Granule> next;
  chunks_.ready(count, next);
  if (next.empty()) return;
  std::vector<memory::Arrival> arrivals;
  for (const auto& [at, chunk] : next) arrivals.push_back({at, chunk, homes_->at(homed_.at(at).slot)});
  context.prepare(arrivals);
}

bool Presence::arrive() {
  assert(where_ == Where::arriving);
  if (!underWay() || arrived_->value.load(std::memory_order_acquire) < arrivedBefore_ + groups_) return false;
  arrivedBefore_ += groups_;
  groups_ = sent_ = 0;
  ++arrivals_;
  borrowed_.clear();
  homeOnly_ = false;
  homes_->endMove(owner_);
  where_ = Where::here;
  meetLate();
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
  resting_.end();
  context_ = nullptr;
  stream_.reset();
  events_.clear();
}

void Presence::releaseHomes() {
  if (homes_ == nullptr || std::exchange(homesReleased_, true)) return;
  homed_.clear();
  homes_->release(owner_);
}

void Presence::release() {
  lentBytes_ = 0;
  chunks_.end();
  extents_.forEach([&](std::uint64_t, std::uint32_t chunk) {
    if (chunk != memory::kNoChunk) memory_.put(owner_, {chunk, kGranuleBytes});
  });
  memory_.release(owner_);
  borrowed_.clear();
  homeOnly_ = false;
  releaseHomes();
  homesReleased_ = false;
  if (homes_ != nullptr) {
    order_ = swap::AccessOrder(extents_.window());
    attention_ = kAttention;
  }
  arrivedBefore_ += groups_;
  groups_ = sent_ = 0;
  joined_.clear();
  copied_.clear();
  unsettled_.clear();
  met_.clear();
  awaited_.reset();
  mayCopy_ = false;
  prints_.clear();
  changed_.clear();
  unsaved_.clear();
  vacant_.clear();
  where_ = Where::here;
}

}  // namespace rouse::executor
