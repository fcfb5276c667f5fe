// Which modules may leave addresses in memory that mean nothing elsewhere.
#include "server/device/cuda/module_ties.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

using namespace rouse;
using cuda::ModuleImage;

namespace {

std::string tiesOf(bool ptx, const std::string& text) {
  const ModuleImage image{ptx, text};
  return cuda::moduleTies(std::span(&image, 1));
}

const std::string kHead = ".version 8.0\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n";

}  // namespace

TEST_CASE("PTX: functions that are only declared, defined and called tie nothing") {
  CHECK(tiesOf(true, ".visible .entry k() { ret; }").empty());
  CHECK(tiesOf(true, kHead + ".visible .entry k() { { .param .b32 r; call (r), vprintf, (a, b); } ret; }").empty());
  CHECK(tiesOf(true, kHead + ".func (.param .b32 x) f(.param .b64 y) { ret; } .entry k() { @%p1 call.uni (x), f, (y); ret; }").empty());
  CHECK(tiesOf(true, ".func f() { ret; } .entry k() { // mov.u64 %rd1, f;\n ret; }").empty());
}

TEST_CASE("PTX: addresses of functions, calls through pointers, and the device heap do") {
  CHECK(tiesOf(true, ".func f() { ret; } .entry k() { mov.u64 %rd1, f; ret; }") == "its kernels handle addresses of functions");
  CHECK(tiesOf(true, ".func f() { ret; } .global .u64 t[1] = {f}; .entry k() { ret; }") != "");
  CHECK(tiesOf(true, ".entry k() { p: .callprototype _ (); call %rd1, (), p; ret; }") != "");
  CHECK(tiesOf(true, ".extern .func (.param .b64 r) malloc (.param .b64 a);\n.entry k() { ret; }") == "its kernels use the device heap");
}

TEST_CASE("machine code that says nothing ties, and what nvcc writes for plain kernels does not") {
  CHECK(tiesOf(false, "") != "");
  CHECK(tiesOf(false, "no machine code") != "");
  std::ifstream file(KERNELS_FATBIN, std::ios::binary);
  REQUIRE(file);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto found = cuda::imagesFor(std::as_bytes(std::span(text)), 80);
  REQUIRE(found.ok());
  for (const ModuleImage& image : *found) {
    INFO((image.ptx ? "PTX" : "machine code"));
    // They have one that follows a pointer to a function, or uses the heap, or none: both must say the same.
    CHECK(tiesOf(image.ptx, image.content) == tiesOf(found->front().ptx, found->front().content));
  }
}
