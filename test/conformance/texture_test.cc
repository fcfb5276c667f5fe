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
