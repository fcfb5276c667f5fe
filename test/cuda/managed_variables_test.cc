// Managed variables reached through a table: of text as nvcc writes it, and of text that nobody should.
#include "server/device/cuda/managed_variables.h"

#include <catch2/catch.hpp>
#include <random>
#include <regex>

#include "server/device/cuda/variable_names.h"

using namespace rouse;
using cuda::reachManagedThroughTable;

namespace {

const std::string kHeader = ".version 9.0\n.target sm_75\n.address_size 64\n";
const std::string kTotal = ".global .attribute(.managed) .align 4 .u32 total = 5;\n";
const std::string kTable = ".global .attribute(.managed) .align 4 .b8 table[256];\n";

std::string kernel(const std::string& body) { return ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n" + body + "\tret;\n}\n"; }

cuda::ManagedText rewritten(const std::string& text) {
  auto made = reachManagedThroughTable(text);
  INFO((made ? "" : made.error().message));
  REQUIRE(made.ok());
  return *made;
}

std::string refusal(const std::string& text) {
  const auto made = reachManagedThroughTable(text);
  if (made) return "taken";
  CHECK(made.error().code == CudaError::notSupported);
  return made.error().message;
}

bool names(const std::string& text, const std::string& word) { return std::regex_search(text, std::regex("(^|[^\\w$.%])" + word + "([^\\w$.%]|$)")); }

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a module without managed variables is left as it is") {
  CHECK(rewritten(kHeader + ".global .u32 total;\n" + kernel("\tld.global.u32 %r1, [total];\n")).variables.empty());
  CHECK(rewritten(kHeader + "// .attribute(.managed)\n" + kernel("")).variables.empty());
  CHECK(rewritten("").variables.empty());
}

TEST_CASE("what names a managed variable names its place in the table") {
  const auto made = rewritten(kHeader + kTotal + kTable +
                              kernel("\t.reg .pred %p<2>;\n"
                                     "\tld.global.u32 \t%r1, [total];\n"
                                     "\tld.global.u32 %r2, [table+8];\n"
                                     "\tmov.u64 %rd1, table;\n"
                                     "$L__BB0_1:\n"
                                     "\t@%p1 mov.u64 %rd2, table+16;\n"
                                     "\t@!%p1 mov.b64 %rd2, table+(4*2);\n"
                                     "\tatom.global.add.u32 %r3, [total], %r1;\n"
                                     "\tst.global.v2.u32 [table], {%r1, %r2};\n") +
                              kernel("\tmov.u32 %r1, 1;\n"));
  CHECK(made.variables == std::vector<cuda::ManagedVariable>{{"total", 0}, {"table", 256}});
  CHECK_FALSE(names(made.ptx, "total"));
  CHECK_FALSE(names(made.ptx, "table"));
  CHECK_FALSE(holds(made.ptx, ".managed"));
  CHECK(holds(made.ptx, ".visible .global .align 8 .u64 rouse_managed_places[2];\n.global  .align 4 .u32 rouse_managed_value_total = 5;"));
  CHECK(holds(made.ptx, ".align 4 .b8 rouse_managed_value_table[1];"));
  CHECK(holds(made.ptx, "{\n\t.reg .b64 %rouse_managed_0;\n\tld.global.u64 %rouse_managed_0, [rouse_managed_places+0];"
                        "\n\t.reg .b64 %rouse_managed_1;\n\tld.global.u64 %rouse_managed_1, [rouse_managed_places+8];"));
  CHECK(holds(made.ptx, "ld.global.u32 \t%r1, [%rouse_managed_0];"));
  CHECK(holds(made.ptx, "[%rouse_managed_1+8]"));
  CHECK(holds(made.ptx, "mov.u64 %rd1, %rouse_managed_1;"));
  CHECK(holds(made.ptx, "@%p1 add.s64 %rd2, %rouse_managed_1,16;"));
  CHECK(holds(made.ptx, "@!%p1 add.s64 %rd2, %rouse_managed_1,(4*2);"));
  CHECK(holds(made.ptx, "st.global.v2.u32 [%rouse_managed_1], {%r1, %r2};"));
  // A function that names none is left alone.
  CHECK(holds(made.ptx, ")\n{\n\tmov.u32 %r1, 1;"));
  const auto left = cuda::variablesOfPtx(made.ptx);
  REQUIRE(left.size() == 3);
  for (const auto& variable : left) CHECK(cuda::isOfManaged(variable.name));
  // Once is enough.
  CHECK(rewritten(made.ptx).variables.empty());
}

