#include "test/ptx/matrix_warp.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "test/cpu/launcher.h"

namespace rouse::test {

std::string kernelAround(std::string_view body) {
  return ".version 8.5\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 pin, .param .u64 pout)\n{\n"
         ".reg .b32 %r<64>;\n.reg .f32 %f<64>;\n.reg .f64 %d<64>;\n.reg .pred %p<4>;\n.reg .b32 %lane;\n.reg .b64 %lane64, %in, %out, %at;\n"
         ".shared .align 16 .b8 tile[4096];\n"
         "ld.param.u64 %in, [pin];\nld.param.u64 %out, [pout];\nmov.u32 %lane, %tid.x;\ncvt.u64.u32 %lane64, %lane;\n" +
         std::string(body) + "ret;\n}\n";
}

// Instead of as fibers, in a run of all tests of its own (CMakeLists.txt).
bool inVectors() {
  static const bool asked = std::getenv("ROUSE_TEST_WARPS") != nullptr && std::string_view(std::getenv("ROUSE_TEST_WARPS")) == "vectors";
  if (!asked) return false;
  const bool has = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  static const bool told = [has] {
    if (!has) WARN("left out: this processor has no AVX-512, and operations of warps run as fibers");
    return true;
  }();
  return told && has;
}

std::string runWarp(const std::string& ptx, const void* in, void* out, std::uint32_t lanes, bool apart) {
  auto program = cpu::Program::translate(ptx);
  if (!program) return program.error().message;
  auto code = (*program)->compile(0);
  if (!code) return code.error().message;
  cpu::Launch request;
  request.entry = code->entry;
  if (inVectors() && lanes % kLanes == 0 && !apart) {
    // Without shared memory's barriers nothing is kept between segments, so that no frames are needed.
    CHECK(code->loop != nullptr);
    CHECK(code->wholeWarps);
    request.loop = code->loop;
  }
  request.block = {lanes, 1, 1};
  request.workers = 1;
  request.sharedBytes = code->staticSharedBytes;
  const std::array<std::uint64_t, 2> parameters{reinterpret_cast<std::uint64_t>(in), reinterpret_cast<std::uint64_t>(out)};
  return cpu::run(request, parameters).message;
}

void mustRunWarp(const std::string& ptx, const void* in, void* out, std::uint32_t lanes, bool apart) {
  INFO(ptx);
  REQUIRE(runWarp(ptx, in, out, lanes, apart) == "");
}

std::string refusalOf(const std::string& ptx) {
  const auto program = cpu::Program::translate(ptx);
  return program ? "" : program.error().message;
}

namespace {

constexpr std::array<std::pair<std::string_view, unsigned>, 13> kElements{{{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8},
                                                                           {"e5m2", 8}, {"f32", 32}, {"f64", 64}, {"s8", 8}, {"u8", 8},
                                                                           {"s4", 4}, {"u4", 4}, {"b1", 1}, {"s32", 32}}};

// IEEE-like: `fraction` bits below `exponent` bits.
double ieee(std::uint64_t bits, int exponentBits, int fractionBits) {
  const int bias = (1 << (exponentBits - 1)) - 1;
  const auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << fractionBits) - 1));
  const int exponent = static_cast<int>(bits >> fractionBits & ((std::uint64_t{1} << exponentBits) - 1));
  const double sign = (bits >> (exponentBits + fractionBits) & 1) != 0 ? -1 : 1;
  if (exponent == (1 << exponentBits) - 1) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(1 + std::ldexp(fraction, -fractionBits), exponent - bias);
}

}  // namespace

Element elementNamed(std::string_view name) {
  for (std::size_t i = 0; i < kElements.size(); ++i) {
    if (kElements[i].first == name) return static_cast<Element>(i);
  }
  FAIL("no element " << name);
  return Element::f16;
}

unsigned bitsOf(Element element) { return kElements[static_cast<std::size_t>(element)].second; }

