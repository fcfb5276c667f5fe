// The text that kernels print, on its way from the executor to the program (records: layout.h). Neither end believes
// the other's cursor: the executor never writes beyond the ring, the client never reads beyond it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schemas/wire/layout.h"

namespace rouse::wire {

// The executor's end. One thread at a time; never blocks.
class OutputProducer {
 public:
  // `output`: kOutputBytes. Both outlive this object; the ring is a fresh one.
  OutputProducer(RingHeader& header, std::byte* output) : header_(header), output_(output) {}

  // Instead of from the beginning: another producer of this ring has stopped for good, after `written` bytes, a multiple of 4, and `dropped` records.
  void continueFrom(std::uint64_t written, std::uint64_t dropped) {
    tail_ = written;
    dropped_ = dropped;
  }
  std::uint64_t written() const { return tail_; }
  std::uint64_t dropped() const { return dropped_; }

  // Adds one record, or drops and counts it when there is no room.
  bool write(std::string_view text, bool toStderr);

 private:
  void put(std::uint64_t at, const void* bytes, std::size_t count);

  RingHeader& header_;
  std::byte* const output_;
  std::uint64_t tail_ = 0;
  std::uint64_t dropped_ = 0;
};

// The client's end. One thread at a time; never blocks.
class OutputConsumer {
 public:
  OutputConsumer(RingHeader& header, const std::byte* output) : header_(header), output_(output) {}

  // Hands everything that is there to sink(std::string_view piece, bool toStderr), in order; a record may come in two
  // pieces. The pieces lie in shared memory: they are text to be printed, not to be believed. False: the ring's
  // contents made no sense and were skipped.
  template <class Sink>
  bool drain(Sink&& sink) {
    const std::uint64_t tail = header_.outputTail.load(std::memory_order_acquire);
    if (tail - head_ > kOutputBytes || tail % 4 != 0) return skipTo(tail & ~std::uint64_t{3});
    while (head_ != tail) {
      std::uint32_t word = 0;
      word = __atomic_load_n(reinterpret_cast<const std::uint32_t*>(output_ + position(head_)), __ATOMIC_RELAXED);
      const std::uint32_t length = word & ~kOutputToStderr;
      const std::uint64_t step = sizeof(word) + ((std::uint64_t{length} + 3) & ~std::uint64_t{3});
      if (step > tail - head_) return skipTo(tail);
      const std::size_t begin = position(head_ + sizeof(word));
      const std::size_t beforeWrap = kOutputBytes - begin < length ? kOutputBytes - begin : length;
      const char* text = reinterpret_cast<const char*>(output_);
      const bool toStderr = (word & kOutputToStderr) != 0;
      if (beforeWrap != 0) sink(std::string_view{text + begin, beforeWrap}, toStderr);
      if (beforeWrap != length) sink(std::string_view{text, length - beforeWrap}, toStderr);
      head_ += step;
      header_.outputHead.store(head_, std::memory_order_release);
    }
    return true;
  }

  // Records dropped since the last call.
  std::uint64_t takeDropped() {
    const std::uint64_t dropped = header_.outputDropped.load(std::memory_order_relaxed);
    const std::uint64_t fresh = dropped - droppedSeen_;
    droppedSeen_ = dropped;
    return fresh;
  }

 private:
  static std::size_t position(std::uint64_t cursor) { return cursor & (kOutputBytes - 1); }
  bool skipTo(std::uint64_t cursor) {
    head_ = cursor;
    header_.outputHead.store(head_, std::memory_order_release);
    return false;
  }

  RingHeader& header_;
  const std::byte* const output_;
  std::uint64_t head_ = 0;
  std::uint64_t droppedSeen_ = 0;
};

}  // namespace rouse::wire
