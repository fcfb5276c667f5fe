// What kernels of model_kernel.h compute, in CUDA C++ and here.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "test/ptx/model_kernel.h"

namespace rouse::test::model {
namespace {

using U = std::uint64_t;
using W = std::uint32_t;
using I = std::int32_t;

constexpr Type T = Type::truth, w = Type::word, l = Type::wide, f = Type::real;

float real(U bits) { return std::bit_cast<float>(static_cast<W>(bits)); }
U bits(float value) { return std::bit_cast<W>(value); }
I i(U word) { return static_cast<I>(static_cast<W>(word)); }
std::int64_t s(U wide) { return static_cast<std::int64_t>(wide); }

W saturated(float value) { return std::isnan(value) || value <= 0 ? 0 : value >= 4294967296.0f ? ~W{0} : static_cast<W>(value); }
I saturatedSigned(float value) { return std::isnan(value) ? 0 : value <= -2147483648.0f ? INT32_MIN : value >= 2147483648.0f ? INT32_MAX : static_cast<I>(value); }

U permuted(U low, U high, U how) {
  const U both = (low & ~W{0}) | high << 32;
  U result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const U which = how >> (4 * k) & 15;
    U byte = both >> (8 * (which & 7)) & 255;
    if ((which & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * k);
  }
  return result;
}

W dot(U x, U y, U sum, bool isSigned) {
  W result = static_cast<W>(sum);
  for (unsigned k = 0; k < 4; ++k) {
    const W a = static_cast<W>(x >> (8 * k)) & 255, b = static_cast<W>(y >> (8 * k)) & 255;
    result += isSigned ? static_cast<W>(static_cast<std::int8_t>(a) * static_cast<std::int8_t>(b)) : a * b;
  }
  return result;
}

W recursive(W a, W b) {
  return (b & 3) == 0 ? a ^ b : recursive(a * 5 + b, (b & 3) - 1) + b;
}
W mixed(W a, W b) { return static_cast<I>(a) < static_cast<I>(b) ? a * 7 + b : (a ^ b) * 3; }

float least(float x, float y) { return std::isnan(x) ? y : std::isnan(y) ? x : x < y || (x == y && std::signbit(x)) ? x : y; }
float most(float x, float y) { return std::isnan(x) ? y : std::isnan(y) ? x : x > y || (x == y && std::signbit(y)) ? x : y; }

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all{
      {"($0 + $1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(a[0] + a[1])}; }},
      {"($0 + $1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(a[0] + a[1])}; }},
      {"($0 - $1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(a[0] - a[1])}; }},
      {"($0 * $1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(a[0] * a[1])}; }},
      {"($0 * $1 + $2)", w, {w, w, w}, [](const U* a) { return U{static_cast<W>(a[0] * a[1] + a[2])}; }},
      {"($0 & $1)", w, {w, w}, [](const U* a) { return a[0] & a[1]; }},
      {"($0 | $1)", w, {w, w}, [](const U* a) { return a[0] | a[1]; }},
      {"($0 ^ $1)", w, {w, w}, [](const U* a) { return a[0] ^ a[1]; }},
      {"(~$0)", w, {w}, [](const U* a) { return U{static_cast<W>(~a[0])}; }},
      {"($0 << ($1 & 31))", w, {w, w}, [](const U* a) { return U{static_cast<W>(a[0] << (a[1] & 31))}; }},
      {"($0 >> ($1 & 31))", w, {w, w}, [](const U* a) { return a[0] >> (a[1] & 31); }},
      {"($0 << 2)", w, {w}, [](const U* a) { return U{static_cast<W>(a[0] << 2)}; }},
      {"($0 >> 3)", w, {w}, [](const U* a) { return a[0] >> 3; }},
      {"($0 >> 5)", w, {w}, [](const U* a) { return a[0] >> 5; }},
      {"($0 & 15)", w, {w}, [](const U* a) { return a[0] & 15; }},
      {"($0 & ~31u)", w, {w}, [](const U* a) { return a[0] & ~U{31}; }},
      {"($0 % 12)", w, {w}, [](const U* a) { return a[0] % 12; }},
      {"($0 / 7)", w, {w}, [](const U* a) { return a[0] / 7; }},
      {"(unsigned)((int)$0 >> ($1 & 31))", w, {w, w}, [](const U* a) { return U{static_cast<W>(i(a[0]) >> (a[1] & 31))}; }},
      {"($0 / ($1 | 1))", w, {w, w}, [](const U* a) { return a[0] / (a[1] | 1); }},
      {"($0 % ($1 | 1))", w, {w, w}, [](const U* a) { return a[0] % (a[1] | 1); }},
      {"(unsigned)((int)$0 / (int)(($1 & 1023) + 1))", w, {w, w}, [](const U* a) { return U{static_cast<W>(i(a[0]) / static_cast<I>((a[1] & 1023) + 1))}; }},
      {"(unsigned)((int)$0 % (int)(($1 & 1023) + 1))", w, {w, w}, [](const U* a) { return U{static_cast<W>(i(a[0]) % static_cast<I>((a[1] & 1023) + 1))}; }},
      {"min($0, $1)", w, {w, w}, [](const U* a) { return std::min(a[0], a[1]); }},
      {"max($0, $1)", w, {w, w}, [](const U* a) { return std::max(a[0], a[1]); }},
      {"(unsigned)min((int)$0, (int)$1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(std::min(i(a[0]), i(a[1])))}; }},
      {"(unsigned)max((int)$0, (int)$1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(std::max(i(a[0]), i(a[1])))}; }},
      {"__umulhi($0, $1)", w, {w, w}, [](const U* a) { return a[0] * a[1] >> 32; }},
      {"(unsigned)__mulhi((int)$0, (int)$1)", w, {w, w}, [](const U* a) { return U{static_cast<W>(static_cast<std::int64_t>(i(a[0])) * i(a[1]) >> 32)}; }},
      {"(unsigned)__popc($0)", w, {w}, [](const U* a) { return static_cast<U>(std::popcount(a[0])); }},
      {"(unsigned)__clz((int)$0)", w, {w}, [](const U* a) { return static_cast<U>(std::countl_zero(static_cast<W>(a[0]))); }},
      {"(unsigned)__ffs((int)$0)", w, {w}, [](const U* a) { return a[0] == 0 ? U{0} : static_cast<U>(std::countr_zero(a[0]) + 1); }},
      {"__brev($0)", w, {w}, [](const U* a) { W r = 0; for (unsigned k = 0; k < 32; ++k) r |= (a[0] >> k & 1) << (31 - k); return U{r}; }},
      {"__byte_perm($0, $1, $2 & 0x7777)", w, {w, w, w}, [](const U* a) { return permuted(a[0], a[1], a[2] & 0x7777); }},
      {"__funnelshift_l($0, $1, $2)", w, {w, w, w}, [](const U* a) { return (a[1] << 32 | a[0]) << (a[2] & 31) >> 32; }},
      {"__funnelshift_r($0, $1, $2)", w, {w, w, w}, [](const U* a) { return U{static_cast<W>((a[1] << 32 | a[0]) >> (a[2] & 31))}; }},
      {"__funnelshift_rc($0, $1, $2)", w, {w, w, w}, [](const U* a) { return U{static_cast<W>((a[1] << 32 | a[0]) >> std::min<U>(a[2], 32))}; }},
      {"__dp4a($0, $1, $2)", w, {w, w, w}, [](const U* a) { return U{dot(a[0], a[1], a[2], false)}; }},
      {"(unsigned)__dp4a((int)$0, (int)$1, (int)$2)", w, {w, w, w}, [](const U* a) { return U{dot(a[0], a[1], a[2], true)}; }},
      {"__usad($0, $1, $2)", w, {w, w, w}, [](const U* a) { return U{static_cast<W>((a[0] > a[1] ? a[0] - a[1] : a[1] - a[0]) + a[2])}; }},
      {"(unsigned)(signed char)$0", w, {w}, [](const U* a) { return U{static_cast<W>(static_cast<std::int8_t>(a[0]))}; }},
      {"(unsigned)(short)$0", w, {w}, [](const U* a) { return U{static_cast<W>(static_cast<std::int16_t>(a[0]))}; }},
      {"(unsigned)(unsigned char)$0", w, {w}, [](const U* a) { return a[0] & 255; }},
      {"(unsigned)(unsigned short)$0", w, {w}, [](const U* a) { return a[0] & 65535; }},
      {"(unsigned)(unsigned short)((unsigned short)$0 * (unsigned)(unsigned short)$1)", w, {w, w}, [](const U* a) { return (a[0] & 65535) * (a[1] & 65535) & 65535; }},
      {"($0 ? $1 : $2)", w, {T, w, w}, [](const U* a) { return a[0] != 0 ? a[1] : a[2]; }},
      {"($0 ? $1 : $2)", w, {T, w, w}, [](const U* a) { return a[0] != 0 ? a[1] : a[2]; }},
      {"(unsigned)$0", w, {l}, [](const U* a) { return U{static_cast<W>(a[0])}; }},
      {"(unsigned)($0 >> 32)", w, {l}, [](const U* a) { return a[0] >> 32; }},
      {"(unsigned)($0 >> 17)", w, {l}, [](const U* a) { return U{static_cast<W>(a[0] >> 17)}; }},
      {"__float2uint_rz($0)", w, {f}, [](const U* a) { return U{saturated(real(a[0]))}; }},
      {"(unsigned)__float2int_rz($0)", w, {f}, [](const U* a) { return U{static_cast<W>(saturatedSigned(real(a[0])))}; }},
      {"mixed($0, $1)", w, {w, w}, [](const U* a) { return U{mixed(static_cast<W>(a[0]), static_cast<W>(a[1]))}; }},
      {"recursive($0, $1)", w, {w, w}, [](const U* a) { return U{recursive(static_cast<W>(a[0]), static_cast<W>(a[1]))}; }},
      {"chosen($0)($1, $2)", w, {w, w, w}, [](const U* a) { return U{(a[0] & 1) != 0 ? recursive(static_cast<W>(a[1]), static_cast<W>(a[2])) : mixed(static_cast<W>(a[1]), static_cast<W>(a[2]))}; }},

      {"($0 + $1)", l, {l, l}, [](const U* a) { return a[0] + a[1]; }},
      {"($0 - $1)", l, {l, l}, [](const U* a) { return a[0] - a[1]; }},
      {"($0 * $1)", l, {l, l}, [](const U* a) { return a[0] * a[1]; }},
      {"($0 ^ $1)", l, {l, l}, [](const U* a) { return a[0] ^ a[1]; }},
      {"($0 & $1)", l, {l, l}, [](const U* a) { return a[0] & a[1]; }},
      {"($0 << ($1 & 63))", l, {l, w}, [](const U* a) { return a[0] << (a[1] & 63); }},
      {"($0 >> ($1 & 63))", l, {l, w}, [](const U* a) { return a[0] >> (a[1] & 63); }},
      {"(unsigned long long)((long long)$0 >> ($1 & 63))", l, {l, w}, [](const U* a) { return static_cast<U>(s(a[0]) >> (a[1] & 63)); }},
      {"(unsigned long long)$0", l, {w}, [](const U* a) { return a[0]; }},
      {"(unsigned long long)(long long)(int)$0", l, {w}, [](const U* a) { return static_cast<U>(std::int64_t{i(a[0])}); }},
      {"((unsigned long long)$0 * $1 + $2)", l, {w, w, l}, [](const U* a) { return a[0] * a[1] + a[2]; }},
      {"(unsigned long long)((long long)(int)$0 * (int)$1)", l, {w, w}, [](const U* a) { return static_cast<U>(static_cast<std::int64_t>(i(a[0])) * i(a[1])); }},
      {"($0 / ($1 | 1))", l, {l, l}, [](const U* a) { return a[0] / (a[1] | 1); }},
      {"($0 % ($1 | 1))", l, {l, l}, [](const U* a) { return a[0] % (a[1] | 1); }},
      {"__umul64hi($0, $1)", l, {l, l}, [](const U* a) { return static_cast<U>(static_cast<unsigned __int128>(a[0]) * a[1] >> 64); }},
      {"($0 ? $1 : $2)", l, {T, l, l}, [](const U* a) { return a[0] != 0 ? a[1] : a[2]; }},

      {"($0 + $1)", f, {f, f}, [](const U* a) { return bits(real(a[0]) + real(a[1])); }},
      {"($0 - $1)", f, {f, f}, [](const U* a) { return bits(real(a[0]) - real(a[1])); }},
      {"($0 * $1)", f, {f, f}, [](const U* a) { return bits(real(a[0]) * real(a[1])); }},
      {"fmaf($0, $1, $2)", f, {f, f, f}, [](const U* a) { return bits(std::fma(real(a[0]), real(a[1]), real(a[2]))); }},
      // Not of which zero: nvcc takes any, where both are constants.
      {"(fminf($0, $1) + 0.0f)", f, {f, f}, [](const U* a) { return bits(least(real(a[0]), real(a[1])) + 0.0f); }},
      {"(fmaxf($0, $1) + 0.0f)", f, {f, f}, [](const U* a) { return bits(most(real(a[0]), real(a[1])) + 0.0f); }},
      {"__uint2float_rn($0)", f, {w}, [](const U* a) { return bits(static_cast<float>(static_cast<W>(a[0]))); }},
      {"__int2float_rn((int)$0)", f, {w}, [](const U* a) { return bits(static_cast<float>(i(a[0]))); }},
      {"($0 ? $1 : $2)", f, {T, f, f}, [](const U* a) { return a[0] != 0 ? a[1] : a[2]; }},

      {"($0 < $1)", T, {w, w}, [](const U* a) { return U{a[0] < a[1]}; }},
      {"($0 == $1)", T, {w, w}, [](const U* a) { return U{a[0] == a[1]}; }},
      {"((int)$0 >= (int)$1)", T, {w, w}, [](const U* a) { return U{i(a[0]) >= i(a[1])}; }},
      {"(($0 >> ($1 & 31) & 1) != 0)", T, {w, w}, [](const U* a) { return a[0] >> (a[1] & 31) & 1; }},
      {"(($0 & 1) != 0)", T, {w}, [](const U* a) { return a[0] & 1; }},
      {"(($0 & 3) != 0)", T, {w}, [](const U* a) { return U{(a[0] & 3) != 0}; }},
      {"(($0 & 7) > 2)", T, {w}, [](const U* a) { return U{(a[0] & 7) > 2}; }},
      {"($0 < $1)", T, {l, l}, [](const U* a) { return U{a[0] < a[1]}; }},
      {"((long long)$0 > (long long)$1)", T, {l, l}, [](const U* a) { return U{s(a[0]) > s(a[1])}; }},
      {"($0 < $1)", T, {f, f}, [](const U* a) { return U{real(a[0]) < real(a[1])}; }},
      {"!($0 <= $1)", T, {f, f}, [](const U* a) { return U{!(real(a[0]) <= real(a[1]))}; }},
      {"($0 && $1)", T, {T, T}, [](const U* a) { return U{a[0] != 0 && a[1] != 0}; }},
      {"($0 || $1)", T, {T, T}, [](const U* a) { return U{a[0] != 0 || a[1] != 0}; }},
      {"(!$0)", T, {T}, [](const U* a) { return U{a[0] == 0}; }},
      {"($0 != $1)", T, {T, T}, [](const U* a) { return U{(a[0] != 0) != (a[1] != 0)}; }},
  };
  return all;
}

unsigned slotOf(unsigned order, unsigned thread, unsigned threads) {
  switch (order) {
    case 0:
      return thread;
    case 1:
      return threads - 1 - thread;
    case 2:
      return threads % 8 == 0 ? (thread & 7) * (threads / 8) + thread / 8 : thread;
    default:
      return (thread + 3) % threads;
  }
}

}  // namespace rouse::test::model
