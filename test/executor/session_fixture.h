// One session on a fake device, driven step by step.
#pragma once

#include "server/executor/session.h"
#include "test/executor/client.h"
#include "test/executor/fake_device.h"

namespace rouse::executor {

struct CountingListener final : ProgressListener {
  std::atomic<int> count{0};
  void onProgress() override { ++count; }
};

struct SessionFixture {
  static constexpr std::uint64_t kG = kGranuleBytes;

  explicit SessionFixture(std::uint32_t chunks = 64, std::uint32_t check = 0)
      : device(chunks), memory(PhysicalMemory::create(device).value()), surroundings{device, memory, listener, buffer} {
    client.request.check = check;
    auto opened = Session::open(client.request, client.fds(), surroundings);
    REQUIRE(opened.ok());
    session = std::move(*opened);
  }
  ~SessionFixture() {
    session.reset();
    CHECK(device.violations == std::vector<std::string>{});
    CHECK(memory.freeBytes() == memory.totalBytes());
    CHECK(device.mappedChunks() == 0);
  }

  // Until nothing more happens.
  void settle() {
    bool waiting = false;
    while (session->poll() || device.poll(waiting)) {
    }
  }
  template <class Command, class... Payload>
  void send(const Command& command, const Payload&... payload) {
    client.send(command, payload...);
    settle();
  }
  // Reserves and maps at the beginning of the window.
  void give(std::uint64_t granules) {
    send(wire::MemReserve{.bytes = granules * kG, .value = ++reserveValue, .slot = 9});
    REQUIRE(client.value(9) == reserveValue);
    REQUIRE(client.result(9) == CudaError::success);
    send(wire::MemMap{.base = client.window(), .bytes = granules * kG});
    REQUIRE(fault() == "");
  }
  // A module with one kernel of 12 parameter bytes and, if asked, one variable of 64 bytes.
  void install(std::uint64_t moduleId, bool variable = false) {
    session->install(moduleId, FakeImage::ofOneKernel(variable));
  }
  std::string fault() const { return session->fault() ? session->fault()->message : ""; }

  FakeDevice device;
  PhysicalMemory memory;
  CountingListener listener;
  wire::CommandBuffer buffer;
  Surroundings surroundings;
  Client client{1};
  std::unique_ptr<Session> session;
  std::uint64_t reserveValue = 0;
};

}  // namespace rouse::executor
