#include "server/executor/sharing.h"

#include <algorithm>
#include <vector>

#include "swap/eviction_plan.h"

namespace rouse::executor {
namespace {

// Notes what is seen of one. True: it waits for memory.
bool observe(Sharer& sharer, std::uint64_t now) {
  Sharer::Shares& notes = sharer.shares;
  if (sharer.active()) notes.activeAt = now;
  const bool here = sharer.present();
  if (here && !notes.wasHere) {
    notes.hereSince = now;
    notes.tookToCome = notes.comesSince == 0 ? 0 : now - notes.comesSince;
    notes.comesSince = 0;
  }
  if (!here) notes.refusals = 0;
  // Let in, and has not come after all: its next way begins with the next admission.
  if (!here && !sharer.admitted() && sharer.heldChunks() == 0) notes.comesSince = 0;
  notes.wasHere = here;
  if (sharer.wantedChunks() == 0) {
    if (notes.waitingSince == 0) return false;
    notes.waited += now - notes.waitingSince;
    notes.waitEnded = now;
    notes.waitingSince = 0;
    return false;
  }
  if (notes.waitingSince != 0) return true;
  notes.waitingSince = now;
  if (now - notes.waitEnded > Sharing::kForgetNs) notes.waited = notes.toldAfter = 0;
  return true;
}

bool visits(const Sharer& sharer, std::uint64_t now) {
  return sharer.present() && swap::inTurn(sharer.shares.hereSince, sharer.shares.tookToCome, now);
}

// Whose turn it is gets what it lacks first: it would have to leave otherwise, for somebody whose coming takes as long as its own did.
bool before(const Sharer& a, const Sharer& b, std::uint64_t now) {
  if (visits(a, now) != visits(b, now)) return visits(a, now);
  return a.shares.waitingSince != b.shares.waitingSince ? a.shares.waitingSince < b.shares.waitingSince : a.id() < b.id();
}

}  // namespace

bool Sharing::turn(std::span<Sharer* const> sharers, std::uint64_t now) {
  Sharer* head = nullptr;
  bool taking = false;
  for (Sharer* sharer : sharers) {
    if (observe(*sharer, now) && (head == nullptr || before(*sharer, *head, now))) head = sharer;
    // One that ends takes no more, and may take long to end.
    taking = taking || (sharer->serving() && sharer->admitted());
  }
  waiting_ = head != nullptr;
  lacking_ = 0;
  surroundings_.contended = waiting_ || taking;
  if (!waiting_) {
    // Whoever made others leave has gone, or needs no more.
    for (Sharer* sharer : sharers)
      if (sharer->leaveAsked() && sharer->present()) sharer->letStay();
    return false;
  }
  if (taking) return false;
  const std::uint64_t wanted = head->wantedChunks(), free = surroundings_.memory.freeChunks();
  lacking_ = wanted > free ? wanted - free : 0;
  if (lacking_ != 0) return makeRoom(sharers, *head, wanted - free, now);
  head->admit();
  // It may be let in more than once on its way, for what it has come to want since.
  if (!head->present() && head->shares.comesSince == 0) head->shares.comesSince = now;
  return true;
}

std::vector<channel::SessionWaits> Sharing::impatient(std::span<Session* const> sessions, std::uint64_t now) {
  std::vector<channel::SessionWaits> found;
  for (Session* session : sessions) {
    Session::Shares& notes = session->shares;
    if (notes.waitingSince == 0 || session->wantedChunks() == 0 || !session->away() || session->pinned()) continue;
    // What it still has here would have to come there as well.
    const std::uint64_t bytes = (session->wantedChunks() + session->heldChunks()) * kGranuleBytes, waited = notes.waited + now - notes.waitingSince;
    const std::uint64_t again = notes.toldAfter + std::min(notes.toldAfter, kTellAgainNs);
    if (waited < std::max(again, kLeastWaitNs + bytes * 1'000 / (kCopyRate / 1'000'000))) continue;
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

bool Sharing::makeRoom(std::span<Sharer* const> sharers, Sharer& head, std::uint64_t chunks, std::uint64_t now) {
  std::uint64_t coming = 0;
  bool did = false;
  std::vector<Sharer*> asked;
  std::vector<swap::Resident> residents;
  for (Sharer* sharer : sharers) {
    Sharer::Shares& notes = sharer->shares;
    if (sharer->leaveAsked() && !sharer->mayTakeLong() && sharer->present() && now - notes.askedAt > kPatienceNs) {
      sharer->letStay();
      notes.staysUntil = now + (kPatienceNs << std::min(notes.refusals++, kMostRefusals));
      did = true;
    }
    if (sharer->mustLeave()) coming += sharer->heldChunks();
    coming += sharer->lentChunks();
    if (sharer == &head || !sharer->mayLeave() || now < notes.staysUntil) continue;
    asked.push_back(sharer);
    residents.push_back({.chunks = sharer->heldChunks(),
                         .state = sharer->wantedChunks() != 0 ? swap::Resident::State::waiting
                                  : sharer->quiet()           ? swap::Resident::State::quiet
                                                               : swap::Resident::State::busy,
                         .activeAt = notes.activeAt,
                         .hereSince = notes.hereSince,
                         .tookToCome = notes.tookToCome});
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
