// What orders streams: events, values in memory, host functions.
#include <atomic>
#include <chrono>
#include <thread>

#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;

namespace {

std::atomic<std::uint64_t>& counter(std::uint8_t* host, std::size_t index) {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(host)[index];
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUstream another() {
  CUstream stream = nullptr;
  REQUIRE(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -1) == CUDA_SUCCESS);
  return stream;
}

void briefly() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

}  // namespace

TEST_CASE("a stream waits for a value that the host writes") {
  Bench bench;
  std::uint8_t* host = bench.host(4096);
  CUdeviceptr mapped = 0;
  REQUIRE(driver().cuMemHostGetDevicePointer(&mapped, host, 0) == CUDA_SUCCESS);
  CHECK(mapped == address(host));
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, mapped, 7, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWriteValue64(bench.stream, mapped + 8, 99, 0) == CUDA_SUCCESS);
  counter(host, 0) = 6;
  briefly();
  CHECK(counter(host, 1) == 0);
  CHECK(driver().cuStreamQuery(bench.stream) == CUDA_ERROR_NOT_READY);
  counter(host, 0) = 8;
  bench.finish();
  CHECK(counter(host, 1) == 99);
  CHECK(driver().cuStreamQuery(bench.stream) == CUDA_SUCCESS);
}

TEST_CASE("a stream waits for a value that another stream writes behind its own work") {
  Bench bench;
  CUstream other = another();
  const CUdeviceptr device = bench.allocate(32 * kMiB);
  std::uint8_t* host = bench.host(4 * kMiB);
  REQUIRE(driver().cuStreamWaitValue64(other, address(host), 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemcpyDtoHAsync(host + kMiB, device + 31 * kMiB, kMiB, other) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemsetD8Async(device, 0x77, 32 * kMiB, bench.stream) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWriteValue64(bench.stream, address(host), 1, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamSynchronize(other) == CUDA_SUCCESS);
  CHECK(host[kMiB] == 0x77);
  CHECK(host[2 * kMiB - 1] == 0x77);
  CHECK(driver().cuStreamDestroy(other) == CUDA_SUCCESS);
}

TEST_CASE("the conditions of a wait") {
  Bench bench;
  std::uint8_t* host = bench.host(4096);
  const auto waits = [&](std::uint64_t now, std::uint64_t value, unsigned condition) {
    counter(host, 0) = now;
    REQUIRE(driver().cuStreamWaitValue64(bench.stream, address(host), value, condition) == CUDA_SUCCESS);
    briefly();
    const bool waiting = driver().cuStreamQuery(bench.stream) == CUDA_ERROR_NOT_READY;
    // Satisfies each of them for the values below.
    counter(host, 0) = condition == CU_STREAM_WAIT_VALUE_NOR ? 0 : value;
    bench.finish();
    return waiting;
  };
  CHECK_FALSE(waits(5, 5, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK(waits(4, 5, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK_FALSE(waits(1, ~std::uint64_t{0}, CU_STREAM_WAIT_VALUE_GEQ));  // cyclic: 2 beyond
  CHECK(waits(6, 5, CU_STREAM_WAIT_VALUE_EQ));
  CHECK(waits(2, 5, CU_STREAM_WAIT_VALUE_AND));
  CHECK_FALSE(waits(4, 5, CU_STREAM_WAIT_VALUE_AND));
  CHECK(waits(~std::uint64_t{1}, 1, CU_STREAM_WAIT_VALUE_NOR));
}

TEST_CASE("an event orders streams, can be asked, and tells time") {
  Bench bench;
  CUstream other = another();
  std::uint8_t* host = bench.host(4096);
  CUevent start = nullptr, end = nullptr;
  REQUIRE(driver().cuEventCreate(&start, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuEventCreate(&end, 0) == CUDA_SUCCESS);
  CHECK(driver().cuEventQuery(end) == CUDA_SUCCESS);  // never recorded
  REQUIRE(driver().cuEventRecord(start, bench.stream) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, address(host), 1, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuEventRecord(end, bench.stream) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWaitEvent(other, end, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWriteValue64(other, address(host) + 8, 1, 0) == CUDA_SUCCESS);
  briefly();
  CHECK(driver().cuEventQuery(end) == CUDA_ERROR_NOT_READY);
  float milliseconds = -1;
  CHECK(driver().cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
  CHECK(counter(host, 1) == 0);
  counter(host, 0) = 1;
  REQUIRE(driver().cuEventSynchronize(end) == CUDA_SUCCESS);
  REQUIRE(driver().cuEventElapsedTime(&milliseconds, start, end) == CUDA_SUCCESS);
  CHECK(milliseconds >= 15);
  CHECK(milliseconds < 10'000);
  REQUIRE(driver().cuStreamSynchronize(other) == CUDA_SUCCESS);
  CHECK(counter(host, 1) == 1);
  CHECK(driver().cuEventDestroy(start) == CUDA_SUCCESS);
  CHECK(driver().cuEventDestroy(end) == CUDA_SUCCESS);
  CHECK(driver().cuStreamDestroy(other) == CUDA_SUCCESS);
}

TEST_CASE("host functions run in order, on a thread of their own") {
  Bench bench;
  std::uint8_t* host = bench.host(4096);
  struct Seen {
    std::uint8_t* host;
    std::thread::id thread;
    std::uint64_t before = 0;
  } seen{host, {}, 0};
  REQUIRE(driver().cuStreamWriteValue64(bench.stream, address(host), 5, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuLaunchHostFunc(
              bench.stream,
              [](void* data) {
                auto& seen = *static_cast<Seen*>(data);
                seen.before = counter(seen.host, 0);
                seen.thread = std::this_thread::get_id();
                briefly();
                counter(seen.host, 1) = 1;
              },
              &seen) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, address(host) + 8, 1, 0) == CUDA_SUCCESS);
  bench.finish();
  CHECK(seen.before == 5);
  CHECK(seen.thread != std::thread::id());
  CHECK(seen.thread != std::this_thread::get_id());
}

TEST_CASE("a destroyed stream finishes what it was given") {
  Bench bench;
  CUstream other = another();
  std::uint8_t* host = bench.host(4096);
  REQUIRE(driver().cuStreamWaitValue64(other, address(host), 1, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWriteValue64(other, address(host) + 8, 3, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamDestroy(other) == CUDA_SUCCESS);
  counter(host, 0) = 1;
  REQUIRE(driver().cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(counter(host, 1) == 3);
}
