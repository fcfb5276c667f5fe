// The way to one executor: the ring, its lock, and what has to happen together with a command being written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>

#include "client-shim/core/mark.h"
#include "client-shim/core/ring_lock.h"
#include "client-shim/core/stream.h"
#include "schemas/wire/encode.h"
#include "schemas/wire/owned_fd.h"
#include "schemas/wire/ring_producer.h"
#include "schemas/wire/segment.h"

namespace rouse::client {

class Session;

class CommandQueue {
 public:
  CommandQueue(Session& session, std::uint32_t deviceIndex, wire::RingSegment ring, wire::OwnedFd wake)
      : session_(session),
        deviceIndex_(deviceIndex),
        ring_(std::move(ring)),
        wake_(std::move(wake)),
        producer_(ring_.header(), ring_.data()) {}

  // Holds the ring: what is put through one Batch is contiguous in it, and stream accounts move with it. put() blocks
  // while the ring is full. Once the executor is gone, commands vanish and put() says false.
  class Batch {
   public:
    explicit Batch(CommandQueue& queue) : queue_(queue) { queue_.lock_.lock(); }
    ~Batch() { queue_.lock_.unlock(); }
    Batch(const Batch&) = delete;

    // A command of no stream.
    template <class Command, class... Payload>
    bool put(const Command& command, const Payload&... payload) {
      std::byte* at = room(wire::encodedBytes(command, payload...));
      if (at == nullptr) [[unlikely]]
        return false;
      publish(wire::encode(at, command, payload...));
      return true;
    }
    // Work on a stream: its `stream` field is filled in and the stream's account kept.
    template <class Command, class... Payload>
    bool put(Stream& stream, Command command, const Payload&... payload) {
      command.stream = stream.wireHandle();
      count(stream);
      return put(command, payload...);
    }

    // Room for a command that the caller encodes itself; publish() makes it visible.
    std::byte* room(std::size_t bytes) {
      std::byte* at = queue_.producer_.tryReserve(bytes);
      return at != nullptr ? at : queue_.waitForRoom(bytes);
    }
    void publish(std::size_t bytes) {
      queue_.producer_.publish(bytes, [this] { queue_.ringBell(); });
    }
    void count(Stream& stream) {
      ++stream.account.submitted;
      if (!stream.nonBlocking()) ++queue_.blockingSubmitted_;
    }

    // A mark that covers all work of the stream so far; at most one command, none where an earlier mark covers it. The
    // legacy stream's mark covers all blocking streams.
    Mark mark(Stream& stream);
    // The same, of the stream's own work only.
    Mark markOwn(Stream& stream);

    // Before waiting: wakes an executor that naps.
    void flush() {
      queue_.producer_.flush([this] { queue_.ringBell(); });
    }

   private:
    friend class CommandQueue;
    Mark sendMark(Stream& stream);
    CommandQueue& queue_;
  };

  template <class Command, class... Payload>
  bool put(const Command& command, const Payload&... payload) {
    Batch batch(*this);
    return batch.put(command, payload...);
  }
  template <class Command, class... Payload>
  bool put(Stream& stream, const Command& command, const Payload&... payload) {
    Batch batch(*this);
    return batch.put(stream, command, payload...);
  }

  wire::RingHeader& header() { return ring_.header(); }
  const std::byte* output() { return ring_.output(); }
  void abandonInChild() { wake_.reset(); }

 private:
  [[gnu::noinline, gnu::cold]] std::byte* waitForRoom(std::size_t bytes);
  void ringBell();

  Session& session_;
  const std::uint32_t deviceIndex_;
  wire::RingSegment ring_;
  wire::OwnedFd wake_;
  RingLock lock_;
  // Guarded by the lock.
  wire::RingProducer producer_;
  std::uint64_t blockingSubmitted_ = 0;  // commands on streams that are not non-blocking
};

}  // namespace rouse::client
