// Double precision with a direction, beside the processor's own.
#include <catch2/catch.hpp>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"

namespace rouse::test {
namespace {

struct Operands {
  double x, y, z, result;
};

std::string kernel(const std::string& text) {
  return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 poperands)\n{\n"
         ".reg .f64 %x, %y, %z, %r;\n.reg .b64 %at, %by;\n.reg .b32 %t, %c, %n;\n"
         "ld.param.u64 %at, [poperands];\nmov.u32 %t, %tid.x;\nmov.u32 %c, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %t, %c, %n, %t;\nmul.wide.u32 %by, %t, 32;\n"
         "add.u64 %at, %at, %by;\nld.global.f64 %x, [%at];\nld.global.f64 %y, [%at+8];\nld.global.f64 %z, [%at+16];\n" +
         text + "\nst.global.f64 [%at+24], %r;\nret;\n}\n";
}

double asNumber(std::uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

std::uint64_t bitsOf(double number) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

// Numbers of all sizes, those about the ends of the range and about each other.
std::vector<Operands> someOperands() {
  constexpr double kMost = std::numeric_limits<double>::max(), kLeast = std::numeric_limits<double>::denorm_min(), kNormal = std::numeric_limits<double>::min();
  std::vector<double> special{0, kLeast, 3 * kLeast, kNormal, kNormal - kLeast, 0.5, std::nextafter(0.5, 0), 1, std::nextafter(1.0, 2), 1.5, 3, 7, 10, 0x1p52, 0x1p53 + 2, 0x1p-900, std::nextafter(0x1p-900, 0),
                              0x1p900, 0x1p-511, 0x1p511, 0x1p970, 0x1.8p971, kMost, std::nextafter(kMost, 0), kMost / 2, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (std::size_t k = special.size(); k-- > 0;) special.push_back(-special[k]);
  std::vector<Operands> operands;
  for (const double x : special) {
    for (const double y : special) operands.push_back({x, y, operands.size() % 3 == 0 ? -x * y : special[operands.size() * 31 % special.size()], 0});
  }
  std::mt19937_64 random(20261126);
  while (operands.size() % 256 != 0 || operands.size() < 12'000) {
    const std::uint64_t x = random();
    std::uint64_t y = random();
    if (random() % 2 == 0) y = (y & ~(std::uint64_t{0x7ff} << 52)) | (((x >> 52 & 0x7ff) + random() % 120 - 60) & 0x7ff) << 52;  // about as large
    if (random() % 8 == 0) y &= ~std::uint64_t{0} << random() % 53;                                                                // with few digits
    // Some that all but takes the product away.
    const double product = asNumber(x) * asNumber(y);
    const double z = random() % 3 == 0 ? asNumber(random()) : -asNumber(bitsOf(product) + random() % 5 - 2) * (random() % 4 == 0 ? std::ldexp(1.0, static_cast<int>(random() % 140) - 70) : 1);
    operands.push_back({asNumber(x), asNumber(y), z, 0});
  }
  return operands;
}

double wantedOf(const std::string& operation, const Operands& of, int direction) {
  const volatile double x = of.x, y = of.y, z = of.z;
  volatile double result = 0;
  const int before = std::fegetround();
  std::fesetround(direction);
  if (operation == "add") result = x + y;
  if (operation == "sub") result = x - y;
  if (operation == "mul") result = x * y;
  if (operation == "div") result = x / y;
  if (operation == "rcp") result = 1 / x;
  if (operation == "fma") result = std::fma(x, y, z);
  if (operation == "sqrt") result = std::sqrt(x);
  std::fesetround(before);
  return result;
}

}  // namespace

TEST_CASE("sums, products, quotients, roots and fused sums of doubles with a direction are the processor's") {
  struct Mode {
    const char* name;
    int direction;
  };
  const std::vector<Operands> operands = someOperands();
  for (const char* operation : {"add", "sub", "mul", "div", "rcp", "sqrt", "fma"}) {
    for (const Mode& mode : {Mode{"rz", FE_TOWARDZERO}, Mode{"rm", FE_DOWNWARD}, Mode{"rp", FE_UPWARD}}) {
      const bool isOfOne = std::string(operation) == "rcp" || std::string(operation) == "sqrt";
      const std::string text = std::string(operation) + "." + mode.name + ".f64 %r, %x" + (isOfOne ? ";" : std::string(operation) == "fma" ? ", %y, %z;" : ", %y;");
      INFO(text);
      for (const bool sideBySide : {true, false}) {
        const auto program = cpu::Program::translate(kernel(text), {.sideBySide = sideBySide});
        if (!program) FAIL(program.error().message);
        const auto code = (*program)->compile(0);
        if (!code) FAIL(code.error().message);
        std::vector<Operands> found = operands;
        cpu::Launch request = cpu::launchOf(*code, false);
        request.grid = {static_cast<std::uint32_t>(found.size() / 256), 1, 1};
        request.block = {256, 1, 1};
        cpu::mustRun(request, found.data());
        for (const Operands& each : found) {
          const double wanted = wantedOf(operation, each, mode.direction);
          if (std::isnan(wanted) ? std::isnan(each.result) : bitsOf(wanted) == bitsOf(each.result)) continue;
          FAIL(std::hexfloat << "of " << each.x << ", " << each.y << " and " << each.z << ": " << each.result << ", not " << wanted);
        }
      }
    }
  }
}

}  // namespace rouse::test
