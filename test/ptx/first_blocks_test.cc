// Kernels whose first block along an axis sets what the others combine with: recognised, so that it comes first.
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "server/device/cpu/program.h"

namespace rouse::test {
namespace {

constexpr const char* kHead = ".version 8.5\n.target sm_80\n.address_size 64\n";
const std::string kAsksForZ = "mov.u32 %n, %ctaid.z;\nsetp.ne.s32 %p, %n, 0;\n", kStores = "@!%p st.global.u32 [%out], %x;\n", kAdds = "red.global.add.u32 [%out], %x;\n";

std::string kernel(const std::string& body) {
  return ".visible .entry k(.param .u64 pout)\n{\n.reg .b64 %out;\n.reg .b32 %x, %n, %m;\n.reg .pred %p;\n.shared .b32 s;\nld.param.u64 %out, [pout];\nmov.u32 %x, 1;\n" + body + "ret;\n}\n";
}

std::optional<std::uint8_t> along(const std::string& text) {
  const auto program = cpu::Program::translate(kHead + text);
  if (!program) FAIL(program.error().message);
  const auto code = (*program)->compile(0);
  if (!code) FAIL(code.error().message);
  return code->firstSetsAlong;
}

TEST_CASE("a block that is the first along an axis, stores, and adds atomically") {
  CHECK(along(kernel(kAsksForZ + kStores + kAdds)) == 2);
  CHECK(along(kernel("setp.eq.u32 %p, %ctaid.y, 0;\n@%p st.global.u32 [%out], %x;\natom.add.u32 %m, [%out], %x;\n")) == 1);
  CHECK(along(kernel("mov.u32 %n, %tid.x;\nmov.u32 %m, %ctaid.x;\nor.b32 %n, %n, %m;\nsetp.ne.s32 %p, %n, 0;\n" + kStores + kAdds)) == 0);
}

TEST_CASE("what a kernel calls counts") {
  const std::string adds = ".func adds(.param .u64 p)\n{\n.reg .b64 %a;\nld.param.u64 %a, [p];\nred.global.add.u32 [%a], 1;\nret;\n}\n";
  const std::string call = "{\n.param .b64 p;\nst.param.b64 [p], %out;\ncall adds, (p);\n}\n";
  const auto program = cpu::Program::translate(kHead + adds + kernel(kAsksForZ + kStores + call));
  REQUIRE(program.ok());
  const auto code = (*program)->compile(0);
  REQUIRE(code.ok());
  CHECK(code->firstSetsAlong == 2);
}

TEST_CASE("others may begin in any order") {
  CHECK_FALSE(along(kernel(kAsksForZ + kStores)));
  CHECK_FALSE(along(kernel(kAsksForZ + kAdds)));
  CHECK_FALSE(along(kernel("mov.u32 %n, %ctaid.z;\nsetp.ne.s32 %p, %n, 1;\n" + kStores + kAdds)));
  CHECK_FALSE(along(kernel("mov.u32 %n, %tid.z;\nsetp.ne.s32 %p, %n, 0;\n" + kStores + kAdds)));
  CHECK_FALSE(along(kernel(kAsksForZ + "@!%p st.shared.u32 [s], %x;\n" + kAdds)));
  CHECK_FALSE(along(kernel(kAsksForZ + kStores + "atom.shared.add.u32 %m, [s], %x;\n")));
  // The first of all, rather than of a row.
  CHECK_FALSE(along(kernel("mov.u32 %n, %ctaid.x;\nmov.u32 %m, %ctaid.y;\nor.b32 %n, %n, %m;\nsetp.ne.s32 %p, %n, 0;\n" + kStores + kAdds)));
}

}  // namespace
}  // namespace rouse::test
