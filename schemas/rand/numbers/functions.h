// Functions of double numbers that the compiler makes vectors of: the same operations in the same order for each number, so results are the same to the last
// bit whatever a processor does at once. Errors are below 2 units in the last place. Pure. Included by loops.h only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace rouse::rand {
namespace {

// With the coefficient of the highest power first.
template <class... Rest>
inline __attribute__((always_inline)) double polynomial(double x, double sum, Rest... rest) {
  ((sum = sum * x + rest), ...);
  return sum;
}

// Of a positive number between 2^-64 and 2.
inline __attribute__((always_inline)) double logarithm(double x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd, kSteps = std::uint64_t{64} << 52;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t steps = (bits - kRootHalf + kSteps) >> 52;  // powers of two, and 64
  const double m = std::bit_cast<double>(bits - (steps << 52) + kSteps);
  const double power = std::bit_cast<double>(steps | 0x4330000000000000) - (4503599627370496.0 + 64.0);
  // log m = 2 atanh s
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  const double sum = polynomial(z, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3);
  constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
  return power * kLn2High + (power * kLn2Low + (s * z * sum + 2.0 * s));
}

// Numbers that are too large for a double become infinite, too small ones 0.
inline __attribute__((always_inline)) double exponential(double x) {
  const double bounded = x > 720.0 ? 720.0 : x < -760.0 ? -760.0 : x;  // not a number stays so
  constexpr double kRound = 6755399441055744.0, kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;
  const double shifted = bounded * 1.4426950408889634 + kRound, power = shifted - kRound;
  const double r = (bounded - power * kLn2High) - power * kLn2Low;
  const double sum = polynomial(r, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                                1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0);
  // In two steps, of which each is a number.
  const std::uint64_t whole = std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(kRound) + 4096;
  const std::uint64_t half = whole >> 1, rest = whole - half;
  const auto scale = [](std::uint64_t steps) { return std::bit_cast<double>((steps - 2048 + 1023) << 52); };
  return sum * scale(half) * scale(rest);
}

struct Turned {
  double sine = 0, cosine = 0;
};

// Of some quarters of a turn and the angle r, which is at most an eighth. `shifted`: those quarters and 1.5 * 2^52.
inline __attribute__((always_inline)) Turned turned(double shifted, double r) {
  const double z = r * r;
  double sine = polynomial(z, -1.0 / 121645100408832000.0, 1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
                           1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0);
  double cosine = polynomial(z, -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0,
                             -1.0 / 720.0, 1.0 / 24.0, -0.5);
  sine = sine * z * r + r;
  cosine = cosine * z + 1.0;
  const std::uint64_t quarter = std::bit_cast<std::uint64_t>(shifted);
  const std::uint64_t odd = std::uint64_t{0} - (quarter & 1);
  const std::uint64_t s = std::bit_cast<std::uint64_t>(sine), c = std::bit_cast<std::uint64_t>(cosine);
  const std::uint64_t sineSign = (quarter & 2) << 62, cosineSign = ((quarter + 1) & 2) << 62;
  return {std::bit_cast<double>(((s & ~odd) | (c & odd)) ^ sineSign), std::bit_cast<double>(((c & ~odd) | (s & odd)) ^ cosineSign)};
}

// Of an angle of at most a few turns.
inline __attribute__((always_inline)) Turned sineAndCosine(double angle) {
  constexpr double kRound = 6755399441055744.0, kHigh = 0x1.921fb54442d18p+0, kLow = 0x1.1a62633145c07p-54;
  const double shifted = angle * 0.6366197723675814 + kRound, quarters = shifted - kRound;
  return turned(shifted, (angle - quarters * kHigh) - quarters * kLow);
}

// Of half turns.
inline __attribute__((always_inline)) Turned sineAndCosineOfHalves(double halves) {
  constexpr double kRound = 6755399441055744.0;
  const double shifted = halves * 2.0 + kRound;
  return turned(shifted, (halves * 2.0 - (shifted - kRound)) * 1.5707963267948966);
}

// The normal distribution's quantile (Wichura's algorithm AS 241, 1988), for 0 < p, and at most little above 0.5.
inline double lowerQuantile(double p) {
  const double q = p - 0.5;
  if (q >= -0.425) {
    const double r = 0.180625 - q * q;
    return q *
           polynomial(r, 2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4, 4.5921953931549871457e+4, 1.3731693765509461125e+4,
                          1.9715909503065514427e+3, 1.3314166789178437745e+2, 3.3871328727963666080e+0) /
           polynomial(r, 5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4, 2.1213794301586595867e+4, 5.3941960214247511077e+3,
                          6.8718700749205790830e+2, 4.2313330701600911252e+1, 1.0);
  }
  const double r = std::sqrt(-logarithm(p));
  if (r <= 5.0)
    return -polynomial(r - 1.6, 7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e+0,
                                 3.64784832476320460504e+0, 5.76949722146069140550e+0, 4.63033784615654529590e+0, 1.42343711074968357734e+0) /
           polynomial(r - 1.6, 1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                6.89767334985100004550e-1, 1.67638483018380384940e+0, 2.05319162663775882187e+0, 1.0);
  return -polynomial(r - 5.0, 2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
                               2.96560571828504891230e-1, 1.78482653991729133580e+0, 5.46378491116411436990e+0, 6.65790464350110377720e+0) /
         polynomial(r - 5.0, 2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
                              1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0);
}

}  // namespace
}  // namespace rouse::rand
