// What an operator asks of single sessions: to come to the device now (load), to leave it now (unload), to come and stay (pin),
// or to take turns again (unpin). Each is answered once: when it is so, or why it cannot be; then nothing has changed for that
// session, though others may have made room.
//
// Pure but for the sessions. Reactor thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "server/executor/session.h"
#include "server/executor/sharing.h"

namespace rouse::executor {

class Moves {
 public:
  // Nanoseconds. How long a session that comes may wait for others to make room, and one that is to leave until it can be
  // asked: it may be on its way. Transfers that have begun are waited for.
  static constexpr std::uint64_t kRoomNs = 30'000'000'000;
  // How long what is queued may take to end once a session has been asked to leave.
  static constexpr std::uint64_t kPatienceNs = Sharing::kPatienceNs;

  // devicesUnavailable when another one is under way for this session. `offered`: as channel::MoveSession says.
  Status begin(std::uint64_t request, std::uint64_t session, channel::MoveAction action, std::uint64_t offered = 0);
  // Of one that is to be another device's: answered by success in the very turn in which it is still() and mayMove().
  Status beginExport(std::uint64_t request, std::uint64_t session);

  // Nobody awaits them any more. What cannot be said to be under way is undone; who has been sent away goes.
  void forget(std::span<Session* const> sessions);

  using Answer = std::function<void(std::uint64_t request, const Status&)>;
  // Goes on with all that are under way; one whose session is not among `sessions`, or is cut off, is over. True if any was
  // answered or set in motion. Times as for Sharing::turn(), which comes afterwards.
  bool turn(std::span<Session* const> sessions, std::uint64_t now, const Answer& answer);
  // turn() is to be called again soon, also when nothing else happens.
  bool waiting() const { return !moves_.empty(); }

 private:
  struct Move {
    std::uint64_t request, session;
    channel::MoveAction action;
    std::uint64_t offered = 0;
    bool exporting = false;
    bool begun = false;
    bool pinnedByThis = false;
    std::uint64_t since = 0, departures = 0;
    std::optional<std::uint64_t> askedAt;  // to leave
  };
  // Each: what to answer; nothing while it is under way.
  static std::optional<Status> advance(Move&, Session&, std::uint64_t now);
  static std::optional<Status> come(Move&, Session&, std::uint64_t now);
  static std::optional<Status> leave(Move&, Session&, std::uint64_t now);
  static std::optional<Status> emigrate(Move&, Session&, std::uint64_t now);

  std::vector<Move> moves_;
};

}  // namespace rouse::executor
