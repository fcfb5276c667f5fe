#include "server/executor/presence.h"

#include <cassert>

namespace rouse::executor {

Presence::Presence(memory::OwnerId owner, memory::Device& device, PhysicalMemory& memory, Homes* homes,
                   memory::ExtentMap& extents)
    : owner_(owner), device_(device), memory_(memory), homes_(homes), extents_(extents) {
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
  homes_->drop(owner_, home->second.slot);
  homed_.erase(home);
}

memory::Stream& Presence::stream(memory::Context& context) {
  if (!stream_) stream_ = context.createStream(0);
  return *stream_;
}

void Presence::findChanges(memory::Context& context) {
  if (!device_.properties().noticesWrites) {
    for (auto& [address, home] : homed_) home.current = false;
    return;
  }
  changed_.clear();
  context.takeWritten(changed_);
  for (const std::uint64_t address : changed_)
    if (const auto home = homed_.find(address); home != homed_.end()) home->second.current = false;
}

void Presence::beginLeaving(memory::Context& context) {
  assert(here() && mayLeave());
  where_ = Where::leaving;
  findChanges(context);
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    const auto [home, fresh] = homed_.try_emplace(address, Home{Homes::kNone, false});
    if (fresh) home->second.slot = homes_->take(owner_);
    if (home->second.current) return;
    context.save(stream(context), address, homes_->at(home->second.slot));
    savedBytes_ += kGranuleBytes;
  });
}

Result<bool> Presence::leave(memory::Context& context) {
  assert(where_ == Where::leaving);
  if (!context.idle()) return false;
  AddressRange run{};
  Status status;
  const auto unmap = [&] {
    if (!run.empty() && status) status = context.unmap(run);
  };
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    if (address != run.end()) {
      unmap();
      run = {address, 0};
    }
    run.bytes += kGranuleBytes;
  });
  unmap();
  if (!status) return status.error();
  extents_.forEach([&](std::uint64_t address, std::uint32_t chunk) {
    memory_.put(owner_, {chunk, kGranuleBytes});
    extents_.setChunk(address, memory::kNoChunk);
    homed_.at(address).current = true;
  });
  ++departures_;
  where_ = Where::away;
  return true;
}

void Presence::beginArriving(memory::Context& context) {
  assert(where_ == Where::away);
  where_ = Where::arriving;
  std::vector<memory::Chunk> chunks = memory_.takeAny(owner_, extents_.backedBytes() / kGranuleBytes);
  auto next = chunks.begin();
  std::vector<memory::Arrival> arrivals;
  extents_.forEach([&](std::uint64_t address, std::uint32_t) {
    extents_.setChunk(address, next->id);
    arrivals.push_back({address, *next++, homes_->at(homed_.at(address).slot)});
  });
  context.restore(stream(context), arrivals);
}

Result<bool> Presence::arrive(memory::Context& context) {
  assert(where_ == Where::arriving);
  if (!context.idle()) return false;
  ++arrivals_;
  where_ = Where::here;
  return true;
}

void Presence::release() {
  extents_.forEach([&](std::uint64_t, std::uint32_t chunk) {
    if (chunk != memory::kNoChunk) memory_.put(owner_, {chunk, kGranuleBytes});
  });
  memory_.release(owner_);
  if (homes_ != nullptr) {
    for (const auto& [address, home] : homed_) homes_->drop(owner_, home.slot);
    homed_.clear();
    homes_->release(owner_);
  }
  where_ = Where::here;
}

}  // namespace rouse::executor
