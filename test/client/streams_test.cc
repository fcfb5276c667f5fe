#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "client-shim/core/callback_thread.h"
#include "client-shim/core/copy.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/error_codes.h"
#include "client-shim/core/event.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Completion;
using client::CopyKind;

// Until everything sent so far has been taken.
CudaError roundTrip(client::Device& device) {
  client::Event* event = nullptr;
  if (const CudaError error = createEvent(device, {}, &event); error != CudaError::success) return error;
  (void)event->record(device.legacyStream());
  const CudaError error = event->synchronize();
  (void)destroyEvent(*event);
  return error;
}

// What host functions wrote is visible after a synchronisation, by way of the executor. A race detector that watches
// one process sees the way only if the callback thread's own counter is looked at as well.
void seeHostFunctions(client::Session& session, std::uint32_t device = 0) {
  REQUIRE(session.callbacks().pending(device) == 0);
}

TEST_CASE("streams have handles of their own and end once") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Stream* stream = nullptr;
  REQUIRE(device.createStream({.nonBlocking = true, .priority = -99}, &stream) == CudaError::success);
  const std::uint64_t handle = stream->handle();
  CHECK(handle > 2);
  CHECK(stream->nonBlocking());
  CHECK(stream->priority() == client::kGreatestPriority);
  CHECK(session->handles().streams.find(handle) == stream);
  CHECK(device.destroyStream(*stream) == CudaError::success);
  CHECK(session->handles().streams.find(handle) == nullptr);
  CHECK(device.destroyStream(*stream) == CudaError::invalidResourceHandle);
  CHECK(device.destroyStream(device.legacyStream()) == CudaError::invalidResourceHandle);
}

TEST_CASE("a thousand streams come and go under the wire's numbering") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  std::vector<client::Stream*> live;
  for (int i = 0; i < 1000; ++i) {
    if (live.size() > 5 && i % 3 == 0) {
      REQUIRE(device.destroyStream(*live[static_cast<std::size_t>(i) % live.size()]) == CudaError::success);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) % live.size()));
    }
    client::Stream* stream = nullptr;
    REQUIRE(device.createStream({}, &stream) == CudaError::success);
    live.push_back(stream);
  }
  REQUIRE(roundTrip(device) == CudaError::success);
  CHECK(server.executor(0).liveStreams() == live.size() + 1);
}

TEST_CASE("query says notReady until the work is done, with one signal") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Stream* stream = nullptr;
  REQUIRE(device.createStream({}, &stream) == CudaError::success);
  CHECK(stream->query() == CudaError::success);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(4096, &address) == CudaError::success);
  REQUIRE(device.synchronize() == CudaError::success);
  const std::uint64_t before = server.executor(0).count(wire::Opcode::SlotSignal);
  server.executor(0).hold(true);
  REQUIRE(fill(*stream, reinterpret_cast<void*>(address), 1, 4, 16, Completion::queued) == CudaError::success);
  for (int i = 0; i < 50; ++i) REQUIRE(stream->query() == CudaError::notReady);
  CHECK(device.legacyStream().query() == CudaError::notReady);
  server.executor(0).hold(false);
  CHECK(stream->synchronize() == CudaError::success);
  CHECK(stream->query() == CudaError::success);
  CHECK(server.executor(0).count(wire::Opcode::SlotSignal) == before + 2);
}

TEST_CASE("device synchronisation waits for streams that are destroyed already") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Stream* stream = nullptr;
  REQUIRE(device.createStream({.nonBlocking = true}, &stream) == CudaError::success);
  static std::atomic<bool> called;
  called = false;
  REQUIRE(stream->launchHostFunction(
              [](void*, CudaError) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                called = true;
              },
              nullptr, false) == CudaError::success);
  REQUIRE(device.destroyStream(*stream) == CudaError::success);
  CHECK(device.synchronize() == CudaError::success);
  CHECK(called);
}

TEST_CASE("each thread has a default stream of its own, which ends with it") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Stream *mine = nullptr, *again = nullptr, *other = nullptr;
  REQUIRE(device.perThreadStream(&mine) == CudaError::success);
  REQUIRE(device.perThreadStream(&again) == CudaError::success);
  CHECK(mine == again);
  CHECK(device.destroyStream(*mine) == CudaError::invalidResourceHandle);
  std::thread([&] { (void)device.perThreadStream(&other); }).join();
  CHECK(other != mine);
  REQUIRE(roundTrip(device) == CudaError::success);
  CHECK(server.executor(0).liveStreams() == 2);  // the legacy stream and this thread's
}

TEST_CASE("an event that was never recorded is complete and orders nothing") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Event *event = nullptr, *untimed = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  REQUIRE(createEvent(device, {.disableTiming = true}, &untimed) == CudaError::success);
  CHECK(event->query() == CudaError::success);
  CHECK(event->synchronize() == CudaError::success);
  CHECK(device.legacyStream().waitEvent(*event) == CudaError::success);
  float milliseconds = 0;
  CHECK(client::Event::elapsed(*event, *event, &milliseconds) == CudaError::invalidResourceHandle);
  REQUIRE(event->record(device.legacyStream()) == CudaError::success);
  REQUIRE(untimed->record(device.legacyStream()) == CudaError::success);
  CHECK(client::Event::elapsed(*event, *untimed, &milliseconds) == CudaError::invalidResourceHandle);
  const std::uint64_t handle = event->handle();
  CHECK(destroyEvent(*event) == CudaError::success);
  CHECK(session->handles().events.find(handle) == nullptr);
}

