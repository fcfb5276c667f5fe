// Modules and kernels that do what they should.
#include <algorithm>
#include <chrono>
#include <thread>

#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

TEST_CASE("a module describes its kernels and variables") {
  Bench bench(EACH_BACKEND());
  const Kernels kernels(bench);
  const auto& saxpy = kernels.description().kernels[kernels.function("saxpy")];
  REQUIRE(saxpy.parameters.size() == 4);
  CHECK(saxpy.parameters[0].offset == 0);
  CHECK(saxpy.parameters[1].offset == 8);
  CHECK(saxpy.parameters[2].offset == 16);
  CHECK(saxpy.parameters[3].offset == 24);
  CHECK(saxpy.parameters[3].bytes == 4);
  CHECK(saxpy.parameterBytes == 28);
  CHECK(saxpy.maxThreadsPerBlock == 1024);
  CHECK(saxpy.registers > 0);
  // Where it does not matter, nobody looks.
  CHECK(saxpy.reachesOnlyParameters == !bench.device->properties().arrivesOnDemand);
  CHECK(saxpy.ptxVersion >= 80);
  CHECK(saxpy.binaryVersion >= 80);
  bool constant = false;
  for (const auto& variable : kernels.description().variables) {
    if (variable.name == "coefficients")
      constant = variable.space == memory::VariableSpace::constant && variable.bytes == 16;
  }
  CHECK(constant);
}

TEST_CASE("saxpy over a grid, with copies before and after on its stream") {
  Bench bench(EACH_BACKEND());
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  constexpr std::uint32_t kCount = 1'000'003;
  auto* x = reinterpret_cast<float*>(bench.host(kCount * 4));
  auto* y = reinterpret_cast<float*>(bench.host(kCount * 4));
  for (std::uint32_t i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 7);
  }
  const std::uint64_t dx = bench.allocate(roundUp(kCount * 4, kGranuleBytes));
  const std::uint64_t dy = bench.allocate(roundUp(kCount * 4, kGranuleBytes));
  bench.context->copy(*stream, linear(dx, address(x), kCount * 4));
  bench.context->copy(*stream, linear(dy, address(y), kCount * 4));
  Kernels::Shape shape;
  shape.grid = {(kCount + 255) / 256, 1, 1};
  shape.block = {256, 1, 1};
  kernels.launch(*stream, "saxpy", shape, 2.0f, dx, dy, kCount);
  bench.context->copy(*stream, linear(address(y), dy, kCount * 4));
  REQUIRE(bench.finish(*stream) == CudaError::success);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    if (y[i] != 2.0f * static_cast<float>(i % 1000) + static_cast<float>(i % 7))
      FAIL("element " << i << " is " << y[i]);
  }
}

TEST_CASE("dynamic shared memory and barriers") {
  Bench bench(EACH_BACKEND());
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  constexpr std::uint32_t kBlocks = 100, kThreads = 256;
  auto* in = reinterpret_cast<std::int32_t*>(bench.host(kBlocks * kThreads * 4));
  auto* out = reinterpret_cast<std::int32_t*>(bench.host(kBlocks * 4));
  for (std::uint32_t i = 0; i < kBlocks * kThreads; ++i) in[i] = static_cast<std::int32_t>(i * 2654435761u >> 20);
  Kernels::Shape shape;
  shape.grid = {kBlocks, 1, 1};
  shape.block = {kThreads, 1, 1};
  shape.sharedBytes = kThreads * 4;
  kernels.launch(*stream, "blockSum", shape, address(in), address(out));  // pinned memory, at its own address
  REQUIRE(bench.finish(*stream) == CudaError::success);
  for (std::uint32_t block = 0; block < kBlocks; ++block) {
    std::int32_t sum = 0;
    for (std::uint32_t i = 0; i < kThreads; ++i) sum += in[block * kThreads + i];
    REQUIRE(out[block] == sum);
  }
}

