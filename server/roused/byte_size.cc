#include "server/roused/byte_size.h"

#include <charconv>
#include <cstdio>

namespace rouse::daemon {
namespace {

constexpr std::string_view kPrefixes = "KMGT";

// The power of 1024 that a unit stands for; -1 if it is none. Decimal units are not offered: everything on a GPU is
// binary.
int power(std::string_view unit) {
  if (unit.empty() || unit == "B") return 0;
  const auto prefix = kPrefixes.find(unit[0]);
  const std::string_view rest = unit.substr(1);
  if (prefix == std::string_view::npos || (!rest.empty() && rest != "iB")) return -1;
  return static_cast<int>(prefix) + 1;
}

}  // namespace

std::optional<std::uint64_t> parseByteSize(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const int shift = power(unit);
  if (shift < 0) return std::nullopt;
  const double bytes = value * static_cast<double>(std::uint64_t{1} << (10 * shift));
  if (bytes >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string formatByteSize(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < kPrefixes.size(); ++unit) value /= 1024;
  char text[32];
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  std::snprintf(text, sizeof text, whole ? "%.0f %ciB" : "%.1f %ciB", value, kPrefixes[unit]);
  return text;
}

}  // namespace rouse::daemon
