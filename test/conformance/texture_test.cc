// Texture objects where the driver makes them.
#include "test/conformance/kernels.h"

using namespace rouse;
using namespace rouse::conformance;

namespace {

bool makesTextures(const std::string& kind) { return kind == "cuda"; }

wire::TextureRequest numbers(wire::TextureSource source, std::uint64_t base, std::uint32_t width, std::uint32_t height = 1) {
  wire::TextureRequest request{};
  request.source = source;
  wire::TextureObject& t = request.object;
  t.shape = source == wire::TextureSource::linear ? wire::TextureShape::oneDimension : wire::TextureShape::twoDimensions;
  t.kind = wire::TexelKind::isFloat;
  t.channels = 1;
  t.channelBits = 32;
  t.levels = 1;
  t.level[0] = {base, source == wire::TextureSource::linear ? 0 : width * 4, source == wire::TextureSource::array ? width * 4 * height : 0, width, height, 1, 0};
  for (auto& axis : t.address) axis = wire::TextureAddress::clamp;
  return request;
}

}  // namespace

// Memory becomes accessible with the first work; a driver may look whether it is.
TEST_CASE("a texture can be the first that memory is used for") {
  const auto kinds = kindsThat(makesTextures);
  if (leftOut(kinds)) return;
  for (const auto source : {wire::TextureSource::linear, wire::TextureSource::plane, wire::TextureSource::array}) {
    Bench bench(kinds.front());
    auto made = bench.context->createTexture(numbers(source, bench.allocate(3 * kGranuleBytes), 4096, 300));
    INFO((made ? "" : made.error().message));
    REQUIRE(made.ok());
    CHECK(bench.becomesIdle(*bench.context));
    CHECK(bench.context->destroyTexture(*made).ok());
    CHECK(bench.observer.faults().empty());
  }
}

// As CUDA does: a kernel that runs may be waiting for what the program does next.
TEST_CASE("textures of plain memory are made and ended while kernels run") {
  const auto kinds = kindsThat(makesTextures);
  if (leftOut(kinds)) return;
  Bench bench(kinds.front());
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto* flag = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  auto* seen = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  const std::uint64_t memory = bench.allocate(kGranuleBytes);
  kernels.launch(*stream, "waitForFlag", {}, address(flag), address(seen));
  REQUIRE(!bench.context->idle());
  const auto before = callsOnDouble("cuTexObjectDestroy");
  for (const auto source : {wire::TextureSource::linear, wire::TextureSource::plane}) {
    auto made = bench.context->createTexture(numbers(source, memory, 64));
    REQUIRE(made.ok());
    CHECK(!bench.context->ties().empty());
    CHECK(bench.context->destroyTexture(*made).ok());
    CHECK(bench.context->destroyTexture(*made).error().code == CudaError::invalidValue);
    CHECK(!bench.context->ties().empty());
  }
  // What runs may use them.
  CHECK(!bench.context->idle());
  CHECK(callsOnDouble("cuTexObjectDestroy") == before);
  __atomic_store_n(flag, 5u, __ATOMIC_SEQ_CST);
  CHECK(bench.finish(*stream) == CudaError::success);
  CHECK(seen[0] == 5);
  CHECK(bench.becomesIdle(*bench.context));
  CHECK(bench.context->ties().empty());
  if (onDouble()) CHECK(callsOnDouble("cuTexObjectDestroy") == before + 2);
}

TEST_CASE("an array has what its memory held when the context is idle again, and ends when nothing uses it") {
  const auto kinds = kindsThat(makesTextures);
  if (leftOut(kinds)) return;
  Bench bench(kinds.front());
  Kernels kernels(bench);
  auto stream = bench.context->createStream(0);
  auto* flag = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  auto* seen = reinterpret_cast<std::uint32_t*>(bench.host(4096));
  const std::uint64_t memory = bench.allocate(kGranuleBytes);
  auto made = bench.context->createTexture(numbers(wire::TextureSource::array, memory, 64, 64));
  REQUIRE(made.ok());
  CHECK(bench.becomesIdle(*bench.context));
  const auto before = callsOnDouble("cuTexObjectDestroy"), arrays = callsOnDouble("cuArrayDestroy");
  kernels.launch(*stream, "waitForFlag", {}, address(flag), address(seen));
  CHECK(bench.context->destroyTexture(*made).ok());
  CHECK(callsOnDouble("cuTexObjectDestroy") == before);
  __atomic_store_n(flag, 5u, __ATOMIC_SEQ_CST);
  CHECK(bench.finish(*stream) == CudaError::success);
  CHECK(bench.becomesIdle(*bench.context));
  if (onDouble()) CHECK(callsOnDouble("cuTexObjectDestroy") == before + 1);
  CHECK(callsOnDouble("cuArrayDestroy") == arrays);  // its memory is still the program's array
  bench.context->forgetArray(memory);
  // By a thread that may wait for kernels.
  for (int round = 0; onDouble() && round < 50'000 && callsOnDouble("cuArrayDestroy") == arrays; ++round) usleep(100);
  if (onDouble()) CHECK(callsOnDouble("cuArrayDestroy") == arrays + 1);
  CHECK(bench.context->ties().empty());
}