TEST_CASE("elapsed time is what passed between two records") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Event *start = nullptr, *end = nullptr;
  REQUIRE(createEvent(device, {}, &start) == CudaError::success);
  REQUIRE(createEvent(device, {.blockingSync = true}, &end) == CudaError::success);
  REQUIRE(start->record(device.legacyStream()) == CudaError::success);
  REQUIRE(device.synchronize() == CudaError::success);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  server.executor(0).hold(true);
  REQUIRE(end->record(device.legacyStream()) == CudaError::success);
  float milliseconds = 0;
  CHECK(client::Event::elapsed(*start, *end, &milliseconds) == CudaError::notReady);
  server.executor(0).hold(false);
  REQUIRE(end->synchronize() == CudaError::success);
  REQUIRE(client::Event::elapsed(*start, *end, &milliseconds) == CudaError::success);
  CHECK(milliseconds >= 29.0f);
  CHECK(milliseconds < 5000.0f);
  REQUIRE(client::Event::elapsed(*end, *start, &milliseconds) == CudaError::success);
  CHECK(milliseconds < 0.0f);
}

TEST_CASE("an event recorded again on another stream is not complete before that stream gets there") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  client::Stream *slow = nullptr, *fast = nullptr;
  REQUIRE(device.createStream({.nonBlocking = true}, &slow) == CudaError::success);
  REQUIRE(device.createStream({.nonBlocking = true}, &fast) == CudaError::success);
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  static std::atomic<bool> go;
  go = false;
  auto wait = [](void*, CudaError) {
    while (!go) std::this_thread::yield();
  };
  REQUIRE(event->record(*fast) == CudaError::success);
  REQUIRE(slow->launchHostFunction(wait, nullptr, false) == CudaError::success);
  REQUIRE(event->record(*slow) == CudaError::success);
  REQUIRE(fast->synchronize() == CudaError::success);
  CHECK(event->query() == CudaError::notReady);
  go = true;
  CHECK(event->synchronize() == CudaError::success);
  CHECK(event->query() == CudaError::success);
}

TEST_CASE("streams of two devices wait for each other's events") {
  FakeServer server({.devices = 2});
  const auto session = server.attach();
  client::Device &first = session->device(0), &second = session->device(1);
  client::Stream *a = nullptr, *b = nullptr;
  REQUIRE(first.createStream({}, &a) == CudaError::success);
  REQUIRE(second.createStream({}, &b) == CudaError::success);
  client::Event* event = nullptr;
  REQUIRE(createEvent(first, {.disableTiming = true}, &event) == CudaError::success);
  CHECK(event->record(*b) == CudaError::invalidResourceHandle);
  static std::atomic<int> order;
  static int seenByA, seenByB;
  order = 0;
  REQUIRE(a->launchHostFunction(
              [](void*, CudaError) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                seenByA = order.fetch_add(1);
              },
              nullptr, false) == CudaError::success);
  REQUIRE(event->record(*a) == CudaError::success);
  REQUIRE(b->waitEvent(*event) == CudaError::success);
  REQUIRE(b->launchHostFunction([](void*, CudaError) { seenByB = order.fetch_add(1); }, nullptr, false) ==
          CudaError::success);
  REQUIRE(b->synchronize() == CudaError::success);
  seeHostFunctions(*session, 0);
  seeHostFunctions(*session, 1);
  CHECK(seenByA == 0);
  CHECK(seenByB == 1);
}

TEST_CASE("host functions run in the order of their stream, and later work waits for them") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(4, &address) == CudaError::success);
  constexpr int kStreams = 6, kCalls = 100;
  struct State {
    std::vector<int> order;
    int next = 0;
  };
  std::vector<State> states(kStreams);
  std::vector<client::Stream*> streams(kStreams);
  for (auto& stream : streams) REQUIRE(device.createStream({.nonBlocking = true}, &stream) == CudaError::success);
  for (int i = 0; i < kCalls; ++i) {
    for (std::size_t s = 0; s < kStreams; ++s) {
      REQUIRE(streams[s]->launchHostFunction(
                  [](void* data, CudaError status) {
                    auto& state = *static_cast<State*>(data);
                    if (status == CudaError::success) state.order.push_back(state.next++);
                  },
                  &states[s], false) == CudaError::success);
    }
  }
  for (auto* stream : streams) REQUIRE(stream->synchronize() == CudaError::success);
  seeHostFunctions(*session);
  for (const State& state : states) CHECK(state.order.size() == kCalls);
}

TEST_CASE("callbacks hear of a sticky error, host functions do not run after it") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  static std::atomic<int> ran;
  static std::atomic<std::uint32_t> heard;
  ran = 0;
  heard = 0;
  server.executor(0).hold(true);
  REQUIRE(device.legacyStream().launchHostFunction([](void*, CudaError) { ++ran; }, nullptr, false) ==
          CudaError::success);
  REQUIRE(device.legacyStream().launchHostFunction(
              [](void*, CudaError status) { heard = static_cast<std::uint32_t>(status); }, nullptr, true) ==
          CudaError::success);
  device.status().error.store(static_cast<std::uint32_t>(CudaError::illegalAddress));
  server.executor(0).hold(false);
  CHECK(device.legacyStream().synchronize() == CudaError::illegalAddress);
  CHECK(ran == 0);
  CHECK(heard == static_cast<std::uint32_t>(CudaError::illegalAddress));
  CHECK(device.asyncError() == CudaError::illegalAddress);
}

TEST_CASE("an error that is not sticky is reported once") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  device.status().error.store(static_cast<std::uint32_t>(CudaError::launchOutOfResources));
  CHECK(device.peekError() == CudaError::launchOutOfResources);
  CHECK(device.synchronize() == CudaError::launchOutOfResources);
  CHECK(device.synchronize() == CudaError::success);
}

}  // namespace
}  // namespace rouse::test
