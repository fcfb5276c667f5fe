// Whoever has a share of the device's memory and may have to make room for others: a session, or a guest (guest.h). What Sharing
// (sharing.h) decides by. Reactor thread only.
#pragma once

#include <cstdint>

namespace rouse::executor {

class Sharer {
 public:
  virtual std::uint64_t id() const = 0;
  // Chunks that it cannot go on without; 0: none.
  virtual std::uint64_t wantedChunks() const = 0;
  // It may take as many as it wants, and has not taken them all yet.
  virtual void admit() = 0;
  virtual bool admitted() const = 0;
  // To give its chunks up as soon as it can.
  virtual void askToLeave() = 0;
  virtual void letStay() = 0;
  virtual bool leaveAsked() const = 0;
  // Asked by anybody.
  virtual bool mustLeave() const = 0;
  virtual bool mayLeave() const = 0;
  // However long it takes to leave, it is not let stay for that.
  virtual bool mayTakeLong() const { return false; }
  // Neither work nor commands, as far as can be seen.
  virtual bool quiet() const = 0;
  // It has done something since this was asked last, or is at it.
  virtual bool active() = 0;
  virtual bool present() const = 0;  // has its memory here
  virtual bool serving() const = 0;  // it is to be here at all
  virtual std::uint64_t heldChunks() const = 0;
  virtual std::uint64_t lentChunks() const = 0;

  struct Shares {  // Sharing's notes. Times in nanoseconds; 0: never.
    std::uint64_t activeAt = 0, hereSince = 0, waitingSince = 0, askedAt = 0, staysUntil = 0;
    std::uint64_t comesSince = 0, tookToCome = 0;  // until it was here; the latter is a duration
    std::uint64_t waited = 0, waitEnded = 0;  // altogether before it waits now, since it last did not for a while (sharing.h); when that ended
    std::uint64_t toldAfter = 0;  // how long it had waited when the daemon was told last
    unsigned refusals = 0;  // times in a row that it was asked to leave and did not
    bool wasHere = false;
  } shares;

 protected:
  ~Sharer() = default;
};

}  // namespace rouse::executor