TEST_CASE("of arrays without a value one element stays on the GPU") {
  const auto zeros = [](const std::string& declaration) {
    const auto made = rewritten(kHeader + ".global .attribute(.managed) .align 8 " + declaration + ";\n");
    REQUIRE(made.variables.size() == 1);
    CHECK(holds(made.ptx, made.variables[0].zeros == 0 ? declaration.substr(declaration.find_first_of("[=")) : "rouse_managed_value_x[1]"));
    return made.variables[0].zeros;
  };
  CHECK(zeros(".b8 x[100]") == 100);
  CHECK(zeros(".f64 x[4][5]") == 160);
  CHECK(zeros(".v4 .f32 x[3]") == 48);
  CHECK(zeros(".b8 x[8589934592]") == std::uint64_t{8} << 30);
  CHECK(zeros(".b8 x[2] = {1, 2}") == 0);
  // What cannot be read is kept.
  CHECK(zeros(".b8 x[4*4]") == 0);
  CHECK(zeros(".b8 x[0x10]") == 0);
  CHECK(zeros(".b64 x[4611686018427387904]") == 0);
  CHECK(zeros(".type x[4]") == 0);
  CHECK(rewritten(kHeader + kTotal).variables[0].zeros == 0);
}

TEST_CASE("functions, blocks within them, lines and debugging information") {
  const auto made = rewritten(kHeader + kTotal +
                              ".func (.param .b32 r) total_of(.param .b64 p) // total\n{\n\t.loc 1 2 total\n\tmov.u64 %rd1, total;\n\t{ // callseq\n"
                              "\tcall.uni (r), f, (total);\n\t}\n$L1:\n\t.loc 1 3 0\n\tret;\n}\n"
                              ".section .debug_info\n{\n.b8 3\n.b64 total\n}\n");
  CHECK(holds(made.ptx, "mov.u64 %rd1, %rouse_managed_0;"));
  CHECK(holds(made.ptx, "f, (%rouse_managed_0);"));
  CHECK(holds(made.ptx, ".b64 rouse_managed_value_total\n"));
  CHECK(holds(made.ptx, "total_of(.param .b64 p) // total\n"));
}

TEST_CASE("what cannot be followed is refused, with the variable and the line") {
  const auto both = [](const std::string& declaration, const std::string& body) { return refusal(kHeader + kTotal + declaration + kernel(body)); };
  CHECK(both(".global .align 8 .u64 pointer = total;\n", "").find("managed variable total, line 5 of its PTX: named by another declaration") == 0);
  CHECK(both(".global .align 8 .u64 pointers[2] = {0, generic(total)};\n", "").find("managed variable total, line 5 of its PTX: its address is another") == 0);
  CHECK(holds(both("", "\tmov.u64 %rd1, total-4;\n"), "line 9 of its PTX: an address near it"));
  CHECK(holds(both("", "\tadd.u64 %rd1, total+4, 1;\n"), "an address near it"));
  CHECK(holds(both("", "\tmov.u32 %r1, total[1];\n"), "an address near it"));
  CHECK(holds(both("", "\t.shared .b8 total[8];\n"), "another thing of the function's"));
  CHECK(holds(both("", "total:\n"), "another thing of the function's"));
  CHECK(holds(both(".alias f, total;\n", ""), "named by another declaration"));
  CHECK(holds(both(".func f(.param .b64 total) { ret; }\n", ""), "named by another declaration"));
  CHECK(holds(both(kTotal, ""), "declared twice"));
  CHECK(holds(both(".global .u32 rouse_managed_places;\n", ""), "the name is kept"));
  CHECK(holds(both("", "\t.reg .b64 %rouse_managed_0;\n"), "the name is kept"));
  CHECK(holds(both(".extern .global .attribute(.managed) .u32 other;\n", ""), "belongs to another module"));
  CHECK(holds(both(".global .attribute(.managed, .unified(1, 2)) .u32 other;\n", ""), "further attributes"));
  CHECK(holds(both(".global .managed;\n", ""), "a declaration without a name"));
}

// Whatever is cut or put together: it ends, and nothing of a managed name is left where it would be undefined.
TEST_CASE("broken text ends in an answer") {
  const std::string whole = kHeader + kTotal + kTable + kernel("\tmov.u64 %rd1, table+16;\n\t@%p1 ld.global.u32 %r1, [total];\n");
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) (void)reachManagedThroughTable(std::string_view(whole).substr(0, bytes));
  const std::vector<std::string> words = {"total", "table", ".global", ".attribute", "(", ".managed", ")", "{", "}", ";", ":", "[", "]", "+", ",", "=", "@", "!",
                                          ".func", ".entry", "mov.u64", ".section", ".extern", "\n", "4", ".loc"};
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? kTotal : "";
    for (int i = static_cast<int>(random() % 24); i > 0; --i) text += words[random() % words.size()] + " ";
    const auto made = reachManagedThroughTable(text);
    if (!made || made->variables.empty()) continue;
    INFO(text);
    for (const auto& [name, zeros] : made->variables) {
      std::string code = std::regex_replace(made->ptx, std::regex("\\.loc[^\n]*"), "");
      CHECK_FALSE(names(code, std::regex_replace(name, std::regex("[$.%]"), "\\$&")));
    }
  }
}
