// Which slots of the session segment are in use. A slot's values only grow, over all its users: whoever takes one goes
// on where the last one stopped. A slot given back is taken again only when its last value has been stored. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "schemas/wire/layout.h"

namespace rouse::client {

class SlotAllocator {
 public:
  // `slots`: all kSlotCount of them, mapped for as long as this lives. Slot 0 is never given out.
  explicit SlotAllocator(const wire::Slot* slots) : slots_(slots) {}

  struct Lease {
    std::uint32_t index = 0;
    std::uint64_t value = 0;  // the last one that was sent; the next is greater
  };
  // None: all are in use.
  std::optional<Lease> take();
  void give(Lease lease);
  // A page of slots for an event of several processes (shared_event.h), whose number it returns: for good.
  std::optional<std::uint32_t> takePage();

 private:
  const wire::Slot* slots_;
  std::mutex mutex_;
  std::uint32_t fresh_ = 1;
  std::deque<Lease> rested_;
};

}  // namespace rouse::client
