// Kernels through the rouse-executor binary: results, text, faults, and one that never ends.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "test/cpu/descendants.h"
#include "test/executor/process_fixture.h"

namespace rouse::executor {
namespace {

// The conformance suite's kernels, bound once, variables at the end of the function's first granule.
struct Kernels {
  Kernels(ExecutorProcess& executor, Function& function) : function(function) {
    std::ifstream file(KERNELS_FATBIN, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    REQUIRE(!bytes.empty());
    wire::OwnedFd fd(::memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    REQUIRE(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0);
    std::vector<wire::OwnedFd> fds;
    fds.push_back(std::move(fd));
    description =
        executor
            .ask<channel::ModuleInfo>(
                channel::InstallModule{.sessionId = function.request.sessionId, .moduleId = 1, .size = bytes.size()},
                std::move(fds))
            .description;
    bind();
  }

  void bind() {
    std::vector<std::uint64_t> addresses;
    std::uint64_t at = function.window() + kGranuleBytes / 2;
    for (const auto& variable : description.variables) {
      at = roundUp(at, variable.alignment);
      addresses.push_back(at);
      at += variable.bytes;
    }
    function.send(wire::ModuleBind{.module = {0, 0}, .moduleId = 1}, std::span<const std::uint64_t>(addresses));
  }

  template <class... Arguments>
  void launch(const std::string& name, wire::Dim3 grid, wire::Dim3 block, Arguments... arguments) {
    std::uint32_t index = 0;
    while (description.kernels.at(index).name != name) ++index;
    const auto& kernel = description.kernels[index];
    REQUIRE(kernel.parameters.size() == sizeof...(arguments));
    std::vector<std::byte> parameters(kernel.parameterBytes);
    std::size_t number = 0;
    (std::memcpy(parameters.data() + kernel.parameters[number++].offset, &arguments, sizeof arguments), ...);
    function.send(wire::Launch{.stream = kLegacy, .module = {0, 0}, .function = index, .grid = grid, .block = block},
                  std::span<const std::byte>(parameters));
  }

  Function& function;
  memory::ModuleDescription description;
};

}  // namespace

TEST_CASE("a kernel computes, and prints through the output ring") {
  ExecutorProcess executor;
  executor.receive();
  Function function(1);
  executor.open(function);
  function.give(2);
  Kernels kernels(executor, function);
  auto* values = reinterpret_cast<float*>(function.host);
  for (int i = 0; i < 1000; ++i) values[i] = static_cast<float>(i), values[1000 + i] = 3;
  const std::uint64_t x = function.window() + kGranuleBytes, y = x + 4000;
  function.send(wire::Copy{.stream = kLegacy, .destination = x, .source = function.staging(), .bytes = 8000});
  kernels.launch("saxpy", {8, 1, 1}, {128, 1, 1}, 2.0f, x, y, 1000u);
  function.send(wire::Copy{.stream = kLegacy, .destination = function.staging(), .source = y, .bytes = 4000});
  kernels.launch("print", {1, 1, 1}, {32, 1, 1}, 42);
  function.sync();
  for (int i = 0; i < 1000; ++i) REQUIRE(values[i] == 2.0f * static_cast<float>(i) + 3);
  std::string text;
  REQUIRE(function.output.drain([&](std::string_view piece, bool) { text += piece; }));
  REQUIRE(text == "block 0 of 1: 42 text\n");
  REQUIRE(function.latched() == CudaError::success);
  REQUIRE(executor.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).launches == 2);
}

TEST_CASE("processes that compile for an executor end with it") {
  ExecutorProcess executor;
  executor.receive();
  Function function(1);
  executor.open(function);
  function.give(2);
  Kernels kernels(executor, function);
  kernels.launch("print", {1, 1, 1}, {32, 1, 1}, 42);
  function.sync();
  const std::vector<pid_t> compilers = test::descendantsOf(executor.pid);
  REQUIRE(!compilers.empty());
  ::kill(executor.pid, SIGKILL);
  // Not reaped yet by this process, or by whoever has inherited them: ended all the same.
  const auto runs = [](pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t after = text.rfind(") ");
    return after != std::string::npos && text[after + 2] != 'Z';
  };
  for (int i = 0; i < 5000 && std::ranges::any_of(compilers, runs); ++i) ::usleep(2000);
  REQUIRE(std::ranges::none_of(compilers, runs));
}

TEST_CASE("a kernel that faults fails its own function, until that is reset") {
  ExecutorProcess executor;
  executor.receive();
  Function bad(1, kMemory / 2), good(2, kMemory / 2);
  executor.open(bad);
  executor.open(good);
  bad.give(2);
  good.give(2);
  Kernels kernels(executor, bad), others(executor, good);
  kernels.launch("store", {1, 1, 1}, {32, 1, 1}, bad.window() + 2 * kGranuleBytes);
  bad.sync();
  REQUIRE(bad.latched() == CudaError::illegalAddress);
  REQUIRE(bad.result(1) == CudaError::illegalAddress);
  REQUIRE(bad.message().find("store") != std::string::npos);

  others.launch("store", {1, 1, 1}, {32, 1, 1}, good.window() + kGranuleBytes);
  good.send(wire::Copy{
      .stream = kLegacy, .destination = good.staging(), .source = good.window() + kGranuleBytes, .bytes = 128});
  good.sync();
  REQUIRE(good.result(1) == CudaError::success);
  REQUIRE(reinterpret_cast<int*>(good.host)[31] == 7);

  bad.send(wire::Reset{.value = 1, .slot = 4});
  bad.await(4, 1);
  REQUIRE(bad.latched() == CudaError::success);
  bad.send(wire::MemReserve{.bytes = 2 * kGranuleBytes, .value = 2, .slot = 2});
  bad.send(wire::MemMap{.base = bad.window(), .bytes = 2 * kGranuleBytes});
  kernels.bind();
  kernels.launch("store", {1, 1, 1}, {32, 1, 1}, bad.window() + kGranuleBytes);
  bad.sync();
  REQUIRE(bad.result(1) == CudaError::success);
}

TEST_CASE("a kernel that never ends goes with its session, and the neighbour is served all the time") {
  ExecutorProcess executor;
  executor.receive();
  Function endless(1, kMemory / 2), other(2, kMemory / 2);
  executor.open(endless);
  executor.open(other);
  endless.give(1);
  Kernels kernels(executor, endless);
  kernels.launch("forever", {1, 1, 1}, {1, 1, 1}, endless.window());
  endless.flush();
  for (int i = 0; i < 100; ++i) other.sync();
  SECTION("closed") { executor.close(endless); }
  SECTION("reset") {
    endless.send(wire::Reset{.value = 1, .slot = 4});
    endless.await(4, 1);
    endless.sync();
    REQUIRE(endless.result(1) == CudaError::success);
  }
  SECTION("cut off") {
    endless.send(wire::StreamDestroy{.stream = kLegacy});
    endless.flush();
    REQUIRE(std::holds_alternative<channel::SessionFault>(executor.receive().body));
    executor.close(endless);
  }
  REQUIRE(executor.ask<channel::ExecutorStatus>(channel::ExecutorStatusRequest{}).freeBytes == kMemory);
  other.sync();
}

}  // namespace rouse::executor
