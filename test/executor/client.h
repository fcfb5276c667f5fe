// The other side of a session, as a test plays it: segments as the daemon makes them, and a ring to write to, well or
// badly.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "schemas/wire/encode.h"
#include "schemas/wire/output_ring.h"
#include "schemas/wire/ring_producer.h"
#include "schemas/wire/segment.h"
#include "server/control/message.h"

namespace rouse::executor {

class Client {
 public:
  static constexpr std::uint64_t kHostBytes = wire::kStagingBytes + (std::uint64_t{32} << 20);
  static constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 20;

  // `base`: where the windows of all clients of a test begin.
  explicit Client(std::uint64_t id, std::uint64_t memoryLimit = std::uint64_t{64} << 20,
                  std::uint64_t base = 0x2000'0000'0000)
      : request{.sessionId = id,
                .deviceIndex = 0,
                .deviceWindow = {base + id * (std::uint64_t{2} << 30), kWindowBytes},
                .hostWindow = {base + id * (std::uint64_t{2} << 30) + (std::uint64_t{1} << 30), kHostBytes},
                .memoryLimit = memoryLimit,
                .name = "test-" + std::to_string(id)},
        sessionFd(wire::SessionSegment::create(id, 1).value()),
        hostFd(wire::createSealedMemfd("host", kHostBytes).value()),
        ringFd(wire::RingSegment::create(0).value()),
        wakeFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        segment(wire::SessionSegment::map(sessionFd.get(), wire::ForkedChild::without).value()),
        ring(wire::RingSegment::map(ringFd.get(), wire::ForkedChild::without).value()),
        producer(ring.header(), ring.data()),
        output(ring.header(), ring.output()) {}

  // What goes with the request: the test keeps its own.
  std::vector<wire::OwnedFd> fds() const {
    std::vector<wire::OwnedFd> result;
    for (const int fd : {sessionFd.get(), hostFd.get(), ringFd.get(), wakeFd.get()})
      result.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    return result;
  }

  auto wake() {
    return [fd = wakeFd.get()] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(fd, &one, sizeof one);
    };
  }

  template <class Command, class... Payload>
  void send(const Command& command, const Payload&... payload) {
    std::byte* at = producer.reserve(wire::encodedBytes(command, payload...), wake(), [] { return true; });
    REQUIRE(at != nullptr);
    producer.publish(wire::encode(at, command, payload...), wake());
  }
  // Bytes as they are, padded.
  void sendRaw(const void* bytes, std::size_t count) {
    std::byte* at = producer.tryReserve(count);
    REQUIRE(at != nullptr);
    std::memcpy(at, bytes, count);
    producer.publish(count, wake());
  }
  void flush() { producer.flush(wake()); }

  std::uint64_t value(std::uint32_t slot) const { return segment.slot(slot).value.load(std::memory_order_acquire); }
  CudaError result(std::uint32_t slot) const {
    return static_cast<CudaError>(segment.slot(slot).result.load(std::memory_order_relaxed));
  }
  std::uint64_t payload(std::uint32_t slot) const {
    return segment.slot(slot).payload.load(std::memory_order_relaxed);
  }
  CudaError latched() const {
    return static_cast<CudaError>(segment.header().devices[0].error.load(std::memory_order_acquire));
  }
  std::string message() const { return segment.header().devices[0].message; }
  std::uint64_t window() const { return request.deviceWindow.base; }
  std::uint64_t pinned() const { return request.hostWindow.base + wire::kStagingBytes; }
  std::uint64_t staging() const { return request.hostWindow.base; }

  channel::OpenSession request;
  wire::OwnedFd sessionFd, hostFd, ringFd, wakeFd;
  wire::SessionSegment segment;
  wire::RingSegment ring;
  wire::RingProducer producer;
  wire::OutputConsumer output;
};

}  // namespace rouse::executor
