// What the double can pretend: a machine where the CUDA device cannot be had, and a GPU that lets it down. Each ends in
// one line that says what is wrong, where, and what to do; the executor's exit code says that there is no device.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "memory/start_failure.h"
#include "server/control/sync_channel.h"
#include "test/conformance/kernels.h"
#include "test/conformance/variable.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

struct Ended {
  int code = -1;
  Error reason{CudaError::success, {}};  // as the daemon is told
  std::string text;                      // on standard error
};

// rouse-executor --device cuda with these variables, until it ends by itself.
Ended runExecutor(const std::map<std::string, std::string>& environment, std::vector<std::string> more = {}) {
  int sockets[2], output[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  REQUIRE(pipe2(output, O_CLOEXEC) == 0);
  std::vector<std::string> words{besideThisProgram("../bin/rouse-executor"),
                                 "--device",
                                 "cuda",
                                 "--backend-dir",
                                 besideThisProgram("../lib/rouse-backends"),
                                 "--control-fd",
                                 std::to_string(sockets[0])};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(output[1], STDERR_FILENO);
    close(sockets[1]);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execv(arguments[0], arguments.data());
    _exit(99);
  }
  close(output[1]);
  close(sockets[0]);
  Ended ended;
  {
    channel::SyncChannel daemon{wire::OwnedFd(sockets[1])};
    auto said = daemon.receive();
    if (said && *said && (*said)->id == 0)
      if (const auto* error = std::get_if<Error>(&(*said)->body)) ended.reason = *error;
  }  // the daemon is gone: an executor that has a device ends, too
  char buffer[4096];
  for (ssize_t got; (got = read(output[0], buffer, sizeof buffer)) > 0;)
    ended.text.append(buffer, static_cast<std::size_t>(got));
  close(output[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ended;
}

void checkRefused(const Ended& ended, CudaError code, const std::vector<std::string>& parts) {
  const std::string& reason = ended.reason.message;
  INFO(reason);
  CHECK(ended.code == 3);
  CHECK(ended.text == "");
  CHECK(ended.reason.code == code);
  CHECK(std::count(reason.begin(), reason.end(), '\n') == 0);
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(reason.find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("an executor without a CUDA device tells the daemon why in one line and exits with 3") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to fail");
  checkRefused(runExecutor({{"ROUSE_LIBCUDA", "/nowhere/libcuda.so.1"}}), memory::kNoDriver,
               {"no CUDA driver", "/nowhere", "ROUSE_LIBCUDA"});
  checkRefused(runExecutor({{"ROUSE_DOUBLE_DEVICES", "0"}}), memory::kNoGpu, {"no GPU", "nvidia-smi"});
  checkRefused(runExecutor({}, {"--ordinal", "3"}), memory::kNoSuchGpu, {"GPU 3", "there are 1"});
  checkRefused(runExecutor({{"ROUSE_DOUBLE_DRIVER_VERSION", "12040"}}), memory::kDriverTooOld,
               {"12.4", "13.0", "install"});
  checkRefused(runExecutor({{"ROUSE_DOUBLE_EXCLUSIVE", "1"}}), memory::kGpuTaken,
               {"GPU 0", "exclusive", "nvidia-smi -c DEFAULT"});
  checkRefused(runExecutor({{"ROUSE_DOUBLE_PROHIBITED", "1"}}), memory::kGpuTaken,
               {"GPU 0", "PROHIBITED", "nvidia-smi -c DEFAULT"});
  checkRefused(runExecutor({{"ROUSE_DOUBLE_PINNED_BYTES", "1000000"}}), memory::kNotPinned,
               {"GPU 0", "could not be pinned", "RLIMIT_MEMLOCK"});
  checkRefused(runExecutor({{"ROUSE_DOUBLE_FREE_BYTES", "10000000"}}), memory::kGpuFull,
               {"GPU 0", "too full", "8 MiB", "stop them"});
  // A large one keeps more for the driver.
  checkRefused(runExecutor({{"ROUSE_DOUBLE_MEMORY_BYTES", "85899345920"}, {"ROUSE_DOUBLE_FREE_BYTES", "4000000000"}}), memory::kGpuFull,
               {"GPU 0", "too full", "4096 MiB for the driver"});
  checkRefused(runExecutor({}, {"--memory", "1099511627776"}), memory::kGpuFull,
               {"GPU 0", "too full", "1048576 MiB", "less memory"});
}

TEST_CASE("an executor with a CUDA device serves until its daemon goes") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to fail");
  const Ended ended = runExecutor({});
  INFO(ended.text);
  CHECK(ended.code == 0);
  CHECK(ended.text.find("violation") == std::string::npos);
}

TEST_CASE("less pinned memory than is needed is an error that names the limit") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to fail");
  const auto device = open("cuda");
  Observer observer;
  memory::ContextOptions options;
  options.deviceWindow = freeAddresses(64 * kGranuleBytes);
  {
    const Variable none("ROUSE_DOUBLE_PINNED_BYTES", "0");
    auto context = device->createContext(options, observer);
    REQUIRE_FALSE(context.ok());
    CHECK(context.error().message.find("could not be pinned") != std::string::npos);
    CHECK(context.error().message.find("limit on locked memory") != std::string::npos);
  }
  options.hostWindow = freeAddresses(std::uint64_t{1} << 30);
  options.hostFd = memfd_create("host-window", MFD_CLOEXEC);
  REQUIRE(ftruncate(options.hostFd, std::int64_t{1} << 30) == 0);
  auto context = device->createContext(options, observer);  // nothing was left behind
  REQUIRE(context.ok());
  const AddressRange range{options.hostWindow.base, 64 << 20};
  {
    const Variable little("ROUSE_DOUBLE_PINNED_BYTES", "16777216");
    const Status status = (*context)->mapHost(range);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().message.find(std::to_string(range.bytes)) != std::string::npos);
    CHECK(status.error().message.find("RLIMIT_MEMLOCK") != std::string::npos);
  }
  CHECK((*context)->mapHost(range).ok());
  context->reset();
  close(options.hostFd);
}

