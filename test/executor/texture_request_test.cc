// What a client may ask of textures, and what it may not.
#include "server/executor/texture_request.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

using namespace rouse;
using namespace rouse::executor;
using wire::TextureRequest;

namespace {

constexpr std::uint64_t kBase = 0x2000'0000'0000;

// Two levels of a layered plane of floats.
TextureRequest layered() {
  TextureRequest r{};
  r.object.shape = wire::TextureShape::twoDimensions;
  r.object.layers = 3;
  r.object.channels = 1;
  r.object.channelBits = 32;
  r.object.kind = wire::TexelKind::isFloat;
  r.object.levels = 2;
  r.object.level[0] = {kBase, 192, 192 * 20, 37, 20, 1, 0};
  r.object.level[1] = {kBase + 16384, 128, 128 * 10, 18, 10, 1, 0};
  r.source = wire::TextureSource::mipmapped;
  r.arrayFlags = wire::kArrayLayered;
  return r;
}

TextureRequest line() {
  TextureRequest r{};
  r.object.channels = 4;
  r.object.channelBits = 8;
  r.object.levels = r.object.linear = 1;
  r.object.level[0] = {kBase, 0, 0, 1000, 1, 1, 0};
  r.source = wire::TextureSource::linear;
  return r;
}

std::string wrong(const TextureRequest& request) {
  std::vector<AddressRange> memory;
  const char* found = checkTexture(request, memory);
  return found == nullptr ? "" : found;
}

}  // namespace

TEST_CASE("a request names all the memory of its levels, and no more") {
  std::vector<AddressRange> memory;
  REQUIRE(checkTexture(layered(), memory) == nullptr);
  REQUIRE(memory.size() == 2);
  CHECK((memory[0].base == kBase && memory[0].bytes == 2 * 192 * 20 + 19 * 192 + 37 * 4));
  CHECK((memory[1].base == kBase + 16384 && memory[1].bytes == 2 * 128 * 10 + 9 * 128 + 18 * 4));
  memory.clear();
  REQUIRE(checkTexture(line(), memory) == nullptr);
  CHECK((memory.size() == 1 && memory[0].bytes == 4000));

  TextureRequest plane = line();
  plane.source = wire::TextureSource::plane;
  plane.object.shape = wire::TextureShape::twoDimensions;
  plane.object.linear = 0;
  plane.object.level[0] = {kBase, 512, 0, 100, 7, 1, 0};
  memory.clear();
  REQUIRE(checkTexture(plane, memory) == nullptr);
  CHECK(memory[0].bytes == 6 * 512 + 400);

  TextureRequest cube = layered();
  cube.object.shape = wire::TextureShape::cube;
  cube.object.layers = 0;
  cube.object.levels = 1;
  cube.object.level[0] = {kBase, 64, 64 * 16, 16, 16, 1, 0};
  cube.source = wire::TextureSource::array;
  cube.arrayFlags = wire::kArrayCube;
  memory.clear();
  REQUIRE(checkTexture(cube, memory) == nullptr);
  CHECK(memory[0].bytes == 5 * 64 * 16 + 16 * 64);
}

TEST_CASE("requests that no client of ours makes are refused by name") {
  const auto refused = [](const TextureRequest& from, const std::function<void(TextureRequest&)>& change, const char* what) {
    TextureRequest request = from;
    change(request);
    CHECK(wrong(request) == what);
  };
  const TextureRequest good = layered();
  refused(good, [](auto& r) { r.source = wire::TextureSource(4); }, "kind of memory");
  refused(good, [](auto& r) { r.object.shape = wire::TextureShape(4); }, "shape");
  refused(good, [](auto& r) { r.object.levels = 0; }, "levels");
  refused(good, [](auto& r) { r.object.levels = 17; }, "levels");
  refused(good, [](auto& r) { r.object.kind = wire::TexelKind(3); }, "kind of texels");
  refused(good, [](auto& r) { r.object.channels = 3; }, "channels");
  refused(good, [](auto& r) { r.object.channelBits = 64; }, "bits of a channel");
  refused(good, [](auto& r) { r.object.channelBits = 8; }, "bits of a channel of floats");
  refused(good, [](auto& r) { r.object.address[2] = wire::TextureAddress(4); }, "address mode");
  refused(good, [](auto& r) { r.object.filter = 2; }, "a flag that is neither 0 nor 1");
  refused(good, [](auto& r) { r.maxAnisotropy = 17; }, "anisotropy");
  refused(good, [](auto& r) { r.arrayFlags = 16; }, "flags of the array");
  refused(good, [](auto& r) { r.arrayFlags = 0; }, "layers");
  refused(good, [](auto& r) { r.arrayFlags |= wire::kArrayCube; }, "shape of a cube");
  refused(good, [](auto& r) { r.object.shape = wire::TextureShape::threeDimensions; }, "layers of a solid");
  refused(good, [](auto& r) { r.source = wire::TextureSource::array, r.level = 2; }, "level");
  refused(good, [](auto& r) { r.hasView = 1, r.lastLevel = 2; }, "levels of the view");
  refused(good, [](auto& r) { r.hasView = 1, r.firstLayer = 1; }, "layers of the view");
  refused(good, [](auto& r) { r.hasView = 1, r.lastLayer = 3; }, "layers of the view");
  refused(good, [](auto& r) { r.surface = 1; }, "surface of what is no array");
  refused(good, [](auto& r) { r.object.level[1].width = 0; }, "extent");
  refused(good, [](auto& r) { r.object.level[0].height = ~0u; }, "extent");
  refused(good, [](auto& r) { r.object.level[0].depth = 2; }, "depth");
  refused(good, [](auto& r) { r.object.level[0].pitch = 147; }, "pitch");
  refused(good, [](auto& r) { r.object.level[0].pitch = 190; }, "pitch");
  refused(good, [](auto& r) { r.object.level[0].pitch = std::uint64_t{1} << 40; }, "pitch");
  refused(good, [](auto& r) { r.object.level[0].planePitch = 192 * 21; }, "pitch of planes");
  refused(good, [](auto& r) { r.object.level[0].base = ~std::uint64_t{0} - 100; }, "extent in memory");
  refused(good, [](auto& r) { r.object.level[0].pitch = std::uint64_t{1} << 32, r.object.level[0].height = 1 << 17, r.object.level[0].planePitch = std::uint64_t{1} << 49; }, "extent in memory");
  refused(line(), [](auto& r) { r.object.levels = 2; }, "shape of memory that is no array");
  refused(line(), [](auto& r) { r.hasView = 1; }, "shape of memory that is no array");
  refused(line(), [](auto& r) { r.source = wire::TextureSource::plane; }, "shape of memory that is no array");
  refused(line(), [](auto& r) { r.object.level[0].height = 2; }, "height of a line");
}
