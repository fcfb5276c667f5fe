// The rouse-executor binary: memory, slots, life and death.
#include <catch2/catch.hpp>
#include <string_view>

#include "test/executor/process_fixture.h"

namespace rouse::executor {
namespace {

constexpr bool kThreadSanitizer = std::string_view(ROUSE_SANITIZE) == "thread";

}  // namespace

TEST_CASE("bytes go to device memory and back") {
  ExecutorProcess executor;
  REQUIRE(std::get<channel::ExecutorReady>(executor.receive().body).device.memoryBytes == kMemory);
  Function function(1);
  executor.open(function);
  function.give(4);

  constexpr std::size_t kBytes = 3 << 20;
  for (std::size_t i = 0; i < kBytes; ++i) function.host[i] = static_cast<std::byte>(i * 7 + (i >> 11));
  std::byte* back = function.host + wire::kStagingBytes;
  function.send(wire::HostMap{.base = function.pinned(), .bytes = 4 << 20});
  function.send(wire::Copy{
      .stream = kLegacy, .destination = function.window() + 64, .source = function.staging(), .bytes = kBytes});
  function.send(
      wire::Fill{.stream = kLegacy, .destination = function.window() + 64, .count = 5, .value = 9, .elementBytes = 4});
  function.send(wire::Copy{
      .stream = kLegacy, .destination = function.pinned(), .source = function.window(), .bytes = kBytes + 128});
  function.sync();
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(back[i] == std::byte{0});
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(back[64 + 4 * i] == std::byte{9});
  REQUIRE(std::memcmp(back + 64 + 20, function.host + 20, kBytes - 20) == 0);

  const std::byte inlined[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  function.send(wire::CopyInline{.stream = kLegacy, .destination = function.window()},
                std::span<const std::byte>(inlined));
  function.send(wire::Copy3D{.stream = kLegacy,
                             .destination = function.staging(),
                             .destinationPitch = 2,
                             .source = function.window(),
                             .sourcePitch = 1,
                             .width = 1,
                             .height = 3,
                             .depth = 1});
  function.sync();
  REQUIRE(function.host[0] == std::byte{1});
  REQUIRE(function.host[2] == std::byte{2});
  REQUIRE(function.host[4] == std::byte{3});

  function.send(wire::HostUnmap{.base = function.pinned(), .bytes = 4 << 20, .value = 1, .slot = 3});
  function.await(3, 1);
  REQUIRE(function.latched() == CudaError::success);
  executor.close(function);
}

TEST_CASE("nobody sees what another function left behind") {
  ExecutorProcess executor;
  executor.receive();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    Function function(id);
    executor.open(function);
    const std::uint64_t granules = kMemory / kGranuleBytes;
    function.give(granules);
    // Everything there is reads as zero, then is written all over.
    for (std::uint64_t at = 0; at < kMemory; at += wire::kStagingBytes) {
      std::memset(function.host, 0xaa, wire::kStagingBytes);
      function.send(wire::Copy{.stream = kLegacy,
                               .destination = function.staging(),
                               .source = function.window() + at,
                               .bytes = wire::kStagingBytes});
      function.sync();
      const std::vector<std::byte> zeros(wire::kStagingBytes);
      REQUIRE(std::memcmp(function.host, zeros.data(), zeros.size()) == 0);
    }
    function.send(wire::Fill{
        .stream = kLegacy, .destination = function.window(), .count = kMemory, .value = 0x5a, .elementBytes = 1});
    if (id != 2) function.sync();  // the second is closed while its work is under way
    executor.close(function);
  }
}

TEST_CASE("a stream waits for a slot that the client writes, and a reset drops such a wait") {
  ExecutorProcess executor;
  executor.receive();
  Function function(1);
  executor.open(function);
  function.give(1);
  function.send(wire::SlotWait{.stream = kLegacy, .value = 5, .slot = 8});
  function.send(wire::SlotSignal{.stream = kLegacy, .value = 1, .slot = 3});
  function.flush();
  std::this_thread::sleep_for(30ms);
  REQUIRE(function.value(3) == 0);
  wire::signal(function.segment.slot(8), 5);
  function.await(3, 1);

  function.send(wire::SlotWait{.stream = kLegacy, .value = 6, .slot = 8});
  function.send(wire::SlotSignal{.stream = kLegacy, .value = 2, .slot = 3});
  function.send(wire::Reset{.value = 1, .slot = 4});
  function.await(4, 1);
  REQUIRE(function.value(3) == 2);
  function.give(1);
  function.send(
      wire::Fill{.stream = kLegacy, .destination = function.window(), .count = 8, .value = 1, .elementBytes = 1});
  function.sync();
  REQUIRE(function.result(1) == CudaError::success);
}

TEST_CASE("functions that come and go leave neither memory nor descriptors nor mappings") {
  ExecutorProcess executor;
  executor.receive();
  struct Counts {
    long fds = 0, maps = 0, memfdMaps = 0;
  };
  const auto count = [&] {
    const std::string folder = "/proc/" + std::to_string(executor.pid);
    FILE* pipe = ::popen(("ls " + folder + "/fd | wc -l; grep -c . " + folder + "/maps; grep -c memfd: " + folder +
                          "/maps")
                             .c_str(),
                         "r");
    Counts counts;
    REQUIRE(std::fscanf(pipe, "%ld %ld %ld", &counts.fds, &counts.maps, &counts.memfdMaps) == 3);
    ::pclose(pipe);
    return counts;
  };
  const auto serve = [&](std::uint64_t id) {
    Function function(id, kMemory / 8);
    executor.open(function);
    function.give(2);
    function.send(wire::HostMap{.base = function.pinned(), .bytes = 8192});
    function.send(wire::SlotWait{.stream = kLegacy, .value = 6, .slot = 8});  // never comes
    function.flush();
    executor.close(function);
  };
  for (std::uint64_t id = 1; id < 10; ++id) serve(id);
  const Counts before = count();
  for (std::uint64_t id = 10; id < 60; ++id) serve(id);
  const Counts after = count();
  REQUIRE(after.fds == before.fds);
  REQUIRE(after.memfdMaps == before.memfdMaps);
  // ThreadSanitizer gives each session's addresses mappings of its own.
  if (!kThreadSanitizer) REQUIRE(after.maps < before.maps + 10);
  const auto status = executor.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{});
  REQUIRE(status.freeBytes == kMemory);
  REQUIRE(status.sessions.empty());
}

TEST_CASE("the executor ends with the daemon's connection, or when it is told") {
  ExecutorProcess executor;
  executor.receive();
  Function function(1);
  executor.open(function);
  SECTION("connection closed") { executor.daemon->shutdown(); }
  SECTION("shutdown") { REQUIRE(executor.daemon->send(0, channel::Shutdown{}).ok()); }
  REQUIRE(executor.end() == 0);
  REQUIRE(function.segment.header().devices[0].state == wire::DeviceState::lost);
}

TEST_CASE("what cannot be started says so with its exit code") {
  SECTION("no such back end") { REQUIRE(ExecutorProcess({"--device", "abacus"}).end() == 3); }
  SECTION("not a name") { REQUIRE(ExecutorProcess({"--device", "../cpu"}).end() == 3); }
  SECTION("an unknown option") { REQUIRE(ExecutorProcess({"--frobnicate"}).end() == 2); }
}

}  // namespace rouse::executor
