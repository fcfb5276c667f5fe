// Functions that need what is not covered, in modules that have others: those run, and who wants to run these is told what they need.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/device/cpu/program.h"

namespace rouse::test {
namespace {

constexpr std::string_view kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

std::string kernel(const std::string& name, const std::string& body, const std::string& directives = "") {
  return ".visible .entry " + name + "(.param .u64 pout, .param .u32 pin)\n" + directives + "{\n.reg .b64 %out;\n.reg .b32 %x, %y;\nld.param.u64 %out, [pout];\nld.param.u32 %x, [pin];\n" + body +
         "st.global.u32 [%out], %x;\nret;\n}\n";
}

std::unique_ptr<cpu::Program> load(const std::string& text) {
  auto program = cpu::Program::translate(kHead.data() + text, {.leavesOut = true});
  if (!program) FAIL(program.error().message);
  return std::move(program).value();
}

std::string refusal(const std::string& text) {
  const auto program = cpu::Program::translate(kHead.data() + text, {.leavesOut = true});
  REQUIRE_FALSE(program.ok());
  return program.error().message;
}

std::string refusal(cpu::Program& program, std::uint32_t kernel) {
  const auto code = program.compile(kernel);
  REQUIRE_FALSE(code.ok());
  CHECK(code.error().code == CudaError::notSupported);
  return code.error().message;
}

const std::string kGood = kernel("good", "add.u32 %x, %x, 1;\n");
// In braces of an operand, behind a block and a label, with a register and a shared variable of its own.
const std::string kOdd = kernel("odd", "{\n.reg .b32 %z<3>;\n.shared .b32 own[4];\nL1: mov.b64 %out, {%z0, %nothing};\ntcgen05.wait::ld.sync.aligned;\nbra L1;\n}\n");
const std::string kUncovered = kernel("uncovered", "{\nL1: tcgen05.wait::ld.sync.aligned;\n{ bra L1; }\n}\n");

}  // namespace

TEST_CASE("a kernel that is not covered leaves the others of its module, whichever comes first") {
  for (const std::string& text : {kGood + kUncovered, kUncovered + kGood}) {
    const auto program = load(text);
    const auto& kernels = program->description().kernels;
    REQUIRE(kernels.size() == 2);
    for (std::uint32_t k = 0; k < 2; ++k) {
      CHECK(kernels[k].parameterBytes == 12);
      if (kernels[k].name == "good")
        CHECK(program->compile(k).ok());
      else
        CHECK(refusal(*program, k).find("tcgen05.wait::ld.sync.aligned") != std::string::npos);
    }
  }
}

TEST_CASE("what is malformed is refused with all of its module, also behind what is not covered") {
  CHECK(refusal(kGood + kOdd).find("%nothing") != std::string::npos);
  CHECK(refusal(kGood + kUncovered + "}\n").find("expected") != std::string::npos);
  CHECK(refusal(kGood + ".visible .entry open()\n{\ntcgen05.wait::ld.sync.aligned;\n").find("without an end") != std::string::npos);
}

TEST_CASE("a module none of whose kernels is covered is refused, and one without kernels") {
  CHECK(refusal(kUncovered).find("tcgen05") != std::string::npos);
  CHECK(refusal(".visible .func f()\n{\ntcgen05.wait::ld.sync.aligned;\nret;\n}\n").find("tcgen05") != std::string::npos);
}

TEST_CASE("who calls a function that is not covered is not, either: defined so, not defined at all, by a pointer") {
  const std::string call = "{\ncall.uni f, ();\n}\n";
  const std::string uncovered = ".func f()\n{\ntcgen05.wait::ld.sync.aligned;\nret;\n}\n";
  const auto defined = load(uncovered + kGood + kernel("calls", call));
  CHECK(defined->compile(0).ok());
  CHECK(refusal(*defined, 1).find("tcgen05") != std::string::npos);

  const auto missing = load(".extern .func f();\n" + kernel("calls", call) + kGood);
  CHECK(refusal(*missing, 0).find("'f' is not defined in the module") != std::string::npos);
  CHECK(missing->compile(1).ok());

  const std::string indirect = "{\n.reg .b64 %f;\nmov.u64 %f, f;\nproto: .callprototype _ ();\ncall %f, (), proto;\n}\n";
  const auto pointer = load(uncovered + kGood + kernel("calls", indirect));
  CHECK(pointer->compile(0).ok());
  CHECK(refusal(*pointer, 1).find("tcgen05") != std::string::npos);
}

TEST_CASE("nothing of a function that was left out is in the way of those behind it") {
  const std::string text = kernel("uncovered", ".reg .b32 %z<3>;\nL1: tcgen05.wait::ld.sync.aligned;\n") + kernel("good", ".reg .b32 %z<5>;\nL1: mov.u32 %z4, 5;\nadd.u32 %x, %x, %z4;\n");
  const auto program = load(text);
  const auto code = program->compile(1);
  REQUIRE(code.ok());
  CHECK(refusal(*program, 0).find("PTX line 11") != std::string::npos);
}

}  // namespace rouse::test
