#include "schemas/wire/ring_consumer.h"

#include <cstring>
#include <string>
#include <utility>

#include "schemas/base/range.h"
#include "schemas/wire/futex.h"
#include "schemas/wire/race_detector.h"

namespace rouse::wire {

Take RingConsumer::next() {
  if (position_ == tail_ && !lookAtTail()) return rejected_ ? Take::rejected : Take::empty;
  if (position_ - released_ >= kReleaseBytes) release();

  const std::byte* at = data_ + (position_ & (kRingBytes - 1));
  // One load: what is checked here is what goes into the private copy, whatever the producer writes meanwhile.
  const std::uint64_t first = __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_RELAXED);
  CommandHeader header;
  static_assert(sizeof(header) == sizeof(first));
  std::memcpy(&header, &first, sizeof(header));

  const std::uint64_t available = tail_ - position_;
  if (header.bytes < sizeof(CommandHeader)) [[unlikely]] {
    return reject("command of " + std::to_string(header.bytes) + " bytes at " + std::to_string(position_) +
                  ": shorter than its header, " + std::to_string(sizeof(CommandHeader)));
  }
  if (header.bytes > kMaxCommandBytes) [[unlikely]] {
    return reject("command of " + std::to_string(header.bytes) + " bytes at " + std::to_string(position_) +
                  ": above the limit " + std::to_string(kMaxCommandBytes));
  }
  const std::uint64_t step = roundUp(header.bytes, kCommandAlign);
  if (step > available) [[unlikely]] {
    return reject("command of " + std::to_string(header.bytes) + " bytes at " + std::to_string(position_) + ": only " +
                  std::to_string(available) + " are published");
  }
  std::memcpy(buffer_.bytes, &header, sizeof(header));
  std::memcpy(buffer_.bytes + sizeof(header), at + sizeof(header), header.bytes - sizeof(header));
  commandBytes_ = header.bytes;
  position_ += step;
  ++commands_;
  return Take::command;
}

// True when there is a command at position_.
bool RingConsumer::lookAtTail() {
  if (rejected_) return false;
  const std::uint64_t tail = header_.tail.load(std::memory_order_acquire);
  if (tail == position_) return false;
  sawPeer();
  if (tail - position_ > kRingBytes) [[unlikely]] {
    const bool backwards = tail < position_;
    reject("ring tail " + std::to_string(tail) + (backwards ? ": behind " : ": too far ahead of ") +
           std::to_string(position_) + ", what was taken; a ring holds " + std::to_string(kRingBytes) + " bytes");
    return false;
  }
  if (!isAligned(tail, kCommandAlign)) [[unlikely]] {
    reject("ring tail " + std::to_string(tail) + ": not a multiple of " + std::to_string(kCommandAlign));
    return false;
  }
  tail_ = tail;
  return true;
}

void RingConsumer::release() {
  if (released_ == position_) return;
  released_ = position_;
  header_.head.store(position_, std::memory_order_release);
  // Pairs with the fence in RingProducer::reserve(): either we see that it waits or it sees the new head.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (header_.producerWaiting.load(std::memory_order_relaxed) != 0) futexWakeAll(lowWord(header_.head));
}

bool RingConsumer::prepare(ConsumerState state) {
  if (rejected_) return true;
  release();
  header_.consumerState.store(state, std::memory_order_relaxed);
  // Pairs with the fence in RingProducer::publish(): either we see the new tail or it sees that we rest.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (position_ == tail_ && header_.tail.load(std::memory_order_relaxed) == position_) return true;
  awake();
  return false;
}

Take RingConsumer::reject(std::string message) {
  rejected_ = true;
  position_ = tail_;
  rejection_.message = std::move(message);
  return Take::rejected;
}

}  // namespace rouse::wire
