// The executor's end of a command ring. Everything in the ring may change at any time and mean anything: cursors are
// private, each command is copied out once, and its header is read once.
//
//   switch (consumer.next()) {
//     case Take::command:  decodeAndDispatch(consumer.command(), session, handler) …
//     case Take::empty:    …
//     case Take::rejected: cut the client off, with consumer.rejection()
//   }
//
// To rest: prepareNap() or prepareSleep(); when that says true for every ring, wait for their eventfds (a nap at most
// kNapNs); afterwards take note of the eventfds first (read them, or consume their edges), then awake() and next(). In
// another order a wake-up can be lost. awake() may be put off until there is a command, which spares the cache line;
// but then, whenever events have been consumed since the last next(), mayHaveMore() has to be asked before resting
// again: the producer rings once for what it publishes and then waits to see it taken. A consumer that rests with
// commands that it does not want to take yet must come back by itself.
//
// One thread at a time. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/wire/layout.h"
#include "schemas/wire/rejection.h"

namespace rouse::wire {

// Where commands are copied to. One serves all rings of a thread.
struct alignas(64) CommandBuffer {
  std::byte bytes[kMaxCommandBytes];
};

enum class Take : std::uint8_t { empty, command, rejected };

class RingConsumer {
 public:
  // All three outlive this object. The ring is a fresh one: cursors begin at 0, whatever its header says.
  RingConsumer(RingHeader& header, const std::byte* data, CommandBuffer& buffer)
      : header_(header), data_(data), buffer_(buffer) {}

  // Instead of from the beginning, from where another consumer of this ring has stopped for good: its taken(), after release(), and its
  // commands(). `position`: a multiple of kCommandAlign. Before the first next().
  void continueFrom(std::uint64_t position, std::uint64_t commands) {
    position_ = tail_ = released_ = position;
    commands_ = commands;
  }

  // Copies the next command. After `rejected` the ring is dead: the same answer for ever.
  Take next();

  // After Take::command: exactly header.bytes of it, until the next call of next() of any consumer with this buffer.
  std::span<const std::byte> command() const { return {buffer_.bytes, commandBytes_}; }
  // After Take::rejected.
  const Rejection& rejection() const { return rejection_; }

  // Gives the room of what was taken back to the producer. Done by next() now and then and by prepare…().
  void release();

  // Each declares how the consumer is going to rest, then looks at the ring once more. False: there is something to do
  // (the consumer counts as polling again).
  bool prepareNap() { return prepare(ConsumerState::napping); }
  bool prepareSleep() { return prepare(ConsumerState::asleep); }
  void awake() { header_.consumerState.store(ConsumerState::polling, std::memory_order_relaxed); }

  // A look without taking. May be wrong about a command that is being published right now.
  bool mayHaveMore() const { return position_ != tail_ || header_.tail.load(std::memory_order_relaxed) != position_; }

  std::uint64_t taken() const { return position_; }  // bytes since the beginning
  std::uint64_t commands() const { return commands_; }

 private:
  // Room is given back after this many bytes: often enough for the producer, seldom enough for its cache line.
  static constexpr std::uint64_t kReleaseBytes = kRingBytes / 8;

  bool prepare(ConsumerState state);
  bool lookAtTail();
  Take reject(std::string message);

  RingHeader& header_;
  const std::byte* const data_;
  CommandBuffer& buffer_;
  std::uint64_t position_ = 0;  // of the next command
  std::uint64_t tail_ = 0;      // as last read and checked
  std::uint64_t released_ = 0;  // `head` as published
  std::uint64_t commands_ = 0;
  std::uint32_t commandBytes_ = 0;
  bool rejected_ = false;
  Rejection rejection_;
};

}  // namespace rouse::wire
