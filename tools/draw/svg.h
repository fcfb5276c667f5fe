// What drawings have in common that benchmarks and the simulator make as SVG. Pure.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace rouse::draw {

// Text within an element or an attribute in double quotes.
inline std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

// printf's; of at most 511 characters.
template <class... Values>
std::string format(const char* how, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, how, values...);
  return text;
}

// 1, 2 or 5 times a power of ten, so that there are at most so many of them in the length, which is positive.
inline double tickOf(double length, int most) {
  const double least = length / most, power = std::pow(10, std::floor(std::log10(least)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= least) return step * power;
  return 10 * power;
}

}  // namespace rouse::draw
