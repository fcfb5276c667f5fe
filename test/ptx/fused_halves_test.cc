// fma of f16 and bf16, which are rounded once: beside exact sums, with numbers of all sizes, their products at the ends of the range, and sums that lie between two numbers but for a little.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test::fused_halves {
namespace {

// 113 bits of fraction: products are exact, and so is what a sum leaves out.
using Exact = __float128;

struct Format {
  const char* name;
  unsigned fraction;  // bits
  int least;          // exponent of the last bit of the least number

  std::uint32_t infinity() const { return (0x7fffU >> fraction) << fraction; }
  Exact valueOf(std::uint32_t bits) const {
    const std::uint32_t exponent = (bits & 0x7fff) >> fraction, within = bits & ((1U << fraction) - 1);
    const double size = exponent == 0 ? std::ldexp(within, least) : std::ldexp(within | 1U << fraction, least + static_cast<int>(exponent) - 1);
    return (bits & 0x8000) != 0 ? -size : size;
  }
  bool isFinite(std::uint32_t bits) const { return (bits & 0x7fff) < infinity(); }
  bool isNan(std::uint32_t bits) const { return (bits & 0x7fff) > infinity(); }
};

constexpr Format kFormats[] = {{"f16", 10, -24}, {"bf16", 7, -133}};

struct Operands {
  std::uint16_t x, y, z, result;
};

// The number of the format next to sum + rest, where rest is less than the last bit of the sum.
std::uint32_t nearest(const Format& format, Exact sum, Exact rest) {
  const bool isNegative = sum < 0;
  if (isNegative) sum = -sum, rest = -rest;
  std::uint32_t low = 0, high = format.infinity();  // as if infinity were the next number
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    const Exact value = format.valueOf(middle);
    (value < sum || (value == sum && rest >= 0) ? low : high) = middle;
  }
  const Exact between = (format.valueOf(low) + format.valueOf(high)) / 2;
  const bool isAbove = sum > between || (sum == between && rest > 0), isBetween = sum == between && rest == 0;
  return (isAbove || (isBetween && low % 2 != 0) ? high : low) | (isNegative ? 0x8000 : 0);
}

std::uint32_t wantedOf(const Format& format, const Operands& of) {
  if (!format.isFinite(of.x) || !format.isFinite(of.y) || !format.isFinite(of.z)) {
    const auto inDouble = [&](std::uint32_t bits) {
      if (format.isNan(bits)) return std::numeric_limits<double>::quiet_NaN();
      return format.isFinite(bits) ? static_cast<double>(format.valueOf(bits)) : (bits & 0x8000) != 0 ? -HUGE_VAL : HUGE_VAL;
    };
    const double result = inDouble(of.x) * inDouble(of.y) + inDouble(of.z);
    return std::isnan(result) ? 0x7fff : format.infinity() | (result < 0 ? 0x8000 : 0);
  }
  const Exact product = format.valueOf(of.x) * format.valueOf(of.y), z = format.valueOf(of.z), sum = product + z;
  if (sum == 0) return (of.x ^ of.y) & of.z & 0x8000;  // what is left out of a sum that is zero is zero; two zeros of one sign keep it
  const Exact part = sum - product;
  return nearest(format, sum, (product - (sum - part)) + (z - part));
}

std::vector<Operands> someOperands(const Format& format) {
  std::vector<std::uint16_t> special;
  const std::uint32_t one = ((format.infinity() >> format.fraction) / 2) << format.fraction, step = 1U << format.fraction;
  for (const std::uint32_t bits : {0U, 1U, 2U, 3U, step - 1, step, step + 1, 3 * step / 2, one, one + 1, one - 1, one + step / 2, one / 2, one / 2 + 1, one / 2 + step - 1, one / 2 - 5 * step + 3, one + one / 2,
                                   one + one / 2 + 1, one + one / 2 + step + 5, format.infinity() - 1, format.infinity() - step / 2, format.infinity() - step, format.infinity(), 0x7fffU}) {
    special.push_back(static_cast<std::uint16_t>(bits));
    special.push_back(static_cast<std::uint16_t>(bits | 0x8000));
  }
  std::vector<Operands> operands;
  for (const std::uint16_t x : special)
    for (const std::uint16_t y : special)
      for (const std::uint16_t z : special) operands.push_back({x, y, z, 0});
  std::mt19937 random(31);
  while (operands.size() < 1'000'000 || operands.size() % 256 != 0) {
    const auto x = static_cast<std::uint16_t>(random()), y = static_cast<std::uint16_t>(random());
    auto z = static_cast<std::uint16_t>(random());
    if (random() % 4 != 0 && format.isFinite(x) && format.isFinite(y)) {
      // About as large as the product, or so much smaller that it only tips the scales.
      const std::uint32_t near = nearest(format, format.valueOf(x) * format.valueOf(y), 0);
      z = static_cast<std::uint16_t>((near ^ (random() % 2 << 15)) + random() % 5 - 2 - (random() % 3 == 0 ? random() % 12 * step : 0));
    }
    operands.push_back({x, y, z, 0});
  }
  return operands;
}

std::string kernel(const std::string& type) {
  return ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 poperands)\n{\n.reg .b16 %x, %y, %z, %r;\n.reg .b64 %at, %by;\n.reg .b32 %t, %c, %n;\n"
         "ld.param.u64 %at, [poperands];\nmov.u32 %t, %tid.x;\nmov.u32 %c, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %t, %c, %n, %t;\nmul.wide.u32 %by, %t, 8;\nadd.u64 %at, %at, %by;\n"
         "ld.global.b16 %x, [%at];\nld.global.b16 %y, [%at+2];\nld.global.b16 %z, [%at+4];\nfma.rn." + type + " %r, %x, %y, %z;\nst.global.b16 [%at+6], %r;\nret;\n}\n";
}

}  // namespace

TEST_CASE("fused sums of halves and bfloats are exact sums, rounded once") {
  for (const Format& format : kFormats) {
    INFO(format.name);
    std::vector<Operands> operands = someOperands(format);
    for (const bool sideBySide : {true, false}) {
      const auto program = cpu::Program::translate(kernel(format.name), {.sideBySide = sideBySide});
      if (!program) FAIL(program.error().message);
      const auto code = (*program)->compile(0);
      if (!code) FAIL(code.error().message);
      cpu::Launch request = cpu::launchOf(*code, false);
      request.grid = {static_cast<std::uint32_t>(operands.size() / 256), 1, 1};
      request.block = {256, 1, 1};
      cpu::mustRun(request, operands.data());
      for (const Operands& each : operands) {
        const std::uint32_t wanted = wantedOf(format, each);
        if (wanted == each.result) continue;
        FAIL(std::hex << "of 0x" << each.x << ", 0x" << each.y << " and 0x" << each.z << ": 0x" << each.result << ", not 0x" << wanted);
      }
    }
  }
}

}  // namespace rouse::test::fused_halves
