#include "client-shim/core/stream.h"

#include "client-shim/core/callback_thread.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/event.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream_ordered_pool.h"

namespace rouse::client {

CudaError Stream::synchronize() {
  Device& device = this->device();
  Mark mark;
  {
    CommandQueue::Batch batch(device.queue());
    mark = batch.mark(*this);
    batch.flush();
  }
  Session& session = device.session();
  if (!session.reached(mark)) {
    if (const CudaError error = session.wait(device.index(), mark); error != CudaError::success) return error;
  }
  StreamOrderedPool::trimAll(device);
  device.drainOutput();
  return device.asyncError();
}

CudaError Stream::query() {
  Device& device = this->device();
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  Mark mark;
  {
    CommandQueue::Batch batch(device.queue());
    mark = batch.mark(*this);
    batch.flush();
  }
  if (!device.session().reached(mark)) {
    return device.session().probe(device.index()) ? CudaError::notReady : device.peekError();
  }
  return device.asyncError();
}

CudaError Stream::waitEvent(Event& event) {
  Device& device = this->device();
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  const Mark mark = event.latest();
  if (mark.value == 0 || device.session().reached(mark)) return CudaError::success;
  device.queue().put(*this, wire::SlotWait{.value = mark.value, .slot = mark.slot});
  return CudaError::success;
}

CudaError Stream::launchHostFunction(HostFunction function, void* data, bool evenAfterError) {
  if (function == nullptr) return CudaError::invalidValue;
  Device& device = this->device();
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  Session& session = device.session();
  CallbackThread& callbacks = session.callbacks();
  if (!callbacks.start()) return CudaError::memoryAllocation;
  {
    CommandQueue::Batch batch(device.queue());
    if (account.reachedSlot == 0) {
      const auto reached = session.slots().take();
      const auto returned = session.slots().take();
      if (!reached || !returned) return CudaError::memoryAllocation;
      account.reachedSlot = reached->index;
      account.reachedValue = reached->value;
      account.returnedSlot = returned->index;
      account.returnedValue = returned->value;
    }
    ++account.reachedValue;
    ++account.returnedValue;
    batch.put(*this, wire::SlotSignal{.value = account.reachedValue, .slot = account.reachedSlot});
    batch.put(*this, wire::SlotWait{.value = account.returnedValue, .slot = account.returnedSlot});
    callbacks.submit({.deviceIndex = device.index(),
                      .streamId = id(),
                      .reached = {account.reachedSlot, account.reachedValue},
                      .returned = {account.returnedSlot, account.returnedValue},
                      .function = function,
                      .data = data,
                      .evenAfterError = evenAfterError});
    batch.flush();
  }
  callbacks.notify();
  return CudaError::success;
}

}  // namespace rouse::client
