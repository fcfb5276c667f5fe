#include "memory/home_store.h"

#include "schemas/base/range.h"

namespace rouse::memory {
namespace {

std::string text(std::uint64_t value) { return std::to_string(value); }

}  // namespace

HomeStore::HomeStore(std::uint32_t slots) : slots_(slots), free_(slots) {
  for (SlotId slot = 0; slot < slots; ++slot) free_.set(slot);
}

std::uint64_t HomeStore::usedBytes() const { return used_ * kGranuleBytes; }

Status HomeStore::promise(OwnerId owner, std::uint32_t count) {
  if (count > promisable())
    return Error{CudaError::memoryAllocation,
                 "host memory: a home for " + text(count) + " pages was asked for, " + text(promisable()) + " of " +
                     text(slots()) + " are left (" + text(pages_) + " pages have one, " + text(open_) + " are promised)"};
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

Result<SlotId> HomeStore::acquire(OwnerId owner) {
  Account* account = find(owner);
  if (account == nullptr || account->open == 0)
    return Error{CudaError::notReady, "owner " + text(owner) + " has no promise of a home left"};
  if (free_.empty()) return Error{CudaError::notReady, "all slots that nobody refers to are held"};
  --account->open;
  --open_;
  return take(owner);
}

Result<bool> HomeStore::acquireAt(OwnerId owner, SlotId slot) {
  Account* account = find(owner);
  if (account == nullptr || account->open == 0)
    return Error{CudaError::notReady, "owner " + text(owner) + " has no promise of a home left"};
  if (slot >= slots() || !free_.test(slot)) return false;
  --account->open;
  --open_;
  free_.clear(slot);
  refer(owner, slot);
  return true;
}

Result<SlotId> HomeStore::rewrite(OwnerId owner, SlotId home) {
  if (Status status = check(owner, home, "rewrite"); !status) return status.error();
  const Slot& slot = slots_[home];
  if (slot.references == 1 && slot.holds == 0) {
    unpublish(home);
    return home;
  }
  // More than one page for this slot, or one that is held: the invariants say that another is there, if only held ones.
  if (free_.empty()) return Error{CudaError::notReady, "all slots that nobody refers to are held"};
  const SlotId other = take(owner);
  unrefer(owner, home);
  return other;
}

SlotId HomeStore::take(OwnerId owner) {
  Account& account = accounts_[owner];
  const auto near = free_.next(account.after);
  const auto slot = static_cast<SlotId>(near ? *near : free_.first());
  free_.clear(slot);
  account.after = slot + 1;
  refer(owner, slot);
  return slot;
}

Status HomeStore::check(OwnerId owner, SlotId slot, const char* doing) const {
  const auto wrong = [&](const std::string& why) {
    return Error{CudaError::invalidValue, std::string(doing) + " slot " + text(slot) + " of owner " + text(owner) + ": " + why};
  };
  if (slot >= slots_.size()) return wrong("there are " + text(slots()));
  if (!holds(owner, slot)) return wrong("the owner does not refer to it");
  return {};
}

Result<std::optional<SlotId>> HomeStore::publish(OwnerId owner, SlotId id, Fingerprint fingerprint) {
  if (Status status = check(owner, id, "publish"); !status) return status.error();
  Slot& slot = slots_[id];
  if (slot.published && !(slot.fingerprint == fingerprint))
    return Error{CudaError::invalidValue,
                 "publish slot " + text(id) + " of owner " + text(owner) + ": it is published, as another page"};
  slot.published = true;
  slot.fingerprint = fingerprint;
  const auto [known, added] = index_.emplace(fingerprint, id);
  slot.indexed = slot.indexed || added;
  return known->second == id ? std::optional<SlotId>() : std::optional<SlotId>(known->second);
}

Status HomeStore::merge(OwnerId owner, SlotId own, SlotId into) {
  if (Status status = check(owner, own, "merge"); !status) return status;
  const auto wrong = [&](const std::string& why) {
    return Error{CudaError::invalidValue, "merge slot " + text(own) + " into " + text(into) + ": " + why};
  };
  if (!slots_[own].published) return wrong("the first is not published");
  if (into >= slots_.size() || !slots_[into].published) return wrong("the second is not published");
  if (into == own || !(slots_[into].fingerprint == slots_[own].fingerprint)) return wrong("they are not equal");
  refer(owner, into);
  unrefer(owner, own);
  return {};
}

Status HomeStore::share(OwnerId owner, SlotId slot) {
  if (slot >= slots_.size() || !slots_[slot].published)
    return Error{CudaError::invalidValue, "share slot " + text(slot) + ": it is not published"};
  Account* account = find(owner);
  if (account == nullptr || account->open == 0)
    return Error{CudaError::notReady, "owner " + text(owner) + " has no promise of a home left"};
  --account->open;
  --open_;
  refer(owner, slot);
  return {};
}

Status HomeStore::drop(OwnerId owner, SlotId slot) {
  if (Status status = check(owner, slot, "drop"); !status) return status;
  unrefer(owner, slot);
  ++find(owner)->open;
  ++open_;
  return {};
}

void HomeStore::release(OwnerId owner) {
  Account* account = find(owner);
  if (account == nullptr) return;
  while (!account->references.empty()) unrefer(owner, account->references.begin()->first);
  open_ -= account->open;
  accounts_.erase(owner);
}

void HomeStore::hold(SlotId slot) {
  ++slots_[slot].holds;
  ++held_;
}

void HomeStore::letGo(SlotId id) {
  Slot& slot = slots_[id];
  --held_;
  if (--slot.holds == 0 && slot.references == 0) free_.set(id);
}

void HomeStore::refer(OwnerId owner, SlotId id) {
  Slot& slot = slots_[id];
  Account& account = accounts_[owner];
  if (slot.references == 0) ++used_;
  if (slot.references == 1) ++accounts_.at(slot.holders).shared;
  if (slot.references != 0) ++account.shared;
  ++slot.references;
  slot.holders ^= owner;
  ++account.references[id];
  ++pages_;
}

void HomeStore::unrefer(OwnerId owner, SlotId id) {
  Slot& slot = slots_[id];
  Account& account = accounts_.at(owner);
  const auto reference = account.references.find(id);
  if (--reference->second == 0) account.references.erase(reference);
  --pages_;
  slot.holders ^= owner;
  if (slot.references != 1) --account.shared;
  if (--slot.references == 1) --accounts_.at(slot.holders).shared;
  if (slot.references != 0) return;
  unpublish(id);
  --used_;
  if (slot.holds == 0) free_.set(id);
}

void HomeStore::unpublish(SlotId id) {
  Slot& slot = slots_[id];
  if (slot.indexed) index_.erase(slot.fingerprint);
  slot.published = slot.indexed = false;
}

HomeStore::Usage HomeStore::usage(OwnerId owner) const {
  Usage usage;
  const auto account = accounts_.find(owner);
  if (account == accounts_.end()) return usage;
  usage.open = account->second.open;
  usage.shared = account->second.shared;
  for (const auto& [slot, count] : account->second.references) {
    usage.pages += count;
    usage.fairBytes += static_cast<double>(kGranuleBytes) * count / slots_[slot].references;
  }
  return usage;
}

std::uint32_t HomeStore::sharedPages(OwnerId owner) const {
  const auto account = accounts_.find(owner);
  return account == accounts_.end() ? 0 : account->second.shared;
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
  if (account.open == 0 && account.references.empty()) accounts_.erase(owner);
}

}  // namespace rouse::memory
