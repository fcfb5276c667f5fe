// Kernels that go wrong: the launch ends with CUDA's error, the process goes on.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "server/device/cpu/runtime/residency.h"
#include "server/device/cpu/runtime/signal_faults.h"
#include "test/cpu/launcher.h"

using namespace rouse;
using namespace rouse::cpu;

namespace {

struct Target {
  volatile std::uint32_t* address;
  std::uint32_t thread;
};

__attribute__((no_sanitize("address", "thread", "undefined"))) void store(ThreadContext* thread,
                                                                          const std::byte* parameters) {
  rouse_cpu_barrier(thread, 0, 0);
  if (thread->linear == as<Target>(parameters).thread) *as<Target>(parameters).address = 1;
  rouse_cpu_barrier(thread, 0, 0);
}

__attribute__((no_sanitize("address", "thread", "undefined"))) void storeLoop(BlockContext* block,
                                                                              const std::byte* parameters) {
  if (block->ctaid[0] == 5) *as<Target>(parameters).address = 1;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) void sharedStore(ThreadContext* thread,
                                                                                const std::byte* parameters) {
  const auto offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(as<Target>(parameters).address));
  *reinterpret_cast<volatile std::uint32_t*>(thread->block->shared + offset) = 1;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) std::uint32_t endless(std::uint32_t level) {
  volatile std::uint32_t frame[32];
  frame[level % 32] = level;
  const std::uint32_t result = endless(level + 1) + frame[level % 32];
  frame[0] = result;
  return result;
}

#pragma GCC diagnostic pop

void overflow(ThreadContext* thread, const std::byte* parameters) {
  if (thread->linear == 3) *as<Target>(parameters).address = endless(0);
}

void illegal(ThreadContext*, const std::byte*) { asm volatile("ud2"); }

void trap(ThreadContext* thread, const std::byte* parameters) { rouse_cpu_trap(thread, as<std::uint32_t>(parameters)); }

void misaligned(ThreadContext* thread, const std::byte*) { rouse_cpu_misaligned(thread, 0x1001, 4); }

void misalignedLater(ThreadContext* thread, const std::byte*) { thread->misaligned |= 2; }

void misalignedLoop(BlockContext* block, const std::byte*) { block->misaligned |= 1; }

void assertion(ThreadContext* thread, const std::byte*) {
  if (thread->tid[0] == 2) rouse_cpu_assert_fail(thread, "i != 2", "program.cu", 17, "void kernel(int)");
}

void printBad(ThreadContext* thread, const std::byte* parameters) { rouse_cpu_vprintf(thread, "%s", parameters); }

struct Stopper {
  std::atomic<bool>* running;
};

// Neither calls the runtime nor ends.
void forever(ThreadContext*, const std::byte* parameters) {
  as<Stopper>(parameters).running->store(true);
  for (;;) asm volatile("pause");
}

Launch threads(KernelEntry entry, std::uint32_t count) {
  Launch request;
  request.entry = entry;
  request.grid = {4, 1, 1};
  request.block = {count, 1, 1};
  return request;
}

void checkWorks() {
  Target target{};
  std::uint32_t word = 0;
  target.address = &word;
  mustRun(threads(&store, 64), target);
  CHECK(word == 1);
}

}  // namespace

TEST_CASE("an access to nothing is an illegal address, with kernel, block, thread and address") {
  void* nothing = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Target target{static_cast<std::uint32_t*>(nothing), 37};
  const Error error = run(threads(&store, 64), target);
  CHECK(error.code == CudaError::illegalAddress);
  char digits[32];
  std::snprintf(digits, sizeof digits, "0x%llx",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(nothing)));
  CHECK(error.message.find("kernel test, block [") != std::string::npos);
  CHECK(error.message.find("thread [37,0,0]: illegal access to " + std::string(digits)) != std::string::npos);
  munmap(nothing, 4096);
  checkWorks();
}

