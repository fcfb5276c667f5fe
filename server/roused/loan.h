// What a function that goes to another GPU has still in the memory of the one that it leaves, where NVLinks connect the two: lent to the
// executor that it comes to, which reads it there rather than from home.
//
//   arranged    before the function is resumed: piece by piece, one executor shares it and the other opens it
//   under way   from then on, until all of it has come; or until the one that lends needs it, has died, or kAtMost is over: then the other
//               takes from home what it has not asked for yet
//   over        the one that lends is told so, and closes its session
//
// All of it is at home as well: whatever fails, nothing is lost but time.
//
// Lives until it is over. On the event loop's thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "server/roused/executor_link.h"

namespace rouse::daemon {

class Loan : public std::enable_shared_from_this<Loan> {
 public:
  // A function that does nothing does not come, and is lent to for nothing.
  static constexpr std::chrono::seconds kAtMost{2};

  static bool pays(const ExecutorLink& lender, const ExecutorLink& borrower);

  Loan(boost::asio::any_io_executor io, std::uint64_t session, ExecutorLink& lender, ExecutorLink& borrower)
      : timer_(io), session_(session), lender_(lender), borrower_(borrower), incarnation_(lender.incarnation()) {}

  // The lender has frozen the session, the borrower is importing it. `done` is called once, whatever comes of it.
  void arrange(std::function<void()> done);
  // The borrower has been told to resume it, the lender to close it. `over` is called once.
  void begin(std::function<void()> over);
  // At any time: not for longer than what is under way takes.
  void end();
  // Instead of begin(): the borrower has not resumed it, and will not.
  void giveUp();

 private:
  using Answer = Result<channel::Message>;

  void share(std::uint32_t from);
  void shared(Answer);
  void arranged();
  void finish();

  boost::asio::steady_timer timer_;
  const std::uint64_t session_;
  ExecutorLink& lender_;
  ExecutorLink& borrower_;
  const std::uint64_t incarnation_;  // of the lender
  std::function<void()> done_, over_;
  bool asked_ = false;     // the lender may hold something
  bool borrowed_ = false;  // the borrower may read something
  bool begun_ = false, ending_ = false;
};

}  // namespace rouse::daemon
