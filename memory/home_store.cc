#include "memory/home_store.h"

#include <algorithm>

#include "schemas/base/range.h"

namespace rouse::memory {
namespace {

std::string text(std::uint64_t value) { return std::to_string(value); }

}  // namespace

HomeStore::HomeStore(std::uint32_t slots, std::uint32_t headroom)
    : slots_(slots), free_(slots), headroom_(std::min(headroom, slots)) {
  for (SlotId slot = 0; slot < slots; ++slot) free_.set(slot);
}

std::uint64_t HomeStore::usedBytes() const { return used_ * kGranuleBytes; }

std::uint32_t HomeStore::promisable() const {
  const std::uint64_t spoken = std::uint64_t{used_} + open_ + std::max(cover_, headroom_);
  return spoken >= slots() ? 0 : slots() - static_cast<std::uint32_t>(spoken);
}

Status HomeStore::promise(OwnerId owner, std::uint32_t count) {
  if (count > promisable())
    return Error{CudaError::memoryAllocation,
                 "host memory: a home for " + text(count) + " pages was asked for, " + text(promisable()) + " of " +
                     text(slots()) + " are left (" + text(used_) + " used, " + text(open_) + " promised, " +
                     text(std::max(cover_, headroom_)) + " for pages on devices)"};
  if (count == 0) return {};
  accounts_[owner].open += count;
  open_ += count;
  return {};
}

Status HomeStore::giveBack(OwnerId owner, std::uint32_t count) {
  Account* account = find(owner);
  const std::uint32_t have = account == nullptr ? 0 : account->open;
  if (count > have)
    return Error{CudaError::invalidValue, "give back the homes of " + text(count) + " pages: owner " + text(owner) +
                                              " has " + text(have) + " without one"};
  if (count == 0) return {};
  account->open -= count;
  open_ -= count;
  forgetIfEmpty(owner);
  return {};
}

Status HomeStore::cover(OwnerId owner, std::uint32_t count) {
  const Account* account = find(owner);
  const std::uint32_t have = account == nullptr ? 0 : account->cover;
  if (count <= have) return {};
  if (count - have > coverable())
    return Error{CudaError::memoryAllocation,
                 "host memory: cover for " + text(count) + " pages of owner " + text(owner) +
                     " that may be written was asked for, " + text(std::uint64_t{coverable()} + have) + " of " + text(slots()) + " are left (" + text(used_) + " used, " +
                     text(open_) + " promised, " + text(cover_ - have) + " cover others)"};
  accounts_[owner].cover = count;
  cover_ += count - have;
  return {};
}

std::uint32_t HomeStore::settle(OwnerId owner) {
  Account* account = find(owner);
  if (account == nullptr) return 0;
  const std::uint32_t given = std::exchange(account->cover, 0);
  cover_ -= given;
  forgetIfEmpty(owner);
  return given;
}

Result<SlotId> HomeStore::acquire(OwnerId owner) {
  Account* account = find(owner);
  if (account == nullptr || account->open == 0)
    return Error{CudaError::notReady, "owner " + text(owner) + " has no promise of a home left"};
  --account->open;
  --open_;
  return take(*account);
}

Result<SlotId> HomeStore::acquireReplacement(OwnerId owner) {
  Account* account = find(owner);
  if (account == nullptr || account->cover == 0)
    return Error{CudaError::notReady, "owner " + text(owner) + " has no cover left to replace a home"};
  --account->cover;
  --cover_;
  return take(*account);
}

// The invariant says that one is free.
SlotId HomeStore::take(Account& account) {
  const auto near = free_.next(account.after);
  const auto slot = static_cast<SlotId>(near ? *near : free_.first());
  free_.clear(slot);
  slots_[slot] = Slot{1, false, false, {}};
  account.references[slot] = 1;
  account.after = slot + 1;
  ++used_;
  ++pages_;
  return slot;
}

Status HomeStore::check(OwnerId owner, SlotId slot, bool published, const char* doing) const {
  const auto wrong = [&](const std::string& why) {
    return Error{CudaError::invalidValue, std::string(doing) + " slot " + text(slot) + " of owner " + text(owner) + ": " + why};
  };
  if (slot >= slots_.size()) return wrong("there are " + text(slots()));
  if (!holds(owner, slot)) return wrong("the owner does not refer to it");
  if (slots_[slot].published != published) return wrong(published ? "it is not published" : "it is published");
  return {};
}

Result<std::optional<SlotId>> HomeStore::publish(OwnerId owner, SlotId slot, Fingerprint fingerprint) {
  if (Status status = check(owner, slot, false, "publish"); !status) return status.error();
  slots_[slot].published = true;
  slots_[slot].fingerprint = fingerprint;
  const auto [known, added] = index_.emplace(fingerprint, slot);
  slots_[slot].indexed = added;
  return added ? std::optional<SlotId>() : std::optional<SlotId>(known->second);
}

Status HomeStore::merge(OwnerId owner, SlotId own, SlotId into) {
  if (Status status = check(owner, own, true, "merge"); !status) return status;
  const auto wrong = [&](const std::string& why) {
    return Error{CudaError::invalidValue, "merge slot " + text(own) + " into " + text(into) + ": " + why};
  };
  if (slots_[own].references != 1) return wrong("others refer to it");
  if (into >= slots_.size() || !slots_[into].published) return wrong("that is not published");
  if (into == own || !(slots_[into].fingerprint == slots_[own].fingerprint)) return wrong("that is not its equal");
  Account& account = *find(owner);
  unreference(account, own);
  ++account.references[into];
  ++slots_[into].references;
  ++pages_;
  ++account.cover;
  ++cover_;
  return {};
}

Status HomeStore::share(OwnerId owner, SlotId slot) {
  if (slot >= slots_.size() || !slots_[slot].published)
    return Error{CudaError::invalidValue, "share slot " + text(slot) + ": it is not published"};
  ++accounts_[owner].references[slot];
  ++slots_[slot].references;
  ++pages_;
  return {};
}

Status HomeStore::drop(OwnerId owner, SlotId slot) {
  if (slot >= slots_.size() || !holds(owner, slot)) return check(owner, slot, true, "drop");
  Account& account = *find(owner);
  if (unreference(account, slot)) {
    ++account.open;
    ++open_;
  }
  forgetIfEmpty(owner);
  return {};
}

Status HomeStore::dropReplaced(OwnerId owner, SlotId old) {
  if (Status status = check(owner, old, true, "replace"); !status) return status;
  Account& account = *find(owner);
  if (unreference(account, old)) {
    ++account.cover;
    ++cover_;
  }
  forgetIfEmpty(owner);
  return {};
}

void HomeStore::release(OwnerId owner) {
  Account* account = find(owner);
  if (account == nullptr) return;
  while (!account->references.empty()) unreference(*account, account->references.begin()->first);
  open_ -= account->open;
  cover_ -= account->cover;
  accounts_.erase(owner);
}

bool HomeStore::unreference(Account& account, SlotId id) {
  const auto reference = account.references.find(id);
  if (--reference->second == 0) account.references.erase(reference);
  --pages_;
  Slot& slot = slots_[id];
  if (--slot.references != 0) return false;
  if (slot.indexed) index_.erase(slot.fingerprint);
  slot = {};
  free_.set(id);
  --used_;
  return true;
}

HomeStore::Usage HomeStore::usage(OwnerId owner) const {
  Usage usage;
  const auto account = accounts_.find(owner);
  if (account == accounts_.end()) return usage;
  usage.open = account->second.open;
  usage.cover = account->second.cover;
  for (const auto& [slot, count] : account->second.references) {
    usage.pages += count;
    ++(slots_[slot].references == count ? usage.alone : usage.shared);
    usage.fairBytes += static_cast<double>(kGranuleBytes) * count / slots_[slot].references;
  }
  return usage;
}

HomeStore::Account* HomeStore::find(OwnerId owner) {
  const auto account = accounts_.find(owner);
  return account == accounts_.end() ? nullptr : &account->second;
}

bool HomeStore::holds(OwnerId owner, SlotId slot) const {
  const auto account = accounts_.find(owner);
  return account != accounts_.end() && account->second.references.count(slot) != 0;
}

void HomeStore::forgetIfEmpty(OwnerId owner) {
  const Account& account = *find(owner);
  if (account.open == 0 && account.cover == 0 && account.references.empty()) accounts_.erase(owner);
}

}  // namespace rouse::memory
