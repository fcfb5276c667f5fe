// Kernels that go wrong: who is told what, what still works, and that others do not notice.
#include <chrono>
#include <thread>

#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

// Launches something bad, then work behind it; returns what the signal behind it said.
template <class... Arguments>
CudaError faulty(Bench& bench, Kernels& kernels, const std::string& name, const Kernels::Shape& shape,
                 Arguments... arguments) {
  auto stream = bench.context->createStream(0);
  kernels.launch(*stream, name, shape, arguments...);
  return bench.finish(*stream);
}

}  // namespace

TEST_CASE("an illegal access kills the context: later work is dropped, signals come with the error") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto other = bench.context->createStream(0);
  const std::uint64_t memory = bench.allocate(kGranuleBytes);
  bench.context->waitFor(*other, bench.slots[0], 1);  // parked for good
  bench.context->signal(*other, bench.slots[1], 1, false);
  kernels.launch(*stream, "store", {{2, 1, 1}, {32, 1, 1}}, bench.deviceWindow.end() - kGranuleBytes);
  memory::FillShape fill;
  fill.destination = memory;
  fill.width = 100;
  fill.value = 1;
  bench.context->fill(*stream, fill);
  CHECK(bench.finish(*stream) == CudaError::illegalAddress);
  bench.await(1);
  CHECK(static_cast<CudaError>(bench.slots[1].result.load()) == CudaError::illegalAddress);
  bench.context->fill(*stream, fill);
  CHECK(bench.finish(*stream) == CudaError::illegalAddress);
  if (sharesMemory(kind)) CHECK(*reinterpret_cast<std::uint8_t*>(memory) == 0);
  const auto faults = bench.observer.faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].first == CudaError::illegalAddress);
  CHECK(faults[0].second.find("store") != std::string::npos);
}

TEST_CASE("a fault that the hardware cannot contain is told to every context, once, and loses the device") {
  const auto kinds = kindsThat(containsFaults, false);
  if (leftOut(kinds)) return;
  const std::string kind = GENERATE_REF(from_range(kinds));
  Bench bench(kind);
  Kernels kernels(bench);
  Observer observer;
  memory::ContextOptions options;
  options.deviceWindow = freeAddresses(64 * kGranuleBytes);
  auto context = bench.device->createContext(options, observer);
  if (!context.ok()) FAIL(context.error().message);
  auto neighbour = (*context)->createStream(0);
  (*context)->waitFor(*neighbour, bench.slots[6], 1);  // never
  (*context)->signal(*neighbour, bench.slots[5], 1, false);
  CHECK(bench.device->health().ok());
  CHECK(faulty(bench, kernels, "store", {}, bench.deviceWindow.end() - kGranuleBytes) == CudaError::illegalAddress);
  bench.await(5);
  CHECK(static_cast<CudaError>(bench.slots[5].result.load()) == CudaError::illegalAddress);
  REQUIRE(observer.faults().size() == 1);
  CHECK(observer.faults()[0].first == CudaError::illegalAddress);
  CHECK(observer.faults()[0].second.find("store") ==
        std::string::npos);  // other functions' kernels are their own affair
  REQUIRE(bench.observer.faults().size() == 1);
  CHECK(bench.observer.faults()[0].second.find("store") != std::string::npos);
  CHECK(bench.device->health().error().code == CudaError::illegalAddress);
  CHECK((*context)->idle());
  options.deviceWindow = freeAddresses(64 * kGranuleBytes);
  CHECK_FALSE(bench.device->createContext(options, observer).ok());
}

TEST_CASE("faults of one context leave others alone") {
  const auto kinds = kindsThat(containsFaults);
  if (leftOut(kinds)) return;
  const std::string kind = GENERATE_REF(from_range(kinds));
  Bench bench(kind);
  Kernels kernels(bench);
  // A second function on the same device.
  Observer observer;
  memory::ContextOptions options;
  options.deviceWindow = freeAddresses(64 * kGranuleBytes);
  auto context = bench.device->createContext(options, observer);
  if (!context.ok()) FAIL(context.error().message);
  auto neighbour = (*context)->createStream(0);
  const memory::Chunk chunk = bench.device->chunks().back();
  REQUIRE((*context)->map(options.deviceWindow.base, chunk).ok());
  for (int i = 0; i < 10; ++i) {
    memory::FillShape fill;
    fill.destination = options.deviceWindow.base;
    fill.width = chunk.bytes;
    fill.value = static_cast<std::uint32_t>(i);
    (*context)->fill(*neighbour, fill);
    if (i == 3) CHECK(faulty(bench, kernels, "store", {}, std::uint64_t{0}) == CudaError::illegalAddress);
  }
  (*context)->signal(*neighbour, bench.slots[5], 1, false);
  bench.await(5);
  CHECK(bench.slots[5].result.load() == 0);
  CHECK(observer.faults().empty());
  CHECK(*reinterpret_cast<std::uint8_t*>(options.deviceWindow.base) == 9);
}

