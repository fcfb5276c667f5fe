#include "server/roused/loan.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace rouse::daemon {

bool Loan::pays(const ExecutorLink& lender, const ExecutorLink& borrower) {
  return memory::reachesFast(borrower.properties().link, lender.properties().uuid);
}

void Loan::arrange(std::function<void()> done) {
  done_ = std::move(done);
  share(0);
}

void Loan::share(std::uint32_t from) {
  asked_ = true;
  lender_.request(channel::ShareMemory{session_, from}, {}, [self = shared_from_this()](Answer answer) { self->shared(std::move(answer)); });
}

void Loan::shared(Answer answer) {
  auto* memory = answer ? std::get_if<channel::SharedMemory>(&answer->body) : nullptr;
  if (!answer) spdlog::debug("session {}: GPU {} shares nothing: {}", session_, lender_.ordinal(), answer.error().message);
  if (memory == nullptr || memory->chunks.empty()) return arranged();
  borrowed_ = true;
  memory->sessionId = session_;
  borrower_.request(*memory, std::move(answer->fds), [self = shared_from_this(), next = memory->next](const Answer& opened) {
    if (!opened) spdlog::debug("session {}: GPU {} borrows nothing: {}", self->session_, self->borrower_.ordinal(), opened.error().message);
    if (!opened || next == 0 || self->ending_) return self->arranged();
    self->share(next);
  });
}

void Loan::arranged() { std::exchange(done_, {})(); }

void Loan::begin(std::function<void()> over) {
  over_ = std::move(over);
  if (!borrowed_) return finish();
  begun_ = true;
  borrower_.request(channel::EndBorrowing{session_, false}, {}, [self = shared_from_this()](const Answer&) { self->finish(); });
  if (!begun_) return;  // the borrower is gone already
  if (std::exchange(ending_, false)) return end();
  timer_.expires_after(kAtMost);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->end();
  });
}

void Loan::end() {
  if (std::exchange(ending_, true) || !begun_) return;
  borrower_.request(channel::EndBorrowing{session_, true}, {}, [](const Answer&) {});
}

void Loan::giveUp() {
  over_ = [] {};
  finish();
}

void Loan::finish() {
  begun_ = false;
  timer_.cancel();
  if (asked_ && lender_.serving() && lender_.incarnation() == incarnation_)
    lender_.request(channel::ReturnMemory{session_}, {}, [](const Answer&) {});
  std::exchange(over_, {})();
}

}  // namespace rouse::daemon
