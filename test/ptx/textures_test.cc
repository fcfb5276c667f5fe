// Texture and surface instructions: which forms there are, what is refused and named, and single fetches on the real runtime. Filters and
// shapes are test/programs/textures*.cu's.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "schemas/wire/texture.h"
#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

// Registers of each kind; %t is the object, %out where results go.
std::string kernelAround(std::string_view body) {
  return ".version 8.5\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 pt, .param .u64 pout)\n{\n"
         ".reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .f32 %f<16>;\n.reg .b64 %q<8>;\n.reg .b64 %t, %out;\n"
         "ld.param.u64 %t, [pt];\nld.param.u64 %out, [pout];\n" +
         std::string(body) + "\nret;\n}\n";
}

std::string refusalOf(std::string_view body) {
  const auto program = cpu::Program::translate(kernelAround(body));
  return program ? "" : program.error().message;
}

Error run(std::string_view body, const void* object, void* out) {
  auto program = cpu::Program::translate(kernelAround(body));
  if (!program) return program.error();
  auto code = (*program)->compile(0);
  if (!code) return code.error();
  cpu::Launch request;
  request.entry = code->entry;
  request.block = {1, 1, 1};
  request.workers = 1;
  const std::array<std::uint64_t, 2> parameters{reinterpret_cast<std::uint64_t>(object), reinterpret_cast<std::uint64_t>(out)};
  return cpu::run(request, parameters);
}

// 4 x 2 bytes of 10 to 17.
struct Plane {
  std::array<std::uint8_t, 8> texels{10, 11, 12, 13, 14, 15, 16, 17};
  wire::TextureObject object{};
  Plane() {
    object.shape = wire::TextureShape::twoDimensions;
    object.channels = 1;
    object.channelBits = 8;
    object.levels = 1;
    object.level[0] = {reinterpret_cast<std::uint64_t>(texels.data()), 4, 8, 4, 2, 1, 0};
    for (auto& axis : object.address) axis = wire::TextureAddress::clamp;
  }
};

}  // namespace

TEST_CASE("forms of texture and surface instructions that nvcc emits are covered") {
  for (const char* body : {
           "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%t, {%r1}];",
           "tex.2d.v4.u32.f32 {%r1,%r2,%r3,%r4}, [%t, {%f1,%f2}];",
           "tex.3d.v4.s32.f32 {%r1,%r2,%r3,%r4}, [%t, {%f1,%f2,%f3,%f3}];",
           "tex.a1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%r1,%f2}];",
           "tex.acube.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%r1,%f1,%f2,%f3}];",
           "tex.level.a2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%r1,%f1,%f2,%f2}], %f3;",
           "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1,%f2}], {%f1,%f2}, {%f2,%f3};",
           "tld4.a.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1,%f2}];",
           "txq.width.b32 %r1, [%t];",
           "suld.b.2d.v4.b16.trap {%h1,%h2,%h3,%h4}, [%t, {%r1,%r2}];",
           "suld.b.1d.b8.zero {%h1}, [%t, {%r1}];",
           "suld.b.3d.v2.b64.clamp {%q1,%q2}, [%t, {%r1,%r2,%r3,%r3}];",
           "sust.b.a2d.v4.b32.trap [%t, {%r1,%r2,%r3,%r3}], {%r1,%r2,%r3,%r4};",
       }) {
    INFO(body);
    CHECK(refusalOf(body) == "");
  }
}

TEST_CASE("what is not covered is refused with its line") {
  for (const char* body : {
           "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1}];",            // too few coordinates
           "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t];",                   // none
           "tex.2d.v4.f32.f32 {%f1,%f2,%f3}, [%t, {%f1,%f2}];",            // too few results
           "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%r1, {%f1,%f2}];",       // no object
           "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t+8, {%f1,%f2}];",      // nor an address
           "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, %t, {%f1,%f2}];",    // a sampler of its own
           "tex.2d.v2.f16x2.f32 {%r1,%r2}, [%t, {%f1,%f2}];",              // halves
           "tex.2dms.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1,%f2,%f3,%f3}];",
           "tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1,%f2}], {%f1}, {%f2};",
           "suld.b.2d.v4.b64.trap {%q1,%q2,%q3,%q4}, [%t, {%r1,%r2}];",
           "sust.p.2d.v4.b32.trap [%t, {%r1,%r2}], {%r1,%r2,%r3,%r4};",
           "ld.global.b32 %r1, [%t, {%r1}];",
       }) {
    INFO(body);
    CHECK_THAT(refusalOf(body), Catch::Contains("line 13"));
  }
}

