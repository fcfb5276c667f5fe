#include "server/executor/home_sharing.h"

#include <cassert>
#include <cstdlib>

namespace rouse::executor {

HomeSharing::Home HomeSharing::take(memory::OwnerId owner, std::uint64_t address) {
  const Home home = enter(owner, address, store_.acquire(owner).value());
  contents_[homes_[home].slot] = memory::kNoContent;
  return home;
}

std::optional<HomeSharing::Home> HomeSharing::takeAt(memory::OwnerId owner, std::uint64_t address, memory::SlotId slot) {
  if (!store_.acquireAt(owner, slot).value()) return std::nullopt;
  const Home home = enter(owner, address, slot);
  contents_[slot] = ++lastContent_;
  setState(home, State::written);
  return home;
}

HomeSharing::Home HomeSharing::enter(memory::OwnerId owner, std::uint64_t address, memory::SlotId slot) {
  Home home;
  if (free_.empty()) {
    home = static_cast<Home>(homes_.size());
    homes_.emplace_back();
  } else {
    home = free_.back();
    free_.pop_back();
  }
  std::vector<Home>& others = owners_[owner].homes;
  homes_[home] = {.owner = owner,
                  .slot = slot,
                  .address = address,
                  .index = static_cast<std::uint32_t>(others.size()),
                  .writtenIndex = 0,
                  .state = State::empty,
                  .trial = 0,
                  .print = {}};
  others.push_back(home);
  return home;
}

memory::SlotId HomeSharing::rewrite(Home home, const std::optional<memory::Fingerprint>& print) {
  Entry& entry = homes_[home];
  assert(owners_.at(entry.owner).moving);
  entry.slot = store_.rewrite(entry.owner, entry.slot).value();
  contents_[entry.slot] = ++lastContent_;
  // A fingerprint that is known costs nothing to look at.
  entry.trial = entry.state == State::empty || print ? 0 : kTrial;
  setState(home, State::written);
  entry.print = print;
  return entry.slot;
}

void HomeSharing::drop(Home home) {
  Entry& entry = homes_[home];
  if (!store_.drop(entry.owner, entry.slot)) std::abort();
  setState(home, State::free);
  std::vector<Home>& others = owners_.at(entry.owner).homes;
  homes_[others.back()].index = entry.index;
  others[entry.index] = others.back();
  others.pop_back();
  free_.push_back(home);
}

void HomeSharing::release(memory::OwnerId owner) {
  if (const auto found = owners_.find(owner); found != owners_.end()) {
    for (const Home home : found->second.homes) {
      pending_ -= isPending(homes_[home].state);
      homes_[home].state = State::free;
      free_.push_back(home);
    }
    owners_.erase(found);
  }
  store_.release(owner);
}

void HomeSharing::beginMove(memory::OwnerId owner) { owners_[owner].moving = true; }

void HomeSharing::endMove(memory::OwnerId owner) {
  Owner& moved = owners_.at(owner);
  moved.moving = false;
  const std::vector<Home> written = moved.written;  // those that are queued leave it
  for (const Home home : written) {
    if (homes_[home].trial != 0)
      --homes_[home].trial;
    else
      queue(home, false);
  }
}

void HomeSharing::setState(Home home, State state) {
  Entry& entry = homes_[home];
  if (entry.state == state) return;
  pending_ += isPending(state);
  pending_ -= isPending(entry.state);
  std::vector<Home>& written = owners_.at(entry.owner).written;
  if (state == State::written) {
    entry.writtenIndex = static_cast<std::uint32_t>(written.size());
    written.push_back(home);
  } else if (entry.state == State::written) {
    homes_[written.back()].writtenIndex = entry.writtenIndex;
    written[entry.writtenIndex] = written.back();
    written.pop_back();
  }
  entry.state = state;
}

void HomeSharing::queue(Home home, bool first) {
  setState(home, State::queued);
  first ? queue_.push_front(home) : queue_.push_back(home);
}

std::optional<HomeSharing::Look> HomeSharing::next(unsigned& steps) {
  for (; !queue_.empty() && steps != 0; --steps) {
    const Home home = queue_.front();
    queue_.pop_front();
    Entry& entry = homes_[home];
    if (entry.state != State::queued) continue;
    if (owners_.at(entry.owner).moving) {
      setState(home, State::written);  // queued again when the move has ended
      continue;
    }
    std::optional<memory::SlotId> equal;
    if (entry.print) {
      equal = store_.publish(entry.owner, entry.slot, *entry.print).value();
      if (!equal) {
        setState(home, State::seen);
        continue;
      }
      store_.hold(*equal);
    }
    store_.hold(entry.slot);
    setState(home, State::looking);
    return Look{home, entry.slot, equal};
  }
  return std::nullopt;
}

bool HomeSharing::current(const Look& look) const {
  // Held until now, the slot has not become another content's: who refers to it holds what was looked at.
  const Entry& entry = homes_[look.home];
  return entry.state == State::looking && entry.slot == look.slot;
}

void HomeSharing::printed(const Look& look, const memory::Fingerprint& print) {
  if (current(look)) {
    homes_[look.home].print = print;
    queue(look.home, true);
  }
  store_.letGo(look.slot);
}

void HomeSharing::compared(const Look& look, bool equal) {
  if (current(look)) {
    Entry& entry = homes_[look.home];
    if (!equal) {
      setState(look.home, State::seen);
    } else if (owners_.at(entry.owner).moving) {
      setState(look.home, State::written);
    } else if (store_.merge(entry.owner, look.slot, *look.equal)) {
      entry.slot = *look.equal;
      merged_.push_back({entry.owner, entry.address});
      setState(look.home, State::seen);
    } else {
      queue(look.home, false);  // the other is nobody's any more
    }
  }
  store_.letGo(look.slot);
  store_.letGo(*look.equal);
}

void HomeSharing::leftOff(const Look& look) {
  if (current(look)) queue(look.home, true);
  store_.letGo(look.slot);
  if (look.equal) store_.letGo(*look.equal);
}

}  // namespace rouse::executor
