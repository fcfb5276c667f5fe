#include "server/executor/moves.h"

#include <algorithm>
#include <utility>

namespace rouse::executor {
namespace {

using Where = Presence::Where;

std::string seconds(std::uint64_t ns) { return std::to_string(ns / 1'000'000'000) + " s"; }

}  // namespace

Status Moves::begin(std::uint64_t request, std::uint64_t session, channel::MoveAction action, std::uint64_t offered) {
  if (std::ranges::any_of(moves_, [&](const Move& move) { return move.session == session; }))
    return Error{CudaError::devicesUnavailable,
                 "session " + std::to_string(session) + " is being loaded, unloaded or pinned already"};
  moves_.push_back({.request = request, .session = session, .action = action, .offered = offered, .askedAt = {}});
  return {};
}

Status Moves::beginExport(std::uint64_t request, std::uint64_t session) {
  if (Status status = begin(request, session, channel::MoveAction::unload); !status) return status;
  moves_.back().exporting = true;
  return {};
}

void Moves::forget(std::span<Session* const> sessions) {
  for (const Move& move : moves_) {
    const auto found = std::ranges::find(sessions, move.session, &Session::id);
    if (found == sessions.end() || !(*found)->serving()) continue;
    (*found)->dismiss();
    if ((*found)->presence().here()) (*found)->recall();
    if (move.pinnedByThis && !(*found)->presence().here()) (*found)->unpin();
  }
  moves_.clear();
}

bool Moves::turn(std::span<Session* const> sessions, std::uint64_t now, const Answer& answer) {
  bool did = false;
  for (std::size_t i = 0; i < moves_.size();) {
    Move& move = moves_[i];
    const auto found = std::ranges::find(sessions, move.session, &Session::id);
    std::optional<Status> result;
    if (found == sessions.end() || !(*found)->serving()) {
      result = Error{CudaError::invalidValue, "session " + std::to_string(move.session) + " has ended"};
    } else {
      if (!std::exchange(move.begun, true)) {
        move.since = now;
        move.departures = (*found)->presence().departures();
        if (move.action == channel::MoveAction::unload && !move.exporting) (*found)->offer(move.offered);
        did = true;
      }
      result = advance(move, **found, now);
    }
    if (!result) {
      ++i;
      continue;
    }
    did = true;
    answer(move.request, *result);
    moves_.erase(moves_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return did;
}

std::optional<Status> Moves::advance(Move& move, Session& session, std::uint64_t now) {
  if (move.exporting) return emigrate(move, session, now);
  switch (move.action) {
    case channel::MoveAction::load:
      session.summon();
      return come(move, session, now);
    case channel::MoveAction::unload:
      if (session.pinned()) return Error{CudaError::notPermitted, "it is pinned, and stays until it is unpinned"};
      if (session.heldForOthers()) {
        session.recall();
        return Error{CudaError::notPermitted, "it shares memory or events with other processes, and stays until they have closed them"};
      }
      return leave(move, session, now);
    case channel::MoveAction::pin:
      if (!session.pinned()) {
        if (Status status = session.pin(); !status)
          return Error{status.error().code, status.error().message +
                                                ": others are pinned, or the largest of them needs the rest for its turns"};
        move.pinnedByThis = true;
      }
      return come(move, session, now);
    case channel::MoveAction::unpin:
      session.unpin();
      return Status{};
    case channel::MoveAction::migrate:
      break;  // the daemon's affair
  }
  return Status{};
}

std::optional<Status> Moves::come(Move& move, Session& session, std::uint64_t now) {
  const Where where = session.presence().where();
  if (where == Where::here) {
    session.dismiss();
    session.shares.activeAt = now;  // or it would be the first to leave again
    return Status{};
  }
  if (where != Where::away || session.admitted() || now - move.since <= kRoomNs) return std::nullopt;
  session.dismiss();
  if (move.pinnedByThis) session.unpin();
  return Error{CudaError::notReady, "nobody has made room for its " + std::to_string(session.presence().wantedBytes()) +
                                        " bytes within " + seconds(kRoomNs)};
}

std::optional<Status> Moves::leave(Move& move, Session& session, std::uint64_t now) {
  const Presence& presence = session.presence();
  const bool here = presence.here();
  if (presence.departures() != move.departures || presence.where() == Where::away || (here && session.heldChunks() == 0)) {
    session.recall();
    return Status{};
  }
  if (!move.askedAt) {
    if (here && !session.admitted()) {
      session.sendAway();
      move.askedAt = now;
    } else if (presence.where() != Where::leaving && now - move.since > kRoomNs) {
      return Error{CudaError::notReady,
                   "it has been on its way to the device for " + seconds(kRoomNs) + ", and cannot leave meanwhile"};
    }
  } else if (here && now - *move.askedAt > kPatienceNs) {
    session.recall();
    return Error{CudaError::notReady, "what it does has not ended within " + seconds(kPatienceNs)};
  }
  return std::nullopt;
}

std::optional<Status> Moves::emigrate(Move& move, Session& session, std::uint64_t now) {
  const Status may = session.mayMove();
  if (!may || session.still()) {
    session.recall();
    return may;
  }
  const Where where = session.presence().where();
  const Error busy{CudaError::notReady, "what it does has not ended within " + seconds(kPatienceNs)};
  if (where == Where::here && session.heldChunks() == 0)
    return now - move.since > kPatienceNs ? std::optional<Status>(busy) : std::nullopt;
  if (!move.askedAt) {
    if (where == Where::here && !session.admitted()) {
      session.sendAway();
      move.askedAt = now;
    } else if (where != Where::leaving && now - move.since > kRoomNs) {
      return Error{CudaError::notReady,
                   "it has been on its way to the device for " + seconds(kRoomNs) + ", and cannot leave meanwhile"};
    }
  } else if (where == Where::here && now - *move.askedAt > kPatienceNs) {
    session.recall();
    return busy;
  }
  return std::nullopt;
}

}  // namespace rouse::executor
