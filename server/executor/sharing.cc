#include "server/executor/sharing.h"

#include <algorithm>
#include <vector>

#include "swap/eviction_plan.h"

namespace rouse::executor {
namespace {

// Notes what is seen of a session. True: it waits for memory.
bool observe(Session& session, std::uint64_t now) {
  Session::Shares& notes = session.shares;
  if (session.tookCommands() || session.busy()) notes.activeAt = now;
  const bool here = session.presence().here();
  if (here && !notes.wasHere) notes.hereSince = now;
  if (!here) notes.refusals = 0;
  notes.wasHere = here;
  if (session.wantedChunks() == 0) {
    notes.waitingSince = notes.toldAfter = 0;
    return false;
  }
  if (notes.waitingSince == 0) notes.waitingSince = now;
  return true;
}

bool before(const Session& a, const Session& b) {
  return a.shares.waitingSince != b.shares.waitingSince ? a.shares.waitingSince < b.shares.waitingSince : a.id() < b.id();
}

}  // namespace

bool Sharing::turn(std::span<Session* const> sessions, std::uint64_t now) {
  Session* head = nullptr;
  bool taking = false;
  for (Session* session : sessions) {
    if (observe(*session, now) && (head == nullptr || before(*session, *head))) head = session;
    // One that ends takes no more, and may take long to end.
    taking = taking || (session->serving() && session->admitted());
  }
  waiting_ = head != nullptr;
  lacking_ = false;
  surroundings_.contended = waiting_ || taking;
  if (!waiting_) {
    // Whoever made others leave has gone, or needs no more.
    for (Session* session : sessions)
      if (session->leaveAsked() && session->presence().here()) session->letStay();
    return false;
  }
  if (taking) return false;
  const std::uint64_t wanted = head->wantedChunks(), free = surroundings_.memory.freeChunks();
  lacking_ = wanted > free;
  if (lacking_) return makeRoom(sessions, *head, wanted - free, now);
  head->admit();
  return true;
}

std::vector<channel::SessionWaits> Sharing::impatient(std::span<Session* const> sessions, std::uint64_t now) {
  std::vector<channel::SessionWaits> found;
  for (Session* session : sessions) {
    Session::Shares& notes = session->shares;
    if (notes.waitingSince == 0 || session->heldChunks() != 0 || session->pinned()) continue;
    const std::uint64_t bytes = session->wantedChunks() * kGranuleBytes, waited = now - notes.waitingSince;
    if (bytes == 0 || waited < std::max(2 * notes.toldAfter, kLeastWaitNs + bytes * 1'000 / (kCopyRate / 1'000'000))) continue;
    notes.toldAfter = waited;
    if (!session->mayMove()) continue;
    found.push_back({session->id(), waited, bytes, session->usage().reservedBytes});
  }
  return found;
}

std::uint64_t Sharing::idleBytes(std::span<Session* const> sessions, std::uint64_t now) {
  std::uint64_t bytes = 0;
  for (Session* session : sessions)
    if (session->mayLeave() && session->quiet() && now - session->shares.activeAt >= kIdleNs) bytes += session->heldChunks() * kGranuleBytes;
  return bytes;
}

bool Sharing::makeRoom(std::span<Session* const> sessions, Session& head, std::uint64_t chunks, std::uint64_t now) {
  std::uint64_t coming = 0;
  bool did = false;
  std::vector<Session*> asked;
  std::vector<swap::Resident> residents;
  for (Session* session : sessions) {
    Session::Shares& notes = session->shares;
    if (session->leaveAsked() && session->presence().here() && now - notes.askedAt > kPatienceNs) {
      session->letStay();
      notes.staysUntil = now + (kPatienceNs << std::min(notes.refusals++, kMostRefusals));
      did = true;
    }
    if (session->mustLeave()) coming += session->heldChunks();
    coming += session->lentChunks();
    if (session == &head || !session->mayLeave() || now < notes.staysUntil) continue;
    asked.push_back(session);
    residents.push_back({.chunks = session->heldChunks(),
                         .state = session->wantedChunks() != 0 ? swap::Resident::State::waiting
                                  : session->quiet()           ? swap::Resident::State::quiet
                                                               : swap::Resident::State::busy,
                         .activeAt = notes.activeAt,
                         .hereSince = notes.hereSince});
  }
  if (coming >= chunks) return did;
  const std::vector<std::size_t> leaving = swap::planEviction(chunks - coming, residents, now);
  for (const std::size_t index : leaving) {
    asked[index]->askToLeave();
    asked[index]->shares.askedAt = now;
  }
  return did || !leaving.empty();
}

}  // namespace rouse::executor