TEST_CASE("variables have their initial values, addresses included, and keep what kernels write") {
  Bench bench(EACH_BACKEND());
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto* out = reinterpret_cast<float*>(bench.host(4096));
  for (int round = 0; round < 3; ++round) {
    kernels.launch(*stream, "variables", {}, address(out));
    REQUIRE(bench.finish(*stream) == CudaError::success);
    CHECK(out[0] == 41.0f + static_cast<float>(round));
    CHECK(out[1] == 1.0f);
    CHECK(out[4] == 1000.0f);
    CHECK(out[5] == 5.0f);
    CHECK(out[6] == 0.0f);
  }
  const auto bytes = bench.read(*stream, kernels.variable("counter"), 4);
  CHECK(bytes[0] == 44);
}

TEST_CASE("instances of one image have their own variables") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Kernels first(bench), second(bench);
  auto stream = bench.context->createStream(0);
  auto* out = reinterpret_cast<float*>(bench.host(4096));
  first.launch(*stream, "variables", {}, address(out));
  first.launch(*stream, "variables", {}, address(out));
  second.launch(*stream, "variables", {}, address(out) + 1024);
  REQUIRE(bench.finish(*stream) == CudaError::success);
  CHECK(out[0] == 42.0f);
  CHECK(out[256] == 41.0f);
}

TEST_CASE("an instance that has been made ready is not made again, and has variables of its own") {
  const std::string kind = EACH_BACKEND();
  Bench one(kind), two(one);
  auto stream = two.context->createStream(0);
  auto image = loadKernels(*one.device);
  REQUIRE(image->instanceReady());
  Kernels first(one, image);
  const bool waits = !image->instanceReady();
  Status prepared;
  std::thread([&] { prepared = image->prepareInstance(); }).join();
  REQUIRE(prepared.ok());
  REQUIRE(image->instanceReady());
  const unsigned long long loads = callsOnDouble("cuLibraryLoadData");
  Kernels second(two, image);
  CHECK(callsOnDouble("cuLibraryLoadData") == loads);
  CHECK(image->instanceReady() == !waits);
  auto* out = reinterpret_cast<float*>(two.host(4096));
  for (int round = 0; round < 2; ++round) {
    second.launch(*stream, "variables", {}, address(out));
    REQUIRE(two.finish(*stream) == CudaError::success);
    CHECK(out[0] == 41.0f + static_cast<float>(round));
  }
  auto other = one.context->createStream(0);
  auto* there = reinterpret_cast<float*>(one.host(4096));
  first.launch(*other, "variables", {}, address(there));
  REQUIRE(one.finish(*other) == CudaError::success);
  CHECK(there[0] == 41.0f);
}

TEST_CASE("printf reaches the observer before the launch is over") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind);
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  Kernels::Shape shape;
  shape.grid = {3, 1, 1};
  shape.block = {64, 1, 1};
  kernels.launch(*stream, "print", shape, std::int32_t{-5});
  REQUIRE(bench.finish(*stream) == CudaError::success);
  const std::string text = bench.observer.output(false);
  for (int block = 0; block < 3; ++block) {
    CHECK(text.find("block " + std::to_string(block) + " of 3: -5 text\n") != std::string::npos);
  }
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
  CHECK(bench.observer.output(true).empty());
}

