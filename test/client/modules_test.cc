#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "client-shim/core/copy.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/event.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/launch.h"
#include "client-shim/core/module.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/stream.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using client::Completion;
using client::CopyKind;
using client::Kernel;
using client::LaunchShape;
using client::Module;
using client::Variable;

client::ModuleSource sourceOf(std::string_view text) {
  return {.bytes = std::as_bytes(std::span(text.data(), text.size()))};
}

std::unique_ptr<Module> load(client::Device& device, std::span<const client::ManagedPlace> places = {}) {
  std::unique_ptr<Module> module;
  REQUIRE(loadModule(device, sourceOf("good module"), places, &module) == CudaError::success);
  return module;
}

std::vector<std::uint32_t> read(client::Device& device, std::uint64_t address, std::size_t words) {
  std::vector<std::uint32_t> values(words);
  REQUIRE(copy(device.legacyStream(), values.data(), reinterpret_cast<void*>(address), words * 4, CopyKind::byAddress,
               Completion::finished) == CudaError::success);
  return values;
}

TEST_CASE("a module is offered, bound, and its kernels run with their parameters") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  const auto module = load(device);
  CHECK(server.lastModule() == "good module");
  REQUIRE(module->kernels().size() == 5);
  Kernel* fillWords = module->findKernel("fillWords");
  Kernel* addOne = module->findKernel("addOne");
  REQUIRE(fillWords != nullptr);
  REQUIRE(addOne != nullptr);
  CHECK(module->findKernel("nothing") == nullptr);
  CHECK(fillWords->maxDynamicSharedBytes == (47 << 10));

  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(4096, &address) == CudaError::success);
  std::uint64_t count = 1000;
  std::uint32_t value = 41;
  const void* arguments[] = {&address, &count, &value};
  const LaunchShape shape{.grid = {4, 1, 1}, .block = {256, 1, 1}};
  REQUIRE(launch(device.legacyStream(), *fillWords, shape, arguments) == CudaError::success);
  value = 0;  // has been read
  struct {
    std::uint64_t address, count;
  } block{address, 999};
  REQUIRE(launchPacked(device.legacyStream(), *addOne, shape, std::as_bytes(std::span(&block, 1))) ==
          CudaError::success);
  const auto words = read(device, address, 1000);
  CHECK(words[0] == 42);
  CHECK(words[998] == 42);
  CHECK(words[999] == 41);
}

TEST_CASE("what a launch may not be is refused at the call") {
  FakeServer server({.devices = 2});
  const auto session = server.attach();
  client::Device& device = session->device(0);
  const auto module = load(device);
  const Kernel& addOne = *module->findKernel("addOne");
  std::uint64_t address = 0, count = 0;
  const void* arguments[] = {&address, &count};
  auto launched = [&](client::Dim3 grid, client::Dim3 block, std::uint32_t shared = 0) {
    return launch(device.legacyStream(), addOne, {grid, block, shared}, arguments);
  };
  const CudaError wrong = CudaError::invalidValue;
  CHECK(launched({1, 1, 1}, {256, 1, 1}) == CudaError::success);
  CHECK(launched({0, 1, 1}, {1, 1, 1}) == wrong);
  CHECK(launched({1, 0, 1}, {1, 1, 1}) == wrong);
  CHECK(launched({1, 1, 1}, {1, 1, 0}) == wrong);
  CHECK(launched({1, 65536, 1}, {1, 1, 1}) == wrong);
  CHECK(launched({1, 1, 65536}, {1, 1, 1}) == wrong);
  CHECK(launched({2147483648u, 1, 1}, {1, 1, 1}) == wrong);
  CHECK(launched({2147483647, 65535, 65535}, {1, 1, 1}) == CudaError::success);
  CHECK(launched({1, 1, 1}, {1025, 1, 1}) == wrong);
  CHECK(launched({1, 1, 1}, {32, 33, 1}) == wrong);
  CHECK(launched({1, 1, 1}, {1, 1, 65}) == wrong);
  CHECK(launched({1, 1, 1}, {1024, 1024, 64}) == wrong);
  CHECK(launched({1, 1, 1}, {257, 1, 1}) == CudaError::invalidValue);  // the kernel's own limit
  CHECK(launched({1, 1, 1}, {1, 1, 1}, 47 << 10) == CudaError::success);
  CHECK(launched({1, 1, 1}, {1, 1, 1}, (47 << 10) + 1) == CudaError::invalidValue);
  module->findKernel("addOne")->maxDynamicSharedBytes = 100 << 10;
  CHECK(launched({1, 1, 1}, {1, 1, 1}, 100 << 10) == CudaError::success);
  CHECK(launch(device.legacyStream(), addOne, {}, nullptr) == CudaError::invalidValue);
  const void* holes[] = {&address, nullptr};
  CHECK(launch(device.legacyStream(), addOne, {}, holes) == CudaError::invalidValue);
  CHECK(launch(session->device(1).legacyStream(), addOne, {}, arguments) == CudaError::invalidResourceHandle);
  CHECK(launchPacked(device.legacyStream(), addOne, {}, {}) == CudaError::invalidValue);
  CHECK(device.synchronize() == CudaError::success);
}

