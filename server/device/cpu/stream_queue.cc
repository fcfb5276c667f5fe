#include "server/device/cpu/stream_queue.h"

#include <algorithm>
#include <cstring>

#include "server/device/cpu/launch_work.h"
#include "server/device/cpu/library_work.h"
#include "server/device/cpu/paced_work.h"
#include "server/device/cpu/restore_work.h"
#include "server/device/cpu/slot.h"
#include "server/device/cpu/transfer.h"
#include "server/device/cpu/transfer_work.h"

namespace rouse::cpu {

void StreamQueue::push(Operation operation) {
  const std::int64_t now = context_->links != nullptr ? AlarmClock::now() : 0;
  std::visit(
      [now](auto& each) {
        if constexpr (requires { each.queuedAt; }) each.queuedAt = now;
      },
      operation);
  ++submitted_;
  context_->outstanding.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    operations_.push_back(std::move(operation));
    if (driven_) return;
    driven_ = true;
    follows_ = now;
    context_->beginDriving();
  }
  resume();
}

void StreamQueue::resume() { context_->pool.submit(shared_from_this()); }

Work::Turn StreamQueue::run(Worker& worker) {
  drive(&worker);
  return Turn::taken;
}

void StreamQueue::completed(Worker& worker) {
  completeFront();
  follows_ = 0;
  drive(&worker);
}

void StreamQueue::completed(std::int64_t modelledEnd) {
  completeFront();
  follows_ = modelledEnd;
  drive(nullptr);
}

void StreamQueue::completeFront() {
  std::unique_lock lock(mutex_);
  Operation done = std::move(operations_.front());
  operations_.pop_front();
  lock.unlock();
  context_->outstanding.fetch_sub(1, std::memory_order_acq_rel);
  completed_.fetch_add(1, std::memory_order_release);
}

void StreamQueue::drive(Worker* worker, bool executor) {
  const std::shared_ptr<ContextState> context =
      context_;  // the last reference to this queue may go while others drive it
  for (;;) {
    Operation* front = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (operations_.empty()) {
        driven_ = false;
        follows_ = 0;
        break;
      }
      front = &operations_.front();  // stays where it is while more are queued behind it
    }
    switch (step(*front, worker)) {
      case Step::done:
        completeFront();
        continue;
      case Step::worker:
        resume();
        return;
      case Step::waiting:
        return;
    }
  }
  if (!executor) context->progress();
  context->endDriving();
}

StreamQueue::Step StreamQueue::step(Operation& operation, Worker* worker) {
  return std::visit([&](auto& each) { return step(each, worker); }, operation);
}

template <class Shape>
StreamQueue::Step StreamQueue::stepTransfer(const Shape& shape, Worker* worker) {
  if (context_->dead() != CudaError::success) return Step::done;
  const std::uint64_t bytes = bytesOf(shape);
  if (worker == nullptr && bytes > kInlineBytes) return Step::worker;
  if (bytes < kPieceBytes) {
    transfer(shape);
    return Step::done;
  }
  auto work = std::make_shared<TransferWork<Shape>>(shape, shared_from_this());
  context_->pool.submit(work, work->helpers());
  return Step::waiting;
}

StreamQueue::Step StreamQueue::step(CopyOperation& operation, Worker* worker) {
  if (context_->links != nullptr && startPaced(operation)) return Step::waiting;
  return stepTransfer(operation.shape, worker);
}

StreamQueue::Step StreamQueue::step(FillOperation& operation, Worker* worker) {
  return stepTransfer(operation.shape, worker);
}

StreamQueue::Step StreamQueue::step(FingerprintOperation& operation, Worker* worker) {
  if (context_->dead() != CudaError::success) return Step::done;
  if (worker == nullptr) return Step::worker;
  auto work = std::make_shared<TransferWork<FingerprintOperation>>(operation, shared_from_this());
  context_->pool.submit(work, work->helpers());
  return Step::waiting;
}

StreamQueue::Step StreamQueue::step(InlineCopyOperation& operation, Worker*) {
  if (context_->links != nullptr && startPaced(operation)) return Step::waiting;
  if (context_->dead() == CudaError::success) {
    std::memcpy(reinterpret_cast<void*>(operation.destination), operation.bytes.data(), operation.bytes.size());
  }
  return Step::done;
}

StreamQueue::Step StreamQueue::step(LaunchOperation& operation, Worker* worker) {
  follows_ = 0;
  if (context_->dead() != CudaError::success) return Step::done;
  if (worker == nullptr) return Step::worker;
  return startLaunch(operation, shared_from_this()) ? Step::waiting : Step::done;
}

StreamQueue::Step StreamQueue::step(LibraryOperation& operation, Worker* worker) {
  follows_ = 0;
  if (context_->dead() != CudaError::success) return Step::done;
  if (worker == nullptr) return Step::worker;
  return startLibraryCall(operation, shared_from_this()) ? Step::waiting : Step::done;
}

StreamQueue::Step StreamQueue::step(SignalOperation& operation, Worker* worker) {
  signalSlot(*operation.slot, operation.value, operation.timestamp, context_->dead());
  if (!context_->slotWaits.empty()) {
    for (auto& stream : context_->slotWaits.takeReady()) stream->resume();
  }
  return Step::done;
}