TEST_CASE("instances of one image launch with as much shared memory as each wants") {
  Bench bench(EACH_BACKEND());
  auto stream = bench.context->createStream(0);
  // Without variables, so that instances may share the code: the first and the last word of what there is, written and read.
  const std::string text = R"(
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 room[];
.visible .entry ends(.param .u64 out, .param .u32 bytes) {
  .reg .u32 %r<6>;
  .reg .u64 %d<3>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [bytes];
  mov.u32 %r2, room;
  add.u32 %r3, %r2, %r1;
  st.shared.u32 [%r2], 1;
  st.shared.u32 [%r3+-4], %r1;
  ld.shared.u32 %r4, [%r2];
  ld.shared.u32 %r5, [%r3+-4];
  add.u32 %r4, %r4, %r5;
  st.global.u32 [%d1], %r4;
  ret;
}
)";
  auto image = bench.device->load(std::as_bytes(std::span(text)));
  if (!image) FAIL(image.error().message);
  std::unique_ptr<memory::ModuleInstance> instances[2];
  for (auto& each : instances) {
    auto made = bench.context->instantiate(*image, {});
    if (!made) FAIL(made.error().message);
    each = std::move(*made);
  }
  auto* out = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  const std::pair<int, std::uint32_t> launches[] = {{0, 100 << 10}, {1, 60 << 10}, {0, 100 << 10}, {1, 16 << 10}, {0, 80 << 10}, {1, 100 << 10}, {0, 0x100}};
  std::size_t count = 0;
  for (const auto& [which, bytes] : launches) {
    const struct {
      std::uint64_t out;
      std::uint32_t bytes;
    } parameters{address(out + count++), bytes};
    memory::LaunchRequest request;
    request.module = instances[which].get();
    request.grid = request.block = {1, 1, 1};
    request.sharedBytes = bytes;
    request.parameters = std::as_bytes(std::span(&parameters, 1)).first(12);
    bench.context->launch(*stream, request);
  }
  REQUIRE(bench.finish(*stream) == CudaError::success);
  CHECK(bench.observer.faults().empty());
  for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == launches[i].second + 1);
}

TEST_CASE("a kernel that spins on memory lets copies, other kernels and the host go on") {
  const std::string kind = EACH_BACKEND();
  for (const std::uint32_t workers : {1u, 2u}) {
    Bench bench(kind, workers);
    Kernels kernels(bench);
    auto waiting = bench.context->createStream(0);
    auto other = bench.context->createStream(0);
    const std::uint64_t flag = bench.allocate(kGranuleBytes);
    auto* seen = reinterpret_cast<std::uint32_t*>(bench.host(4096));
    auto* hostFlag = reinterpret_cast<std::uint32_t*>(bench.host(4096));
    Kernels::Shape shape;
    shape.grid = {8, 1, 1};
    shape.block = {32, 1, 1};

    kernels.launch(*waiting, "waitForFlag", shape, flag, address(seen));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_FALSE(waiting->idle());
    kernels.launch(*other, "setFlag", {}, flag);
    CHECK(bench.finish(*other) == CudaError::success);
    CHECK(bench.finish(*waiting) == CudaError::success);
    CHECK(seen[7] == 9);

    kernels.launch(*waiting, "waitForFlag", shape, flag + 4, address(seen));
    memory::FillShape fill;
    fill.destination = flag + 4;
    fill.width = 1'000'000;
    fill.value = 3;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    bench.context->fill(*other, fill);
    CHECK(bench.finish(*waiting) == CudaError::success);
    CHECK(seen[7] == 0x03030303);

    kernels.launch(*waiting, "waitForFlag", shape, address(hostFlag), address(seen));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    __atomic_store_n(hostFlag, 5u, __ATOMIC_SEQ_CST);
    CHECK(bench.finish(*waiting) == CudaError::success);
    CHECK(seen[0] == 5);
  }
}

TEST_CASE("an urgent kernel that spins does not keep others from the worker") {
  Bench bench(EACH_BACKEND(), 1);
  Kernels kernels(bench);
  auto urgent = bench.context->createStream(-5);
  auto patient = bench.context->createStream(5);
  const std::uint64_t flag = bench.allocate(kGranuleBytes);
  auto* seen = reinterpret_cast<std::uint32_t*>(bench.host(1 << 20));
  // More blocks than the device holds at once: some are not begun.
  kernels.launch(*urgent, "waitForFlag", {{200, 1, 1}, {256, 1, 1}}, flag, address(seen));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kernels.launch(*patient, "setFlag", {}, flag);
  CHECK(bench.finish(*patient) == CudaError::success);
  CHECK(bench.finish(*urgent) == CudaError::success);
  CHECK(seen[199] == 9);
}

