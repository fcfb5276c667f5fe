// ldmatrix, stmatrix, movmatrix: elements at the ISA's places, rows anywhere, bad addresses named.
#include <catch2/catch.hpp>
#include <cstring>

#include "test/ptx/matrix_warp.h"

using namespace rouse::test;

namespace {

using Halves = std::vector<std::uint16_t>;

// PTX ISA, "ldmatrix": lane l has of each matrix row l / 4, elements 2 (l % 4) and the next; with .trans of its transpose.
std::uint32_t expected(const Halves& matrix, bool transposed, unsigned lane) {
  const auto at = [&](unsigned row, unsigned column) { return std::uint32_t{matrix[transposed ? column * 8 + row : row * 8 + column]}; };
  return at(lane / 4, lane % 4 * 2) | at(lane / 4, lane % 4 * 2 + 1) << 16;
}

std::string vectorOf(unsigned count) {
  std::string text = "{%r0";
  for (unsigned i = 1; i < count; ++i) text += ", %r" + std::to_string(i);
  return text + "}";
}

// A lane's words of the test's memory are 16 bytes apart.
std::string words(const char* verb, unsigned count, const char* base) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) {
    const std::string reg = "%r" + std::to_string(i), memory = "[" + std::string(base) + "+" + std::to_string(4 * i) + "]";
    text += verb + std::string(".global.b32 ") + (*verb == 'l' ? reg + ", " + memory : memory + ", " + reg) + ";\n";
  }
  return text;
}

// %r10: where in `tile` this lane's row is: rows are 48 bytes apart and in descending order.
const std::string kRow = "mov.u32 %r10, tile;\nsub.u32 %r11, 31, %lane;\nmad.lo.u32 %r10, %r11, 48, %r10;\n";
const std::string kOwn = "mad.lo.u64 %at, %lane64, 16, %in;\nmad.lo.u64 %out, %lane64, 16, %out;\n";
const std::string kMeet = "bar.warp.sync 0xffffffff;\n";

Halves numbers(std::size_t count) {
  Halves values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(i * 2654435761u >> 7);
  return values;
}

std::vector<Halves> matricesOf(const Halves& rows) {
  std::vector<Halves> matrices;
  for (unsigned i = 0; i < 4; ++i) matrices.emplace_back(rows.begin() + i * 64, rows.begin() + (i + 1) * 64);
  return matrices;
}

}  // namespace

TEST_CASE("ldmatrix: one, two and four matrices, plain and transposed, by either kind of address") {
  const Halves rows = numbers(256);  // lane l brings the row of eight at 8 l
  for (const unsigned count : {1u, 2u, 4u})
    for (const bool transposed : {false, true})
      for (const char* space : {".shared", ".shared::cta", ""}) {
        const std::string instruction = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + space + ".b16 ";
        // Lanes beyond the matrices bring an address that leads nowhere.
        std::string address = "setp.ge.u32 %p0, %lane, " + std::to_string(8 * count) + ";\n@%p0 mov.u32 %r10, 0x7ffffff1;\n";
        std::string operand = "[%r10]";
        if (*space == 0) {
          address += "cvt.u64.u32 %at, %r10;\ncvta.shared.u64 %at, %at;\n";
          operand = "[%at]";
        }
        Halves out(256);
        mustRunWarp(kernelAround(kOwn + words("ld", 4, "%at") + kRow + "st.shared.v4.b32 [%r10], {%r0, %r1, %r2, %r3};\n" + kMeet + address +
                                 instruction + vectorOf(count) + ", " + operand + ";\n" + words("st", count, "%out")),
                    rows.data(), out.data());
        const auto matrices = matricesOf(rows);
        for (unsigned lane = 0; lane < kLanes; ++lane)
          for (unsigned i = 0; i < count; ++i) {
            std::uint32_t got = 0;
            std::memcpy(&got, &out[lane * 8 + i * 2], 4);
            INFO(instruction << " lane " << lane << " matrix " << i);
            CHECK(got == expected(matrices[i], transposed, lane));
          }
      }
}

TEST_CASE("stmatrix is the way back") {
  const Halves rows = numbers(256);
  for (const unsigned count : {1u, 2u, 4u})
    for (const bool transposed : {false, true}) {
      const std::string instruction = "stmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 ";
      // Lane l's word i is its part of matrix i.
      const auto matrices = matricesOf(rows);
      std::vector<std::uint32_t> in(128), out(128);
      for (unsigned lane = 0; lane < kLanes; ++lane)
        for (unsigned i = 0; i < 4; ++i) in[lane * 4 + i] = expected(matrices[i], transposed, lane);
      mustRunWarp(kernelAround(kOwn + words("ld", 4, "%at") + kRow + "st.shared.v4.b32 [%r10], {%r63, %r63, %r63, %r63};\n" + kMeet +
                               instruction + "[%r10], " + vectorOf(count) + ";\n" + kMeet +
                               "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%r10];\n" + words("st", 4, "%out")),
                  in.data(), out.data());
      std::vector<std::uint32_t> wanted(128);
      std::memcpy(wanted.data(), rows.data(), count * 128);
      INFO(instruction);
      CHECK(out == wanted);
    }
}

