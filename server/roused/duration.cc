#include "server/roused/duration.h"

#include <charconv>

namespace rouse::daemon {

std::optional<std::chrono::milliseconds> parseDuration(std::string_view text) {
  constexpr double kMost = 7 * 24 * 3600e3;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const double scale = unit == "ms" ? 1 : unit == "s" ? 1e3 : unit == "m" ? 60e3 : unit == "h" ? 3600e3 : 0;
  if (scale == 0 || value * scale > kMost) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(value * scale + 0.5));
}

}  // namespace rouse::daemon