TEST_CASE("null and addresses that no processor has") {
  Target target{nullptr, 0};
  CHECK(run(threads(&store, 32), target).code == CudaError::illegalAddress);
  target.address = reinterpret_cast<std::uint32_t*>(0xdead'0000'0000'0000);
  CHECK(run(threads(&store, 32), target).code == CudaError::illegalAddress);
  checkWorks();
}

TEST_CASE("a fault in a block loop names the block") {
  Launch request;
  request.loop = &storeLoop;
  request.entry = &store;
  request.grid = {100, 1, 1};
  const Error error = run(request, Target{nullptr, 0});
  CHECK(error.code == CudaError::illegalAddress);
  CHECK(error.message.find("block [5,0,0]: illegal access to 0x0") != std::string::npos);
  checkWorks();
}

TEST_CASE("shared memory ends where it ends") {
  Launch request = threads(&sharedStore, 1);
  request.sharedBytes = 1024;
  const auto at = [](std::uint64_t offset) { return Target{reinterpret_cast<std::uint32_t*>(offset), 0}; };
  CHECK(run(request, at(1020)).code == CudaError::success);
  CHECK(run(request, at(1024)).code == CudaError::illegalAddress);
  CHECK(run(request, at(0x7fff'0000)).code == CudaError::illegalAddress);
  CHECK(run(request, at(0xffff'fff0)).code == CudaError::illegalAddress);
}

TEST_CASE("an endless recursion is a stack error") {
  std::uint32_t sink = 0;
  const Error error = run(threads(&overflow, 8), Target{&sink, 0});
  CHECK(error.code == CudaError::hardwareStackError);
  CHECK(error.message.find("thread [3,0,0]") != std::string::npos);
  checkWorks();
}

TEST_CASE("instructions that end a launch") {
  CHECK(run(threads(&illegal, 2), 0).code == CudaError::illegalInstruction);
  CHECK(run(threads(&trap, 2), std::uint32_t{0}).code == CudaError::launchFailure);
  CHECK(run(threads(&trap, 2), std::uint32_t{1}).code == CudaError::illegalInstruction);
  const Error known = run(threads(&misaligned, 2), 0);
  CHECK(known.code == CudaError::misalignedAddress);
  CHECK(known.message.find("misaligned access to 0x1001 of 4 bytes") != std::string::npos);
  CHECK(run(threads(&misalignedLater, 2), 0).code == CudaError::misalignedAddress);
  Launch loop = threads(&misalignedLater, 2);
  loop.loop = &misalignedLoop;
  CHECK(run(loop, 0).code == CudaError::misalignedAddress);
  checkWorks();
}

TEST_CASE("assert prints what CUDA prints") {
  Output output;
  Launch request = threads(&assertion, 8);
  request.grid = {1, 1, 1};
  request.output = &output;
  CHECK(run(request, 0).code == CudaError::assertion);
  CHECK(output.errors ==
        "program.cu:17: void kernel(int): block: [0,0,0], thread: [2,0,0] Assertion `i != 2` failed.\n");
  CHECK(output.text_.empty());
}

TEST_CASE("printf of a string that cannot be read faults like any access") {
  Output output;
  Launch request = threads(&printBad, 1);
  request.output = &output;
  const std::uint64_t bad = 8;
  CHECK(run(request, bad).code == CudaError::illegalAddress);
  checkWorks();
}

TEST_CASE("faults again and again leave nothing behind") {
  for (int i = 0; i < 200; ++i) {
    REQUIRE(run(threads(&store, 96), Target{nullptr, static_cast<std::uint32_t>(i % 96)}).code ==
            CudaError::illegalAddress);
  }
  checkWorks();
}

TEST_CASE("a kernel that never ends and never calls is stopped from outside") {
  installFaultHandlers();
  std::atomic<bool> running{false};
  const Stopper stopper{&running};
  GridOptions options;
  options.kernel = "forever";
  options.code.entry = &forever;
  options.parameters.resize(sizeof stopper);
  std::memcpy(options.parameters.data(), &stopper, sizeof stopper);
  Grid grid(std::move(options));
  std::atomic<Runner*> runnerOf{nullptr};
  std::atomic<bool> over{false};
  std::thread worker([&] {
    Runner runner;
    runnerOf = &runner;
    Residency residency(runner, grid, 1);
    static const std::atomic<std::uint32_t> others{0};
    while (residency.run(others) != Residency::Progress::done) {
    }
    while (!over) std::this_thread::yield();
  });
  while (!running) std::this_thread::yield();
  grid.fail(CudaError::unknown, "stopped");
  runnerOf.load()->interrupt();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool complete = false;
  while (!complete && std::chrono::steady_clock::now() < end) complete = grid.takeCompletion();
  over = true;
  worker.join();
  CHECK(complete);
}

#if !defined(ROUSE_ASAN) && !defined(ROUSE_TSAN)
TEST_CASE("a fault outside kernels goes where it went before") {
  installFaultHandlers();
  const pid_t child = fork();
  if (child == 0) {
    *static_cast<volatile int*>(nullptr) = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}
#endif
