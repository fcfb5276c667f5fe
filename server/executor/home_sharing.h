// Which granules have homes with the same content, and so one slot of the host store for all of them.
//
// A granule that has left the device has a home for as long as it may need one. Which slot that is changes: rewrite() gives
// a home that is shared, or is being read, another one; a home that is found to be equal to another moves into that one's
// slot. Neither happens while the owner's memory moves (beginMove() to endMove()), except rewrite(), which is for then: so a
// transfer finds its granule where it was told, and no slot that a transfer reads is given away.
//
// What a home holds is final when its owner's move has ended. Then it is looked at: next() says what is to be read (a slot's
// fingerprint, where it is not known; then two slots with the same fingerprint, byte by byte), by anybody, at any time; the
// slots are held meanwhile, and what has changed since is noticed when the answer comes. Of homes whose content has changed
// only those are looked at that have survived a visit unchanged: what is written in each turn is not worth reading.
//
// Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/chunk_contents.h"
#include "memory/home_store.h"

namespace rouse::executor {

class HomeSharing {
 public:
  using Home = std::uint32_t;  // dense, used again

  explicit HomeSharing(memory::HomeStore& store) : store_(store), contents_(store.slots()) {}

  // One of those that the store has promised to the owner; without content. Not while store.starved(). `address`: whose home it is, for
  // takeMerged().
  Home take(memory::OwnerId owner, std::uint64_t address = 0);
  // The same in this slot, which holds the granule's bytes. The owner moves. None: the slot is taken.
  std::optional<Home> takeAt(memory::OwnerId owner, std::uint64_t address, memory::SlotId slot);
  memory::SlotId slot(Home home) const { return homes_[home].slot; }
  // The same for all homes in one slot, another one whenever it is written; kNoContent as long as it has not been.
  memory::ContentId content(Home home) const { return contents_[homes_[home].slot]; }
  // The owner moves, and the home's content is about to be written, there. `print`: of that, where it is known before. Not
  // while store.starved().
  memory::SlotId rewrite(Home home, const std::optional<memory::Fingerprint>& print);
  // Promised again.
  void drop(Home home);
  // All that the owner has, and was promised.
  void release(memory::OwnerId owner);

  void beginMove(memory::OwnerId owner);
  void endMove(memory::OwnerId owner);

  struct Look {
    Home home;
    memory::SlotId slot;
    std::optional<memory::SlotId> equal;  // compare with this one; else the fingerprint is wanted
  };
  // What is to be read next, if anything; one of the three is called for each. Looks at homes until there is one to be read
  // or none of `steps` is left.
  std::optional<Look> next(unsigned& steps);
  // next() may have more.
  bool waiting() const { return !queue_.empty(); }
  // Homes whose content is final and that have not been compared with others yet, those that are being read included.
  std::uint32_t pending() const { return pending_; }
  void printed(const Look& look, const memory::Fingerprint& print);
  void compared(const Look& look, bool equal);
  void leftOff(const Look& look);  // to be asked for again

  // Homes that have moved into an equal one's slot since this was asked last, and so changed their content's name, each as often as it did.
  // Some may be their owners' no more.
  struct Merged {
    memory::OwnerId owner = 0;
    std::uint64_t address = 0;
  };
  std::vector<Merged> takeMerged() { return std::exchange(merged_, {}); }
  bool anyMerged() const { return !merged_.empty(); }

 private:
  // Ends of moves that content which is not the first has to survive: its departure, its arrival.
  static constexpr std::uint8_t kTrial = 2;

  enum class State : std::uint8_t {
    free,
    empty,    // nothing has been written yet
    written,  // not to be looked at before the owner's move has ended, or the next one
    queued,
    looking,
    seen
  };
  struct Entry {
    memory::OwnerId owner = 0;
    memory::SlotId slot = 0;
    std::uint64_t address = 0;
    std::uint32_t index = 0;  // among its owner's
    std::uint32_t writtenIndex = 0;  // among its owner's that are in state `written`
    State state = State::free;
    std::uint8_t trial = 0;
    std::optional<memory::Fingerprint> print;
  };
  struct Owner {
    bool moving = false;
    std::vector<Home> homes;
    std::vector<Home> written;  // so that the end of a move looks at what it has to, whatever else there is
  };

  Home enter(memory::OwnerId owner, std::uint64_t address, memory::SlotId slot);
  static bool isPending(State state) { return state == State::queued || state == State::looking; }
  // Every change of the state of a home that has an owner.
  void setState(Home home, State state);
  void queue(Home home, bool first);
  // The home still holds what was looked at.
  bool current(const Look& look) const;

  memory::HomeStore& store_;
  std::vector<Entry> homes_;
  std::vector<Home> free_;
  std::unordered_map<memory::OwnerId, Owner> owners_;
  std::vector<memory::ContentId> contents_;  // by slot
  memory::ContentId lastContent_ = memory::kNoContent;
  std::vector<Merged> merged_;
  std::deque<Home> queue_;  // and some that are not queued any more
  std::uint32_t pending_ = 0;
};

}  // namespace rouse::executor
