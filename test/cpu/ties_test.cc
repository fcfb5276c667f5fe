// What of a module and a context is true in this process alone.
#include <catch2/catch.hpp>
#include <string>

#include "server/device/cpu/module_instance.h"

using namespace rouse;

namespace {

const std::string kHead = ".version 7.8\n.target sm_80\n.address_size 64\n";

std::string tiesOf(const std::string& body) {
  const std::string text = kHead + body;
  auto image = cpu::loadImage(std::as_bytes(std::span(text)));
  if (!image.ok()) FAIL(image.error().message);
  return (*image)->ties();
}

}  // namespace

TEST_CASE("modules whose kernels handle addresses of functions are tied to the process, others are not") {
  CHECK(tiesOf(".visible .entry k() { ret; }").empty());
  CHECK(tiesOf(".global .align 8 .u64 table[2];\n.visible .entry k() { ret; }").empty());
  CHECK(tiesOf(".func f() { ret; }\n.visible .entry k() { call f; ret; }").empty());
  CHECK_FALSE(tiesOf(".func f() { ret; }\n.visible .entry k() { .reg .b64 %a; mov.u64 %a, f; ret; }").empty());
  CHECK_FALSE(tiesOf(".func f() { ret; }\n.global .align 8 .u64 table[1] = {f};\n.visible .entry k() { ret; }").empty());
}