TEST_CASE("a short kernel does not wait for the end of a long one") {
  const std::string kind = EACH_BACKEND();
  Bench bench(kind, 1);
  Kernels kernels(bench);
  auto slow = bench.context->createStream(0);
  auto quick = bench.context->createStream(0);
  const std::uint64_t out = bench.allocate(8 * kGranuleBytes);
  // Not over before a busy machine lets this thread look. A GPU begins another kernel's blocks when all of the first one's have begun, so there
  // must be room for both, and it is faster by far.
  Kernels::Shape many;
  many.grid = {computesOnProcessors(kind) ? 8192u : 64u, 1, 1};
  many.block = {128, 1, 1};
  kernels.launch(*slow, "burn", many, out, std::uint32_t{computesOnProcessors(kind) ? 64'000u : 100'000'000u});
  bench.context->signal(*slow, bench.slots[0], 1, false);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kernels.launch(*quick, "burn", {{1, 1, 1}, {32, 1, 1}}, out + 6 * kGranuleBytes, std::uint32_t{10});
  CHECK(bench.finish(*quick) == CudaError::success);
  CHECK(bench.slots[0].value.load() == 0);
  // By one worker, seconds of a processor's, which may have others to serve.
  bench.await(0, 1, std::chrono::seconds(90));
}

TEST_CASE("a cooperative grid meets as a whole") {
  const std::string kind = EACH_BACKEND();
  for (const std::uint32_t workers : {1u, 2u}) {
    Bench bench(kind, workers);
    Kernels kernels(bench);
    auto stream = bench.context->createStream(0);
    const std::uint64_t counters = bench.allocate(kGranuleBytes);
    Kernels::Shape shape;
    shape.grid = {16, 1, 1};
    shape.block = {64, 1, 1};
    shape.cooperative = true;
    kernels.launch(*stream, "gridSync", shape, counters, std::uint32_t{5});
    CHECK(bench.finish(*stream) == CudaError::success);
    CHECK(bench.observer.faults().empty());
    CHECK(bench.read(*stream, counters, 20)[16] == 16);
  }
}

TEST_CASE("blocks of a cluster share their memory, and meet") {
  Bench bench(EACH_BACKEND());
  constexpr std::size_t kClusterLaunch = 120;  // cudaDevAttrClusterLaunch
  if (bench.device->properties().attributes[kClusterLaunch] == 0) return;  // of no GPU before sm_90
  Kernels kernels(bench, loadKernels(*bench.device, "kernels_90.fatbin"));
  auto stream = bench.context->createStream(0);
  constexpr std::uint32_t kBlocks = 16, kThreads = 32;
  auto* out = reinterpret_cast<std::uint32_t*>(bench.host(kBlocks * kThreads * 4));
  for (const std::uint32_t size : {1u, 2u, 4u, 8u}) {
    Kernels::Shape shape;
    shape.grid = {kBlocks, 1, 1};
    shape.block = {kThreads, 1, 1};
    shape.cluster = {size, 1, 1};
    kernels.launch(*stream, "clusterSum", shape, address(out));
    REQUIRE(bench.finish(*stream) == CudaError::success);
    for (std::uint32_t i = 0; i < kBlocks * kThreads; ++i) {
      std::uint32_t sum = 0;
      for (std::uint32_t rank = 0; rank < size; ++rank) sum = sum * 3 + (i / kThreads / size * size + rank) * 100 + i % kThreads;
      REQUIRE(out[i] == sum);
    }
  }
  CHECK(bench.observer.faults().empty());
}

TEST_CASE("loading what is no module says why") {
  const auto device = open(EACH_BACKEND());
  const std::string nonsense = "this is not a module";
  const auto bytes = std::as_bytes(std::span(nonsense));
  auto image = device->load(bytes);
  REQUIRE_FALSE(image.ok());
  CHECK(image.error().message.size() > 10);
  const std::string broken =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f() { frobnicate.u32 %r1; }\n";
  auto second = device->load(std::as_bytes(std::span(broken)));
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().message.find("frobnicate") != std::string::npos);
}