TEST_CASE("movmatrix transposes in registers") {
  const Halves matrix = numbers(64);
  std::vector<std::uint32_t> in(128), out(128);
  for (unsigned lane = 0; lane < kLanes; ++lane) in[lane * 4] = expected(matrix, false, lane);
  mustRunWarp(kernelAround(kOwn + words("ld", 1, "%at") + "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n" + words("st", 1, "%out")), in.data(),
              out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane) CHECK(out[lane * 4] == expected(matrix, true, lane));
}

TEST_CASE("lanes that come by different ways meet, those that do not come are a deadlock") {
  const Halves matrix = numbers(64);
  std::vector<std::uint32_t> in(128), out(128);
  for (unsigned lane = 0; lane < kLanes; ++lane) in[lane * 4] = expected(matrix, false, lane);
  const std::string move = "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n";
  mustRunWarp(kernelAround(kOwn + words("ld", 1, "%at") + "and.b32 %r20, %lane, 1;\nsetp.eq.u32 %p0, %r20, 0;\n@%p0 bra even;\n" + move +
                           "bra both;\neven:\n" + move + "both:\n" + words("st", 1, "%out")),
              in.data(), out.data(), kLanes, true);
  for (unsigned lane = 0; lane < kLanes; ++lane) CHECK(out[lane * 4] == expected(matrix, true, lane));
  const std::string failure = runWarp(
      kernelAround("setp.eq.u32 %p0, %lane, 3;\n@%p0 bra other;\n" + move + "bra both;\nother:\nbar.warp.sync 0xffffffff;\nboth:\n"), in.data(),
      out.data(), kLanes, true);
  CHECK(failure.find("deadlock: 32 threads wait in warp operations") != std::string::npos);
}

TEST_CASE("an operation that all lanes come to stays one, between branches that only some of them take") {
  const Halves matrix = numbers(64);
  std::vector<std::uint32_t> in(128), out(128);
  for (unsigned lane = 0; lane < kLanes; ++lane) in[lane * 4] = expected(matrix, false, lane);
  // Whoever goes one way before it goes the same way behind it: two of it, one on each way, would be as good for a thread of its own.
  mustRunWarp(kernelAround(kOwn + words("ld", 1, "%at") + "setp.lt.u32 %p0, %lane, 16;\n@!%p0 bra both;\nst.global.u8 [%out+4], %r0;\nboth:\n" +
                           "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n@!%p0 bra end;\nst.global.u8 [%out+8], %r0;\nend:\n" + words("st", 1, "%out")),
              in.data(), out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane) CHECK(out[lane * 4] == expected(matrix, true, lane));
}

TEST_CASE("lanes that stay away from an operation that is done in vectors end the launch") {
  std::vector<std::uint32_t> in(128), out(128);
  in[3 * 4] = 77;
  const std::string failure =
      runWarp(kernelAround(kOwn + words("ld", 1, "%at") + "setp.eq.u32 %p0, %r0, 77;\n@%p0 bra end;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n" +
                           words("st", 1, "%out") + "end:\n"),
              in.data(), out.data());
  // As fibers the others end, and are not waited for.
  CHECK((failure.find("that not all lanes of a warp come to") != std::string::npos) == inVectors());
  CHECK(failure.empty() != inVectors());
}

TEST_CASE("rows that are misaligned or nowhere end the launch") {
  const Halves rows = numbers(256);
  Halves out(256);
  const auto load = [&](const std::string& address) {
    return runWarp(kernelAround(kOwn + kRow + address + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r10];\n"), rows.data(), out.data());
  };
  CHECK(load("") == "");
  CHECK(load("add.u32 %r10, %r10, 8;\n").find("misaligned access") != std::string::npos);
  CHECK(load("setp.ge.u32 %p0, %lane, 8;\n@%p0 add.u32 %r10, %r10, 8;\n") == "");  // nobody's row
  CHECK(load("mov.u32 %r10, 0xf0000000;\n").find("illegal access") != std::string::npos);
}

TEST_CASE("matrix moves that are not covered are refused by name and line") {
  for (const char* instruction : {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [%r2];",
                                  "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r0}, [%r2];",
                                  "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r2], {%r0};"}) {
    const std::string refusal = refusalOf(kernelAround(std::string(instruction) + "\n"));
    INFO(instruction << ": " << refusal);
    CHECK(refusal.find("line 17") != std::string::npos);
    CHECK(refusal.find("not supported") != std::string::npos);
  }
  CHECK(refusalOf(kernelAround("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%r2];\n")).find("a fragment of 2 registers") !=
        std::string::npos);
}