StreamQueue::Step StreamQueue::step(SlotWaitOperation& operation, Worker* worker) {
  if (context_->dead() != CudaError::success || slotReached(*operation.slot, operation.value)) return Step::done;
  follows_ = 0;
  const std::shared_ptr<ContextState> context = context_;
  if (!context->slotWaits.waitFor(shared_from_this(), *operation.slot, operation.value)) return Step::done;
  // From here on another thread may drive this queue. The executor must poll for writers it cannot see.
  if (worker != nullptr || context->links != nullptr) context->progress();
  // A context that died in between has looked through the waits already.
  if (context->dead() != CudaError::success) {
    for (auto& stream : context->slotWaits.takeOf(*context)) stream->resume();
  }
  return Step::waiting;
}

StreamQueue::Step StreamQueue::step(RestoreOperation& operation, Worker* worker) {
  if (context_->dead() != CudaError::success || operation.addresses.empty()) return Step::done;
  if (context_->links != nullptr && startPaced(operation)) return Step::waiting;
  if (worker == nullptr) return Step::worker;
  auto work = std::make_shared<RestoreWork>(operation.addresses, shared_from_this());
  context_->pool.submit(work, work->helpers());
  return Step::waiting;
}

StreamQueue::Step StreamQueue::step(SettleOperation& operation, Worker* worker) {
  if (context_->dead() != CudaError::success) return Step::done;
  if (worker == nullptr) return Step::worker;
  if (!context_->visits.settle(operation.address, operation.offset)) context_->fault(CudaError::unknown, kNotMapped);
  return Step::done;
}

// Due when what it follows at once ended in the model; after anything else it begins when that has ended, which is now.
void StreamQueue::pace(std::int64_t queuedAt, PacedTransfer transfer) {
  PacedWork::start(shared_from_this(), follows_ != 0 ? std::max(follows_, queuedAt) : 0, std::move(transfer));
}

bool StreamQueue::startPaced(const CopyOperation& operation) {
  const memory::CopyShape& shape = operation.shape;
  const auto direction = directionOf(context_->deviceWindow, shape.destination, shape.source);
  const std::uint64_t bytes = bytesOf(shape);
  if (context_->dead() != CudaError::success || !direction || bytes == 0 ||
      context_->links->pass(*direction, bytes, true))
    return false;
  if (bytes <= LinkUse::kPassingBytes) {
    transfer(shape);
    pace(operation.queuedAt, {.direction = *direction, .bytes = bytes, .pieces = 0, .copy = nullptr, .there = nullptr});
    return true;
  }
  const auto copy = [shape, context = context_](std::uint64_t piece) {
    const AddressRange written = destinationOf(shape, piece);
    context->prefault->touch(written.base, written.bytes);
    transferPiece(shape, piece);
    return std::uint64_t{0};
  };
  pace(operation.queuedAt, {.direction = *direction, .bytes = bytes, .pieces = piecesOf(shape), .copy = copy, .there = nullptr});
  return true;
}

bool StreamQueue::startPaced(const InlineCopyOperation& operation) {
  const std::uint64_t bytes = operation.bytes.size();
  constexpr auto kDirection = device::LinkDirection::toDevice;
  if (context_->dead() != CudaError::success || bytes == 0 || !context_->deviceWindow.contains(operation.destination) ||
      context_->links->pass(kDirection, bytes, true))
    return false;
  std::memcpy(reinterpret_cast<void*>(operation.destination), operation.bytes.data(), bytes);
  pace(operation.queuedAt, {.direction = kDirection, .bytes = bytes, .pieces = 0, .copy = nullptr, .there = nullptr});
  return true;
}

// What has come with an access has been charged for already.
bool StreamQueue::startPaced(const RestoreOperation& operation) {
  auto addresses = operation.addresses;
  std::erase_if(addresses, [&](std::uint64_t address) { return !context_->visits.expects(address); });
  if (addresses.empty()) return false;
  const std::uint64_t granules = addresses.size();
  const auto all = std::make_shared<const std::vector<std::uint64_t>>(std::move(addresses));
  const auto copy = [all, context = context_](std::uint64_t piece) {
    const Visits::Brought brought = context->visits.bring((*all)[piece]);
    if (brought == Visits::Brought::failed) context->fault(CudaError::unknown, kNotMapped);
    return brought == Visits::Brought::before ? kGranuleBytes : std::uint64_t{0};
  };
  const auto there = [all, context = context_](std::uint64_t piece) { return !context->visits.expects((*all)[piece]); };
  pace(operation.queuedAt,
       {.direction = operation.way, .bytes = granules * kGranuleBytes, .pieces = granules, .copy = copy, .there = there});
  return true;
}

StreamQueue::Step StreamQueue::step(RecordOperation& operation, Worker*) {
  for (auto& stream : operation.marker->reach()) stream->resume();
  return Step::done;
}

StreamQueue::Step StreamQueue::step(EventWaitOperation& operation, Worker*) {
  if (context_->dead() != CudaError::success) return Step::done;
  follows_ = 0;
  return operation.marker->waitFor(shared_from_this()) ? Step::waiting : Step::done;
}

}  // namespace rouse::cpu
