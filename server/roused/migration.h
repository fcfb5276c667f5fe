// One function taken from the GPU that serves it to another, while it waits for nothing longer than its next answer:
//
//   opening     a dormant session on the target, and its modules there; the function goes on where it is
//   exporting   the source sends its memory home, stops reading its ring and tells what it is
//   importing   the target makes the same, and copies the homes into its own part of the host store
//   lending     where that is faster, the target gets to read what the source still has on its GPU (loan.h)
//   committed   the target is told to serve it, the source to forget it
//
// What it asks for meanwhile lies in its ring. Up to the commit the source has it whole: whatever fails then (a refusal, the target's
// death) it goes on there. The source's death before, and the target's from then on, lose the function as a GPU's loss always does.
// It serves on one of them at a time because only this tells either of them to, and only once.
//
// Lives until it has ended. On the event loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "server/roused/loan.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {

class Migration : public std::enable_shared_from_this<Migration> {
 public:
  // Why this device of the session cannot be moved there, as far as the daemon knows.
  static Status possible(const Session&, std::uint32_t device, const ExecutorLink& target);

  // possible(). `done` is called once, when nothing is left on the one that it has left but what that lends, or on the one that did not
  // take it.
  Migration(SessionTable&, Session&, std::uint32_t device, ExecutorLink& target, std::function<void(Status)> done,
            std::shared_ptr<ExecutorLink> own = {},      // the target, of an isolated session
            std::shared_ptr<SessionSleep> asleep = {});  // instead of a source: what was left by one that has ended
  void start();

 private:
  using Answer = Result<channel::Message>;

  Session& session() const;
  Session::Device& device() const;
  // Why it cannot go on: the function has ended, or one of the two has died.
  std::optional<Error> trouble() const;
  bool targetLives() const;
  void open();
  void install();
  void installed(const Answer&);
  void exportSession();
  void exported(Answer);
  void import(channel::SessionRecipe recipe);
  void imported(const Answer&);
  void commit();
  // Of both, to whichever they apply. Ends when they have answered.
  void abandon(const Error& why);
  void ask(ExecutorLink& link, const channel::Body& body, bool resume);
  void answered();
  void finish();
  // The loan is over, and the source's session has been closed.
  void left();
  void ended();

  SessionTable& table_;
  const std::uint64_t id_;
  const std::uint32_t device_;
  const std::shared_ptr<SessionSleep> asleep_;
  const std::shared_ptr<ExecutorLink> sourceOwn_, targetOwn_;  // of an isolated session: one of them ends afterwards
  ExecutorLink& source_;
  ExecutorLink& target_;
  const std::uint64_t targetIncarnation_;
  std::function<void(Status)> done_;
  bool opened_ = false;  // on the target
  bool frozen_ = false;  // on the source
  bool committed_ = false;
  std::size_t awaited_ = 0;
  std::shared_ptr<Loan> loan_;              // null: none
  std::size_t parts_ = 1, leaving_ = 0;     // what of it has not ended: itself, and the loan; and of the latter
  std::optional<Error> failure_;
};

}  // namespace rouse::daemon
