#include "client-shim/core/event.h"

#include <algorithm>
#include <cmath>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/interprocess.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "schemas/wire/shared_event.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::client {

CudaError createEvent(Device& device, const EventOptions& options, Event** event) {
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  auto& events = device.session().handles().events;
  const auto made = events.make();
  if (made.object == nullptr) return CudaError::memoryAllocation;
  Event& fresh = *made.object;
  {
    const std::lock_guard lock(fresh.mutex_);
    fresh.device_ = &device;
    fresh.handle_ = made.handle;
    fresh.options_ = options;
    fresh.mark_ = {};
    fresh.recorded_ = false;
    fresh.streamId_ = 0;
    fresh.sharedSlot_ = 0;
  }
  events.publish(made.handle);
  *event = &fresh;
  return CudaError::success;
}

CudaError destroyEvent(Event& event) {
  Session& session = event.device().session();
  auto& events = session.handles().events;
  const std::uint64_t handle = event.handle();
  if (!events.withdraw(handle)) return CudaError::invalidResourceHandle;
  if (event.shared()) session.interprocess().eventDestroyed(event);
  {
    const std::lock_guard lock(event.mutex_);
    if (event.mark_.slot != 0) session.slots().give({event.mark_.slot, event.mark_.value});
    event.mark_ = {};
    event.recorded_ = false;
  }
  events.recycle(handle);
  return CudaError::success;
}

void Event::abandon() {
  Session& session = device().session();
  {
    const std::lock_guard lock(mutex_);
    if (mark_.slot != 0 && !session.reached(mark_)) wire::signal(session.slot(mark_.slot), mark_.value);
    sharedSlot_ = 0;  // the reset has ended that
  }
  (void)destroyEvent(*this);
}

CudaError Event::record(Stream& stream) {
  if (&stream.device() != device_) return CudaError::invalidResourceHandle;
  if (const CudaError error = device_->asyncError(); error != CudaError::success) return error;
  Session& session = device_->session();
  const std::lock_guard lock(mutex_);
  if (shared()) {
    Mark mark;
    if (const CudaError error = claim(sharedSlot(), &mark); error != CudaError::success) return error;
    device_->queue().put(stream, wire::SlotSignal{.value = mark.value, .slot = mark.slot, .flags = 0});
    return CudaError::success;
  }
  // Two records in one slot must be stored in their order: another stream may overtake a record that is not complete,
  // so it gets a slot of its own.
  if (mark_.slot == 0 || (streamId_ != stream.id() && !session.reached(mark_))) {
    const auto lease = session.slots().take();
    if (!lease) return CudaError::memoryAllocation;
    if (mark_.slot != 0) session.slots().give({mark_.slot, mark_.value});
    mark_ = {lease->index, lease->value};
  }
  ++mark_.value;
  recorded_ = true;
  streamId_ = stream.id();
  device_->queue().put(
      stream, wire::SlotSignal{.value = mark_.value, .slot = mark_.slot, .flags = options_.disableTiming ? 0u : 1u});
  return CudaError::success;
}

// Waits where all records that a page has room for are under way, anybody's.
CudaError Event::claim(std::uint32_t firstSlot, Mark* mark) {
  Session& session = device_->session();
  wire::SharedEvent event(&session.slot(firstSlot));
  std::uint64_t record = 0;
  while ((record = event.claim(session.number())) == 0) {
    const std::uint64_t blocking = event.blocking();
    if (blocking == 0) continue;
    {
      CommandQueue::Batch batch(device_->queue());  // it may be this process's own
      batch.flush();
    }
    const Mark before{firstSlot + wire::SharedEvent::slotOf(blocking), blocking};
    if (const CudaError error = session.wait(device_->index(), before); error != CudaError::success) return error;
  }
  *mark = {firstSlot + wire::SharedEvent::slotOf(record), record};
  return CudaError::success;
}

CudaError Event::share(std::uint32_t firstSlot, const wire::IpcHandle& handle, bool imported) {
  Session& session = device_->session();
  Stream* internal = nullptr;
  if (const CudaError error = device_->internalStream(&internal); error != CudaError::success) return error;
  const std::lock_guard lock(mutex_);
  const Mark before = recorded_ ? mark_ : Mark{};
  if (before.value != 0 && !session.reached(before)) {
    Mark mark;
    if (const CudaError error = claim(firstSlot, &mark); error != CudaError::success) return error;
    device_->queue().put(*internal, wire::SlotWait{.value = before.value, .slot = before.slot});
    device_->queue().put(*internal, wire::SlotSignal{.value = mark.value, .slot = mark.slot, .flags = 0});
  }
  handleForOthers_ = handle;
  imported_ = imported;
  sharedSlot_.store(firstSlot, std::memory_order_release);
  if (mark_.slot != 0) session.slots().give({mark_.slot, mark_.value});
  mark_ = {};
  recorded_ = false;
  return CudaError::success;
}

Mark Event::latest() {
  const std::lock_guard lock(mutex_);
  if (shared()) {
    const std::uint32_t first = sharedSlot();
    const std::uint64_t record = wire::SharedEvent(&device_->session().slot(first)).latest();
    return record == 0 ? Mark{} : Mark{first + wire::SharedEvent::slotOf(record), record};
  }
  return recorded_ ? mark_ : Mark{};
}

CudaError Event::synchronize() {
  const Mark mark = latest();
  Session& session = device_->session();
  if (mark.value != 0 && !session.reached(mark)) {
    {
      CommandQueue::Batch batch(device_->queue());
      batch.flush();
    }
    const auto waiting = options_.blockingSync ? Session::Waiting::sleeps : Session::Waiting::spins;
    if (const CudaError error = session.wait(device_->index(), mark, waiting); error != CudaError::success)
      return error;
  }
  device_->drainOutput();
  return device_->asyncError();
}

CudaError Event::query() {
  if (const CudaError error = device_->asyncError(); error != CudaError::success) return error;
  const Mark mark = latest();
  Session& session = device_->session();
  if (mark.value == 0 || session.reached(mark)) return device_->asyncError();
  return session.probe(device_->index()) ? CudaError::notReady : device_->peekError();
}

CudaError Event::elapsed(Event& start, Event& end, float* milliseconds) {
  if (start.options_.disableTiming || end.options_.disableTiming) return CudaError::invalidResourceHandle;
  const Mark marks[] = {start.latest(), end.latest()};
  if (marks[0].value == 0 || marks[1].value == 0) return CudaError::invalidResourceHandle;
  Session& session = start.device().session();
  if (!session.reached(marks[0]) || !session.reached(marks[1])) return CudaError::notReady;
  const auto time = [&](Mark mark) { return session.slot(mark.slot).timestampNs.load(std::memory_order_relaxed); };
  const auto nanoseconds = static_cast<std::int64_t>(time(marks[1]) - time(marks[0]));
  *milliseconds = static_cast<float>(static_cast<double>(nanoseconds) * 1e-6);
  return end.device().asyncError();
}

}  // namespace rouse::client