double valueOf(Element element, std::uint64_t bits) {
  switch (element) {
    case Element::f16:
      return ieee(bits, 5, 10);
    case Element::bf16:
      return ieee(bits, 8, 7);
    case Element::tf32:
      return ieee(bits >> 13, 8, 10);
    case Element::f32:
      return ieee(bits, 8, 23);
    case Element::e5m2:
      return ieee(bits, 5, 2);
    case Element::e4m3:
      if ((bits & 0x7f) == 0x7f) return std::nan("");
      if ((bits & 0x78) == 0x78) return ((bits & 0x80) != 0 ? -1 : 1) * 256 * (1 + static_cast<double>(bits & 7) / 8);
      return ieee(bits, 4, 3);
    case Element::f64:
      return std::bit_cast<double>(bits);
    case Element::s8:
      return static_cast<std::int8_t>(bits);
    case Element::s4:
      return static_cast<double>(static_cast<int>(bits ^ 8) - 8);
    case Element::s32:
      return static_cast<std::int32_t>(bits);
    default:
      return static_cast<double>(bits);
  }
}

std::uint64_t randomBits(Element element, std::mt19937_64& random, bool tame) {
  const unsigned bits = bitsOf(element);
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t any = random() & all;
  const bool isInteger = element >= Element::s8;
  if (isInteger) return tame && element == Element::s32 ? any & 0xffff : any;
  if (!tame) return any;
  // Sign and fraction as they come, exponents around that of 1.
  const unsigned fraction = element == Element::f64 ? 52 : element == Element::f16 ? 10 : element == Element::bf16 ? 7
                            : element == Element::e4m3 ? 3 : element == Element::e5m2 ? 2 : 23;
  const std::uint64_t exponents = (all >> 1) >> fraction;
  const std::uint64_t exponent = exponents / 2 - random() % 4;
  return (any & ~(exponents << fraction)) | exponent << fraction;
}

std::uint64_t packedAt(const std::byte* words, Element element, std::size_t index) {
  const unsigned bits = bitsOf(element);
  std::uint64_t value = 0;
  std::memcpy(&value, words + index * bits / 8, bits < 8 ? 1 : bits / 8);
  if (bits < 8) value = value >> (index * bits % 8) & ((1u << bits) - 1);
  return value;
}

void setPacked(std::byte* words, Element element, std::size_t index, std::uint64_t value) {
  const unsigned bits = bitsOf(element);
  if (bits >= 8) {
    std::memcpy(words + index * bits / 8, &value, bits / 8);
    return;
  }
  const unsigned shift = static_cast<unsigned>(index * bits % 8);
  auto& byte = words[index * bits / 8];
  byte = (byte & ~static_cast<std::byte>(((1u << bits) - 1) << shift)) | static_cast<std::byte>(value << shift);
}

bool isSum(Element d, std::uint64_t bits, double c, const std::vector<double>& a, const std::vector<double>& b) {
  __float128 sum = c, size = std::fabs(c);
  bool isNan = std::isnan(c), plus = c == HUGE_VAL, minus = c == -HUGE_VAL;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double product = a[i] * b[i];
    isNan = isNan || std::isnan(product);
    plus = plus || (std::isinf(product) && product > 0 && (std::isinf(a[i]) || std::isinf(b[i])));
    minus = minus || (std::isinf(product) && product < 0 && (std::isinf(a[i]) || std::isinf(b[i])));
    sum += static_cast<__float128>(a[i]) * b[i];
    size += std::fabs(product);
  }
  const double got = valueOf(d, bits);
  if (isNan || (plus && minus)) return d == Element::f64 ? std::isnan(got) : bits == (d == Element::f16 ? 0x7fffu : 0x7fff'ffffu);
  if (plus || minus) return got == (plus ? HUGE_VAL : -HUGE_VAL);
  const int digits = d == Element::f16 ? 11 : d == Element::f64 ? 53 : 24;
  const double least = d == Element::f16 ? 0x1p-25 : d == Element::f64 ? 0x1p-1074 : 0x1p-150;
  const double largest = d == Element::f16 ? 65504 : d == Element::f64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127;
  const __float128 magnitude = sum < 0 ? -sum : sum;
  const __float128 loss = size * 0x1p-53 * static_cast<double>(a.size() + 1);
  // From half a unit of the last place above the largest number on.
  const int exponent = d == Element::f16 ? 15 : d == Element::f64 ? 1023 : 127;
  if (std::isinf(got)) return magnitude + loss >= static_cast<__float128>(largest) + std::ldexp(1.0, exponent - digits) && (got > 0) == (sum > 0);
  const __float128 difference = sum > got ? sum - got : got - sum;
  return difference <= magnitude * std::ldexp(1.0, -digits) + least + loss;
}

}  // namespace rouse::test
