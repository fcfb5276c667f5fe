#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <thread>

#include "client-shim/core/copy.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/event.h"
#include "client-shim/core/fill.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/launch.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/core/module.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Completion;
using client::CopyKind;

// One thread's life: everything a program does, its results checked. Returns what went wrong, or nothing.
std::string live(client::Session& session, const client::Module* modules[2], std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint32_t index = random() % 2;
  client::Device& device = session.device(index);
  client::Stream* stream = nullptr;
  auto failed = [&](const char* what, CudaError error) {
    return std::string(what) + ": " + std::to_string(static_cast<std::uint32_t>(error));
  };
#define DO(expression) \
  if (const CudaError error = (expression); error != CudaError::success) return failed(#expression, error)
  DO(device.perThreadStream(&stream));
  static std::atomic<std::uint64_t> calls;
  for (int round = 0; round < 12; ++round) {
    const std::size_t words = 1 + random() % 30'000;
    std::uint64_t address = 0;
    const bool pooled = random() % 2 == 0;
    if (pooled) {
      DO(device.defaultPool().allocate(words * 4, *stream, &address));
    } else {
      DO(device.memory().allocate(words * 4, &address));
    }
    std::uint64_t count = words;
    auto value = static_cast<std::uint32_t>(random());
    const void* fillArguments[] = {&address, &count, &value};
    const void* addArguments[] = {&address, &count};
    DO(launch(*stream, *modules[index]->findKernel("fillWords"), {}, fillArguments));
    client::Event* event = nullptr;
    DO(createEvent(device, {}, &event));
    DO(event->record(*stream));
    client::Stream* other = nullptr;
    DO(device.createStream({.nonBlocking = true}, &other));
    DO(other->waitEvent(*event));
    for (int i = 0; i < 5; ++i) DO(launch(*other, *modules[index]->findKernel("addOne"), {}, addArguments));
    DO(other->launchHostFunction([](void* counter, CudaError) { ++*static_cast<std::atomic<std::uint64_t>*>(counter); },
                                 &calls, false));
    DO(event->record(*other));
    DO(stream->waitEvent(*event));
    std::vector<std::uint32_t> back(words);
    void* pinned = nullptr;
    if (random() % 2 == 0) {
      DO(session.hostHeap().allocate(words * 4, client::MemoryKind::pinned, 0, index, &pinned));
      DO(copy(*stream, pinned, reinterpret_cast<void*>(address), words * 4, CopyKind::deviceToHost,
              Completion::queued));
      DO(stream->synchronize());
      std::memcpy(back.data(), pinned, words * 4);
      DO(session.hostHeap().release(pinned));
    } else {
      DO(copy(*stream, back.data(), reinterpret_cast<void*>(address), words * 4, CopyKind::deviceToHost,
              Completion::finished));
    }
    for (const std::uint32_t word : back) {
      if (word != value + 5) return "wrong word " + std::to_string(word);
    }
    // Up again, to the other device, and back.
    client::Device& peer = session.device(1 - index);
    std::uint64_t there = 0;
    DO(peer.memory().allocate(words * 4, &there));
    DO(copy(*stream, reinterpret_cast<void*>(address), back.data(), words * 4, CopyKind::hostToDevice,
            Completion::queued));
    DO(copy(*stream, reinterpret_cast<void*>(there), reinterpret_cast<void*>(address), words * 4,
            CopyKind::deviceToDevice, Completion::queued));
    std::vector<std::uint32_t> again(words);
    DO(copy(*stream, again.data(), reinterpret_cast<void*>(there), words * 4, CopyKind::deviceToHost,
            Completion::finished));
    if (again != back) return "the copy to the other device and back differs";
    DO(peer.memory().release(there));
    if (pooled) {
      DO(releaseAsync(address, *stream));
    } else {
      DO(device.memory().release(address));
    }
    DO(device.destroyStream(*other));
    DO(destroyEvent(*event));
    if (random() % 4 == 0) DO(device.synchronize());
    if (const CudaError error = stream->query(); error != CudaError::success && error != CudaError::notReady) {
      return failed("query", error);
    }
  }
#undef DO
  return {};
}

TEST_CASE("threads that do everything at once get each their own results") {
  FakeServer server({.devices = 2, .memoryLimit = 128 << 20, .seed = 3});
  const auto session = server.attach();
  std::unique_ptr<client::Module> loaded[2];
  const client::Module* modules[2];
  const std::string_view text = "good";
  for (std::uint32_t i = 0; i < 2; ++i) {
    REQUIRE(loadModule(session->device(i), {.bytes = std::as_bytes(std::span(text.data(), text.size()))}, {},
                       &loaded[i]) == CudaError::success);
    modules[i] = loaded[i].get();
  }
  std::vector<std::string> wrong(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] { wrong[t] = live(*session, modules, 100 + t); });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string& what : wrong) CHECK(what == "");
  for (std::uint32_t i = 0; i < 2; ++i) {
    CHECK(session->device(i).synchronize() == CudaError::success);
    CHECK(server.executor(i).rejection() == "");
  }
}

TEST_CASE("threads share one stream, and each launch is whole") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  const std::string_view text = "good";
  std::unique_ptr<client::Module> module;
  REQUIRE(loadModule(device, {.bytes = std::as_bytes(std::span(text.data(), text.size()))}, {}, &module) ==
          CudaError::success);
  std::uint64_t address = 0, count = 1;
  REQUIRE(device.memory().allocate(4, &address) == CudaError::success);
  REQUIRE(fill(device.legacyStream(), reinterpret_cast<void*>(address), 0, 4, 1, Completion::queued) ==
          CudaError::success);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const void* arguments[] = {&address, &count};
      for (int i = 0; i < 2500; ++i) (void)launch(device.legacyStream(), *module->findKernel("addOne"), {}, arguments);
    });
  }
  for (auto& thread : threads) thread.join();
  std::uint32_t word = 0;
  REQUIRE(copy(device.legacyStream(), &word, reinterpret_cast<void*>(address), 4, CopyKind::deviceToHost,
               Completion::finished) == CudaError::success);
  CHECK(word == 10'000);
}

}  // namespace
}  // namespace rouse::test