TEST_CASE("variables have places, initial values, and are not the program's to free") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  auto module = load(device);
  const Variable* global = module->findVariable("deviceVariable");
  const Variable* managed = module->findVariable("managedVariable");
  REQUIRE(global != nullptr);
  REQUIRE(managed != nullptr);
  CHECK(read(device, global->address, 16) == std::vector<std::uint32_t>(16, kVariableWord));
  CHECK(device.memory().release(global->address) == CudaError::invalidValue);
  CHECK(session->hostHeap().release(reinterpret_cast<void*>(managed->address)) == CudaError::invalidValue);
  CHECK(*reinterpret_cast<std::uint32_t*>(managed->address) == kVariableWord);
  client::Allocation found;
  REQUIRE(session->findAllocation(managed->address + 63, &found));
  CHECK(found.kind == client::MemoryKind::managed);
  const std::uint64_t address = global->address;
  REQUIRE(unloadModule(std::move(module)) == CudaError::success);
  CHECK_FALSE(session->findAllocation(address, &found));
}

TEST_CASE("a managed variable has one place and keeps its value when a second device binds it") {
  FakeServer server({.devices = 2});
  const auto session = server.attach();
  const auto first = load(session->device(0));
  const std::uint64_t address = first->findVariable("managedVariable")->address;
  REQUIRE(session->device(0).legacyStream().synchronize() == CudaError::success);
  *reinterpret_cast<std::uint32_t*>(address) = 123;
  const client::ManagedPlace places[] = {{"managedVariable", address}};
  const auto second = load(session->device(1), places);
  CHECK(second->findVariable("managedVariable")->address == address);
  CHECK(*reinterpret_cast<std::uint32_t*>(address) == 123);
  CHECK(second->findVariable("deviceVariable")->address != first->findVariable("deviceVariable")->address);
}

TEST_CASE("a module in a file is offered as it lies there") {
  FakeServer server;
  const auto session = server.attach();
  char path[] = "/tmp/rouse-module-XXXXXX";
  const int fd = ::mkstemp(path);
  ::unlink(path);
  REQUIRE(::write(fd, "xxxxgood inside", 15) == 15);
  std::unique_ptr<Module> module;
  REQUIRE(loadModule(session->device(0), {.bytes = {}, .fd = fd, .offset = 4, .size = 8}, {}, &module) ==
          CudaError::success);
  CHECK(server.lastModule() == "good ins");
  ::close(fd);
}

TEST_CASE("a module that does not translate is an error with the daemon's code, and nothing is lost") {
  FakeServer server;
  const auto session = server.attach();
  std::unique_ptr<Module> module;
  CHECK(loadModule(session->device(0), sourceOf("bad"), {}, &module) == CudaError::invalidPtx);
  CHECK(module == nullptr);
  CHECK(session->device(0).synchronize() == CudaError::success);
  CHECK(load(session->device(0)) != nullptr);
}

