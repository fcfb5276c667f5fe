#include "client-shim/core/command_queue.h"

#include <unistd.h>

#include "client-shim/core/session.h"

namespace rouse::client {

std::byte* CommandQueue::waitForRoom(std::size_t bytes) {
  return producer_.reserve(bytes, [this] { ringBell(); }, [this] { return session_.alive(deviceIndex_); });
}

void CommandQueue::ringBell() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

Mark CommandQueue::Batch::mark(Stream& stream) {
  StreamAccount& account = stream.account;
  const bool covered =
      account.submitted == account.marked && (!stream.legacy() || queue_.blockingSubmitted_ == account.markedBlocking);
  return covered ? Mark{account.markSlot, account.markValue} : sendMark(stream);
}

Mark CommandQueue::Batch::markOwn(Stream& stream) {
  const StreamAccount& account = stream.account;
  return account.submitted == account.marked ? Mark{account.markSlot, account.markValue} : sendMark(stream);
}

Mark CommandQueue::Batch::sendMark(Stream& stream) {
  StreamAccount& account = stream.account;
  ++account.markValue;
  put(wire::SlotSignal{.stream = stream.wireHandle(), .value = account.markValue, .slot = account.markSlot});
  account.marked = account.submitted;
  account.markedBlocking = queue_.blockingSubmitted_;
  return {account.markSlot, account.markValue};
}

}  // namespace rouse::client
