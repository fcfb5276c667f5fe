#include "server/device/cpu/paced_work.h"

#include <algorithm>
#include <utility>

namespace rouse::cpu {
namespace {

// At least so often it is looked whether the context has died, or another transfer has ended before its time.
constexpr std::int64_t kLongestWaitNs = 5'000'000;
// A wake-up that came later than this is no wake-up that came late.
constexpr std::int64_t kLongestDelayNs = 1'000'000;
// Until there may be room for one more flow.
constexpr std::int64_t kRetryNs = 1'000'000;

}  // namespace

PacedWork::PacedWork(std::shared_ptr<StreamQueue> stream, PacedTransfer transfer)
    : stream_(std::move(stream)), transfer_(std::move(transfer)), unfinished_(transfer_.pieces + 1) {}

void PacedWork::start(std::shared_ptr<StreamQueue> stream, std::int64_t due, PacedTransfer transfer) {
  const std::shared_ptr<PacedWork> work(new PacedWork(std::move(stream), std::move(transfer)));
  LinkUse& links = work->links();
  const std::int64_t now = AlarmClock::now();
  const device::LinkDirection direction = work->transfer_.direction;
  work->flow_ = links.board().start(now, direction, work->transfer_.bytes, now - due < kLongestDelayNs ? due : now);
  if (work->flow_ != 0) work->release(static_cast<double>(work->transfer_.bytes));
  // From now on the clock's thread alone.
  links.clock().set(now + (work->flow_ != 0 ? links.board().latency(direction) : kRetryNs), work);
}

// Bytes of the transfer from a piece on.
double PacedWork::leftBefore(std::uint64_t piece) const {
  return static_cast<double>(transfer_.bytes) * static_cast<double>(transfer_.pieces - piece) /
         static_cast<double>(transfer_.pieces);
}

// The engines copy one piece ahead of the model, so that each is there when the model has moved it.
void PacedWork::release(double remaining) {
  while (released_ < transfer_.pieces && (released_ < 2 || remaining <= leftBefore(released_ - 1) ||
                                          (transfer_.there && transfer_.there(released_)))) {
    ++released_;
    links().copyEngines().submit(shared_from_this());
  }
}

void PacedWork::ring() {
  const std::int64_t now = AlarmClock::now();
  device::LinkBoard& board = links().board();
  if (stream_->context().dead() != CudaError::success) {
    if (flow_ != 0) board.cancel(now, flow_);
    const std::uint64_t dropped = transfer_.pieces - released_ + 1;
    if (unfinished_.fetch_sub(dropped, std::memory_order_acq_rel) == dropped) stream_->completed(0);
    return;
  }
  if (flow_ == 0) flow_ = board.start(now, transfer_.direction, transfer_.bytes);
  if (flow_ == 0) return links().clock().set(now + kRetryNs, shared_from_this());
  if (const std::uint64_t spared = spared_.exchange(0, std::memory_order_relaxed); spared != 0) board.credit(now, flow_, spared);
  const device::LinkBoard::View view = board.look(now, flow_);
  release(view.remaining);
  if (view.ended) {
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) stream_->completed(modelledEnd_);
    return;
  }
  const bool last = released_ == transfer_.pieces;
  const std::int64_t next = board.whenLeft(now, flow_, last ? 0 : leftBefore(released_ - 1));
  if (last) modelledEnd_ = next;
  links().clock().set(std::min(next, now + kLongestWaitNs), shared_from_this());
}

Work::Turn PacedWork::run(Worker&) {
  const std::uint64_t piece = next_.fetch_add(1, std::memory_order_relaxed);
  if (stream_->context().dead() == CudaError::success) spared_.fetch_add(transfer_.copy(piece), std::memory_order_relaxed);
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) stream_->completed(modelledEnd_);
  return Turn::taken;
}

}  // namespace rouse::cpu