TEST_CASE("a texel, by kind of result and at the edge") {
  Plane plane;
  alignas(16) std::array<std::uint32_t, 4> out{};
  const char* store = "st.global.v4.b32 [%out], {%r1,%r2,%r3,%r4};";
  REQUIRE(run(std::string("mov.f32 %f1, 0f40200000; mov.f32 %f2, 0f3FC00000; tex.2d.v4.u32.f32 {%r1,%r2,%r3,%r4}, [%t, {%f1,%f2}];") + store,
              &plane.object, out.data())
              .code == CudaError::success);
  CHECK(out == std::array<std::uint32_t, 4>{16, 0, 0, 1});
  plane.object.normalizedValues = 1;
  plane.object.filter = 1;
  alignas(16) std::array<float, 4> floats{};
  REQUIRE(run("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F800000; tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1,%f2}];"
              "st.global.v4.f32 [%out], {%f1,%f2,%f3,%f4};",
              &plane.object, floats.data())
              .code == CudaError::success);
  CHECK(floats[0] == Approx((10 + 11 + 14 + 15) / 4.0 / 255));
  std::uint32_t width = 0;
  REQUIRE(run("txq.height.b32 %r1, [%t]; st.global.b32 [%out], %r1;", &plane.object, &width).code == CudaError::success);
  CHECK(width == 2);
}

TEST_CASE("a fetch so little below a texel's middle that its fraction rounds to 1 is of that texel") {
  Plane plane;
  plane.object.normalizedValues = 1;
  plane.object.filter = 1;
  plane.object.address[0] = plane.object.address[1] = wire::TextureAddress::border;
  for (const char* coordinates : {"mov.f32 %f1, 0f3EFFFFFF; mov.f32 %f2, 0f3F000000;", "mov.f32 %f1, 0f3F000000; mov.f32 %f2, 0f3EFFFFFF;"}) {
    alignas(16) std::array<float, 4> floats{};
    REQUIRE(run(std::string(coordinates) + "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1,%f2}]; st.global.v4.f32 [%out], {%f1,%f2,%f3,%f4};",
                &plane.object, floats.data())
                .code == CudaError::success);
    CHECK(floats[0] == Approx(10.0 / 255));
  }
}

TEST_CASE("a store beyond a surface ends the launch, or goes nowhere") {
  Plane plane;
  std::uint32_t out = 0;
  CHECK(run("mov.b32 %r1, 3; mov.b32 %r2, 1; mov.b32 %r3, 0x12345678; sust.b.2d.b32.zero [%t, {%r1,%r2}], {%r3};", &plane.object, &out).code ==
        CudaError::success);
  CHECK(plane.texels[7] == 17);
  const Error error = run("mov.b32 %r1, 3; mov.b32 %r2, 1; mov.b32 %r3, 1; sust.b.2d.b32.trap [%t, {%r1,%r2}], {%r3};", &plane.object, &out);
  CHECK(error.code == CudaError::illegalAddress);
  CHECK_THAT(error.message, Catch::Contains("outside of a surface"));
  CHECK(run("mov.b32 %r1, 7; mov.b32 %r2, -1; mov.b16 %h1, 99; sust.b.2d.b8.clamp [%t, {%r1,%r2}], {%h1};", &plane.object, &out).code ==
        CudaError::success);
  CHECK(plane.texels[3] == 99);
}

TEST_CASE("an object that is none is a bad address of the kernel's") {
  std::uint32_t out = 0;
  CHECK(run("mov.f32 %f1, 0f00000000; tex.1d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%t, {%f1}]; st.global.f32 [%out], %f1;", nullptr, &out).code ==
        CudaError::illegalAddress);
}

}  // namespace rouse::test