TEST_CASE("a driver that unmaps one mapping a call is asked so often") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to fail");
  for (const bool single : {false, true}) {
    const Variable variable("ROUSE_DOUBLE_SINGLE_UNMAP", single ? "1" : "0");
    Bench bench("cuda");
    auto stream = bench.context->createStream(0);
    const std::uint64_t memory = bench.allocate(4 * kGranuleBytes);
    memory::FillShape fill;
    fill.destination = memory;
    fill.width = 4 * kGranuleBytes;
    bench.context->fill(*stream, fill);
    REQUIRE(bench.finish(*stream) == CudaError::success);
    for (int round = 0; round < 2; ++round) {
      // From the second on, so that it is a part of a run.
      const AddressRange range{memory + kGranuleBytes, 3 * kGranuleBytes};
      REQUIRE(bench.context->unmap(range).ok());
      CHECK_FALSE(bench.context->unmap({range.base, kGranuleBytes}).ok());
      for (std::uint32_t i = 1; i < 4; ++i)
        REQUIRE(bench.context->map(memory + i * kGranuleBytes, bench.device->chunks()[i]).ok());
      bench.context->fill(*stream, fill);
      REQUIRE(bench.finish(*stream) == CudaError::success);
    }
  }
}

TEST_CASE("the n-th launch that fails loses the device; what was before it is done, what is behind it is not") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to fail");
  const Variable third("ROUSE_DOUBLE_FAULT_LAUNCH", "3");
  Bench bench("cuda");
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  const std::uint64_t memory = bench.allocate(kGranuleBytes);
  for (std::size_t i = 0; i < 5; ++i) {
    kernels.launch(*stream, "store", {}, memory + 4 * i);
    bench.context->signal(*stream, bench.slots[i], 1, true);
  }
  bench.await(4);
  CHECK(bench.slots[1].result.load() == 0);
  for (const std::size_t i : {2u, 3u, 4u})
    CHECK(static_cast<CudaError>(bench.slots[i].result.load()) == CudaError::illegalAddress);
  REQUIRE(bench.observer.faults().size() == 1);
  CHECK(bench.observer.faults()[0].first == CudaError::illegalAddress);
  CHECK(bench.observer.faults()[0].second.find("all functions on GPU 0") != std::string::npos);
  CHECK_FALSE(bench.device->health().ok());
  CHECK(bench.finish(*stream) == CudaError::illegalAddress);
  CHECK(stream->idle());
}

// CUDA_ERROR_UNKNOWN says of a context that it may be lost; kernels of it may go on all the same.
TEST_CASE("a device that is lost for a reason nobody knows does not wait for kernels that run") {
  if (!onDouble()) return leaveOut("a real driver cannot be told to fail");
  Bench bench("cuda");
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto* flag = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  auto* seen = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  const std::uint64_t next = bench.allocate(kGranuleBytes) + kGranuleBytes;
  kernels.launch(*stream, "waitForFlag", {}, address(flag), address(seen));
  bench.context->signal(*stream, bench.slots[0], 1, false);
  REQUIRE_FALSE(stream->idle());
  {
    const Variable unknown("ROUSE_DOUBLE_UNKNOWN_CALL", "cuMemMap");
    const auto waits = callsOnDouble("cuCtxSynchronize");
    const Status status = bench.context->map(next, bench.device->chunks().back());
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == CudaError::unknown);
    CHECK(callsOnDouble("cuCtxSynchronize") == waits);
  }
  CHECK_FALSE(bench.device->health().ok());
  REQUIRE(bench.observer.faults().size() == 1);
  CHECK(bench.observer.faults()[0].second.find("waitForFlag") != std::string::npos);
  CHECK(static_cast<CudaError>(bench.slots[0].result.load()) == CudaError::unknown);
  CHECK(seen[0] == 0);
  __atomic_store_n(flag, 5u, __ATOMIC_SEQ_CST);
  // Nobody is told any more: a little later it has ended.
  for (int round = 0; round < 5000 && __atomic_load_n(seen, __ATOMIC_SEQ_CST) == 0; ++round) usleep(1000);
  CHECK(seen[0] == 5);
  usleep(200'000);
}
