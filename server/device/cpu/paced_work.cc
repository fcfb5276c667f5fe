#include "server/device/cpu/paced_work.h"

#include <algorithm>

namespace rouse::cpu {
namespace {

// At least so often it is looked whether the context has died, or another transfer has ended before its time.
constexpr std::int64_t kLongestWaitNs = 5'000'000;
// Until there may be room for one more flow.
constexpr std::int64_t kRetryNs = 1'000'000;

}  // namespace

PacedWork::PacedWork(std::shared_ptr<StreamQueue> stream, device::LinkDirection direction, std::uint64_t bytes,
                     std::uint64_t pieces, std::function<std::uint64_t(std::uint64_t)> copyPiece)
    : stream_(std::move(stream)),
      direction_(direction),
      bytes_(bytes),
      pieces_(pieces),
      copyPiece_(std::move(copyPiece)),
      unfinished_(pieces + 1) {}

void PacedWork::start(std::shared_ptr<StreamQueue> stream, device::LinkDirection direction, std::uint64_t bytes,
                      std::uint64_t pieces, std::function<std::uint64_t(std::uint64_t)> copyPiece) {
  const std::shared_ptr<PacedWork> work(
      new PacedWork(std::move(stream), direction, bytes, pieces, std::move(copyPiece)));
  LinkUse& links = work->links();
  const std::int64_t now = AlarmClock::now();
  work->flow_ = links.board().start(now, direction, bytes);
  // Workers copy one piece ahead of the model, so that each is there when the model has moved it.
  work->release(std::min<std::uint64_t>(work->flow_ != 0 ? 2 : 0, pieces));
  // From now on the clock's thread alone.
  links.clock().set(now + (work->flow_ != 0 ? links.board().latency(direction) : kRetryNs), work);
}

// Bytes of the transfer from a piece on.
double PacedWork::leftBefore(std::uint64_t piece) const {
  return static_cast<double>(bytes_) * static_cast<double>(pieces_ - piece) / static_cast<double>(pieces_);
}

void PacedWork::release(std::uint64_t upTo) {
  for (; released_ < upTo; ++released_) stream_->context().pool.submit(shared_from_this());
}

void PacedWork::ring() {
  const std::int64_t now = AlarmClock::now();
  device::LinkBoard& board = links().board();
  if (stream_->context().dead() != CudaError::success) {
    if (flow_ != 0) board.cancel(now, flow_);
    const std::uint64_t dropped = pieces_ - released_ + 1;
    if (unfinished_.fetch_sub(dropped, std::memory_order_acq_rel) == dropped) stream_->completed();
    return;
  }
  if (flow_ == 0) flow_ = board.start(now, direction_, bytes_);
  if (flow_ == 0) return links().clock().set(now + kRetryNs, shared_from_this());
  if (const std::uint64_t spared = spared_.exchange(0, std::memory_order_relaxed); spared != 0) board.credit(now, flow_, spared);
  const device::LinkBoard::View view = board.look(now, flow_);
  if (view.ended) {
    release(pieces_);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) stream_->completed();
    return;
  }
  std::uint64_t allowed = released_;
  while (allowed < pieces_ && (allowed < 2 || view.remaining <= leftBefore(allowed - 1))) ++allowed;
  release(allowed);
  const std::int64_t next = board.whenLeft(now, flow_, allowed < pieces_ ? leftBefore(allowed - 1) : 0);
  links().clock().set(std::min(next, now + kLongestWaitNs), shared_from_this());
}

Work::Turn PacedWork::run(Worker& worker) {
  const std::uint64_t piece = next_.fetch_add(1, std::memory_order_relaxed);
  if (stream_->context().dead() == CudaError::success) spared_.fetch_add(copyPiece_(piece), std::memory_order_relaxed);
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) stream_->completed(worker);
  return Turn::taken;
}

}  // namespace rouse::cpu