TEST_CASE("a fault is reported by the calls after it, until the device is reset") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  auto module = load(device);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(1000, &address) == CudaError::success);
  client::Stream* stream = nullptr;
  REQUIRE(device.createStream({}, &stream) == CudaError::success);
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  void* pinned = nullptr;
  REQUIRE(session->hostHeap().allocate(1 << 20, client::MemoryKind::pinned, 0, 0, &pinned) == CudaError::success);
  const std::uint64_t streamHandle = stream->handle();

  auto code = static_cast<std::uint32_t>(CudaError::illegalAddress);
  const void* arguments[] = {&code};
  // Held back, for the record may report the fault as soon as it has happened.
  server.executor(0).hold(true);
  REQUIRE(launch(*stream, *module->findKernel("fault"), {}, arguments) == CudaError::success);
  REQUIRE(event->record(*stream) == CudaError::success);
  server.executor(0).hold(false);
  CHECK(stream->synchronize() == CudaError::illegalAddress);
  CHECK(event->query() == CudaError::illegalAddress);
  CHECK(device.synchronize() == CudaError::illegalAddress);
  CHECK(launch(*stream, *module->findKernel("fault"), {}, arguments) == CudaError::illegalAddress);
  CHECK(device.memory().allocate(10, &address) == CudaError::illegalAddress);
  char byte;
  CHECK(copy(*stream, &byte, reinterpret_cast<void*>(address), 1, CopyKind::byAddress, Completion::finished) ==
        CudaError::illegalAddress);

  const std::uint64_t incarnation = device.incarnation();
  REQUIRE(device.reset() == CudaError::success);
  CHECK(device.incarnation() == incarnation + 1);
  CHECK(device.asyncError() == CudaError::success);
  CHECK(session->handles().streams.find(streamHandle) == nullptr);
  client::Allocation found;
  CHECK_FALSE(session->findAllocation(address, &found));
  CHECK(unloadModule(std::move(module)) == CudaError::success);

  // Everything works anew; pinned memory is still there.
  module = load(device);
  REQUIRE(device.memory().allocate(1 << 20, &address) == CudaError::success);
  std::memset(pinned, 7, 1 << 20);
  REQUIRE(copy(device.legacyStream(), reinterpret_cast<void*>(address), pinned, 1 << 20, CopyKind::hostToDevice,
               Completion::finished) == CudaError::success);
  CHECK(read(device, address, 1)[0] == 0x07070707);
  REQUIRE(session->hostHeap().release(pinned) == CudaError::success);
  REQUIRE(device.createStream({}, &stream) == CudaError::success);
  CHECK(stream->synchronize() == CudaError::success);
}

TEST_CASE("a reset ends what hangs: streams that wait, events, host functions, staging") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  std::uint64_t address = 0;
  REQUIRE(device.memory().allocate(1 << 20, &address) == CudaError::success);
  REQUIRE(device.synchronize() == CudaError::success);
  server.executor(0).hold(true);
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  std::vector<char> source(1 << 20);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(copy(device.legacyStream(), reinterpret_cast<void*>(address), source.data(), source.size(),
                 CopyKind::hostToDevice, Completion::queued) == CudaError::success);
  }
  static int called;
  called = 0;
  REQUIRE(device.legacyStream().launchHostFunction([](void*, CudaError) { ++called; }, nullptr, false) ==
          CudaError::success);
  REQUIRE(event->record(device.legacyStream()) == CudaError::success);
  REQUIRE(device.reset() == CudaError::success);
  server.executor(0).hold(false);
  CHECK(called == 0);
  REQUIRE(device.memory().allocate(16 << 20, &address) == CudaError::success);
  std::vector<char> large(16 << 20, 3), back(16 << 20);
  REQUIRE(copy(device.legacyStream(), reinterpret_cast<void*>(address), large.data(), large.size(),
               CopyKind::hostToDevice, Completion::finished) == CudaError::success);
  REQUIRE(copy(device.legacyStream(), back.data(), reinterpret_cast<void*>(address), back.size(),
               CopyKind::deviceToHost, Completion::finished) == CudaError::success);
  CHECK((back == large));
}

TEST_CASE("what kernels print comes out at a synchronisation") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  const auto module = load(device);
  char path[] = "/tmp/rouse-print-XXXXXX";
  const int file = ::mkstemp(path);
  ::unlink(path);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(file, STDOUT_FILENO);
  for (std::uint32_t number = 0; number < 3; ++number) {
    const void* arguments[] = {&number};
    (void)launch(device.legacyStream(), *module->findKernel("print"), {}, arguments);
  }
  const CudaError error = device.legacyStream().synchronize();
  std::fflush(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  char text[100] = {};
  const auto length = ::pread(file, text, sizeof text - 1, 0);
  ::close(file);
  CHECK(error == CudaError::success);
  CHECK(length == 30);
  CHECK(std::string(text) == "printed 0\nprinted 1\nprinted 2\n");
}

TEST_CASE("limits are kept and sent") {
  FakeServer server;
  const auto session = server.attach();
  client::Device& device = session->device(0);
  CHECK(device.limit(client::Limit::stackBytes) == 1024);
  CHECK(device.setLimit(client::Limit::stackBytes, 4096) == CudaError::success);
  CHECK(device.limit(client::Limit::stackBytes) == 4096);
  client::Event* event = nullptr;
  REQUIRE(createEvent(device, {}, &event) == CudaError::success);
  REQUIRE(event->record(device.legacyStream()) == CudaError::success);
  REQUIRE(event->synchronize() == CudaError::success);
  CHECK(server.executor(0).count(wire::Opcode::SetLimit) == 1);
}

}  // namespace
}  // namespace rouse::test
