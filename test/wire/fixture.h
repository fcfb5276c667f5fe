// A ring segment mapped twice, as two processes would, and an eventfd for wake-ups.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <utility>

#include "schemas/wire/ring_consumer.h"
#include "schemas/wire/ring_producer.h"
#include "schemas/wire/segment.h"

namespace rouse::wire {

template <class T>
T mustHave(Result<T> result) {
  INFO((result.ok() ? "ok" : result.error().message));
  REQUIRE(result.ok());
  return std::move(result).value();
}

struct TwoEnds {
  OwnedFd fd = mustHave(RingSegment::create(0));
  RingSegment client = mustHave(RingSegment::map(fd.get(), ForkedChild::inherits));
  RingSegment server = mustHave(RingSegment::map(fd.get(), ForkedChild::inherits));
  std::unique_ptr<CommandBuffer> buffer = std::make_unique<CommandBuffer>();
  OwnedFd bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  RingProducer producer() { return {client.header(), client.data()}; }
  RingConsumer consumer() { return {server.header(), server.data(), *buffer}; }

  void ring() const { ::eventfd_write(bell.get(), 1); }
  // True when the bell rang within the time; negative: waits for ever.
  bool awaitBell(int milliseconds) const {
    pollfd wanted{bell.get(), POLLIN, 0};
    if (::poll(&wanted, 1, milliseconds) <= 0) return false;
    eventfd_t count;
    ::eventfd_read(bell.get(), &count);
    return true;
  }
};

// Numbers that look random and are the same in every run.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  std::uint64_t operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ ^ (state_ >> 33)) >> 11;
  }

 private:
  std::uint64_t state_;
};

}  // namespace rouse::wire
