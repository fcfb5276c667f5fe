// The client's end of a command ring.
//
//   std::byte* at = producer.reserve(encodedBytes(command, payload), wake, alive);
//   if (at == nullptr) …the executor is gone…
//   producer.publish(encode(at, command, payload), wake);
//
// `wake()` rings the executor's eventfd; it is called only when the executor cannot be relied on to look by itself.
// One thread at a time (the device's lock); reserve() may block, nothing else does.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "schemas/base/range.h"
#include "schemas/wire/futex.h"
#include "schemas/wire/layout.h"

namespace rouse::wire {

class RingProducer {
 public:
  // `header` and `data` (kRingBytes, mapped twice in a row) outlive this object. A fresh ring, or one that this process
  // has written before with nothing half written.
  RingProducer(RingHeader& header, std::byte* data)
      : header_(header),
        data_(data),
        tail_(header.tail.load(std::memory_order_relaxed)),
        head_(header.head.load(std::memory_order_acquire)),
        wokenFor_(head_) {}

  // Room for one command of `bytes` (at most kMaxCommandBytes), contiguous and aligned to kCommandAlign; nullptr when
  // the ring is full at present.
  std::byte* tryReserve(std::size_t bytes) {
    if (free() < padded(bytes)) [[unlikely]] {
      head_ = header_.head.load(std::memory_order_acquire);
      if (free() < padded(bytes)) return nullptr;
    }
    return data_ + (tail_ & (kRingBytes - 1));
  }

  // The same, waiting for room. `alive()` is asked about every kLivenessInterval; when it says no, the result is
  // nullptr.
  template <class Wake, class Alive>
  std::byte* reserve(std::size_t bytes, Wake&& wake, Alive&& alive) {
    std::byte* at = tryReserve(bytes);
    while (at == nullptr) [[unlikely]] {
      flush(wake);
      const std::uint64_t seen = head_;
      header_.producerWaiting.store(1, std::memory_order_relaxed);
      // Pairs with the fence in RingConsumer::release(): either it sees that we wait or we see its new head.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (header_.head.load(std::memory_order_relaxed) == seen) {
        futexWait(lowWord(header_.head), static_cast<std::uint32_t>(seen), kLivenessInterval);
      }
      header_.producerWaiting.store(0, std::memory_order_relaxed);
      at = tryReserve(bytes);
      if (at == nullptr && !alive()) return nullptr;
    }
    return at;
  }

  // Makes the command in the reserved room visible. `bytes`: what encode() returned.
  template <class Wake>
  void publish(std::size_t bytes, Wake&& wake) {
    const std::size_t step = padded(bytes);
    tail_ += step;
    batchBytes_ += step;
    ++batchCommands_;
    header_.tail.store(tail_, std::memory_order_release);
    // Pairs with the fence in RingConsumer::prepare…(): either we see that it rests or it sees our tail.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const ConsumerState state = header_.consumerState.load(std::memory_order_relaxed);
    if (state == ConsumerState::polling) {
      beginBatch();
    } else if (shouldWake(state)) {
      ring(wake);
    }
  }

  // Before waiting for an answer: a napping consumer is woken for whatever it has not taken, however little.
  template <class Wake>
  void flush(Wake&& wake) {
    header_.producerCore.store(static_cast<std::uint32_t>(::sched_getcpu() + 1), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (header_.consumerState.load(std::memory_order_relaxed) == ConsumerState::polling) return;
    if (header_.head.load(std::memory_order_relaxed) != tail_ && wokenFor_ != tail_) ring(wake);
  }

  // Bytes published since the beginning.
  std::uint64_t tail() const { return tail_; }

 private:
  static constexpr std::size_t padded(std::size_t bytes) { return roundUp(bytes, kCommandAlign); }
  // A head that a broken peer has moved past the tail reads as a full ring.
  std::size_t free() const {
    const std::uint64_t used = tail_ - head_;
    return used <= kRingBytes ? kRingBytes - used : 0;
  }

  void beginBatch() {
    batchBytes_ = 0;
    batchCommands_ = 0;
  }

  bool shouldWake(ConsumerState state) const {
    if (state == ConsumerState::napping) return batchBytes_ >= kBatchBytes || batchCommands_ >= kBatchCommands;
    // Asleep: one wake brings it back for everything published before it rests again, and before it rests it makes
    // `head` equal to all it has taken. So while it has not come to what it was last woken for, that wake is still on
    // its way.
    return header_.head.load(std::memory_order_relaxed) >= wokenFor_;
  }

  template <class Wake>
  [[gnu::noinline, gnu::cold]] void ring(Wake& wake) {
    beginBatch();
    wokenFor_ = tail_;
    wake();
  }

  RingHeader& header_;
  std::byte* const data_;
  std::uint64_t tail_;
  std::uint64_t head_;      // as last read
  std::uint64_t wokenFor_;  // tail at the last wake
  std::size_t batchBytes_ = 0;
  std::uint32_t batchCommands_ = 0;
};

}  // namespace rouse::wire