// Each in a case of its own: a process whose GPU is lost gets no other context of it.
TEST_CASE("a misaligned address has CUDA's error code") {
  Bench bench(EACH_BACKEND());
  Kernels kernels(bench);
  CHECK(faulty(bench, kernels, "store", {}, bench.allocate(kGranuleBytes) + 2) == CudaError::misalignedAddress);
}

TEST_CASE("a trap has CUDA's error code") {
  Bench bench(EACH_BACKEND());
  Kernels kernels(bench);
  CHECK(faulty(bench, kernels, "trap", {}) == CudaError::launchFailure);
}

TEST_CASE("a failed assertion has CUDA's error code") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Kernels kernels(bench);
  CHECK(faulty(bench, kernels, "assertEqual", {}, std::int32_t{1}, std::int32_t{1}) == CudaError::success);
  CHECK(faulty(bench, kernels, "assertEqual", {}, std::int32_t{1}, std::int32_t{2}) == CudaError::assertion);
  if (observesAssertions(kind))
    CHECK(bench.observer.output(true).find("block: [0,0,0], thread: [0,0,0] Assertion `a == b` failed.") != std::string::npos);
}

TEST_CASE("launches that cannot be are refused without killing the context") {
  Bench bench(EACH_BACKEND());
  Kernels kernels(bench);
  const std::uint64_t memory = bench.allocate(kGranuleBytes);
  Kernels::Shape shape;
  shape.sharedBytes = 228 << 10;
  CHECK(faulty(bench, kernels, "blockSum", shape, memory, memory) == CudaError::success);
  shape.sharedBytes = 0;
  shape.grid = {1'000'000, 1, 1};
  shape.block = {1024, 1, 1};
  shape.cooperative = true;
  CHECK(faulty(bench, kernels, "gridSync", shape, memory, std::uint32_t{1}) == CudaError::success);
  const auto faults = bench.observer.faults();
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].first == CudaError::launchOutOfResources);
  const std::int32_t limit = bench.device->properties().attributes[97];  // of shared memory, if asked for
  CHECK(faults[0].second.find("limit " + std::to_string(limit)) != std::string::npos);
  CHECK(faults[1].first == CudaError::cooperativeLaunchTooLarge);
  CHECK(faulty(bench, kernels, "store", {}, memory) == CudaError::success);
  auto stream = bench.context->createStream(0);
  CHECK(bench.read(*stream, memory, 4) == std::vector<std::uint8_t>{7, 0, 0, 0});
}

TEST_CASE("destroying a context stops kernels that spin") {
  const auto kinds = kindsThat(stopsKernels);
  if (leftOut(kinds)) return;
  const std::string kind = GENERATE_REF(from_range(kinds));
  Bench bench(kind);
  {
    Kernels kernels(bench);
    auto stream = bench.context->createStream(0);
    const std::uint64_t flag = bench.allocate(kGranuleBytes);
    kernels.launch(*stream, "waitForFlag", {{4, 1, 1}, {64, 1, 1}}, flag, flag);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  bench.context.reset();
}

TEST_CASE("destroying a context stops kernels that never end") {
  const auto kinds = kindsThat(stopsKernels);
  if (leftOut(kinds)) return;
  const std::string kind = GENERATE_REF(from_range(kinds));
  Bench bench(kind);
  {
    Kernels kernels(bench);
    auto stream = bench.context->createStream(0);
    kernels.launch(*stream, "forever", {{8, 1, 1}, {64, 1, 1}}, bench.allocate(kGranuleBytes));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK_FALSE(stream->idle());
  }
  bench.context.reset();
}
