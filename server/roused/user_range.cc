#include "server/roused/user_range.h"

#include <charconv>

namespace rouse::daemon {

std::optional<UserRange> parseUserRange(std::string_view text) {
  const char* const end = text.data() + text.size();
  UserRange range;
  const auto first = std::from_chars(text.data(), end, range.first);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.last);
  if (last.ec != std::errc{} || last.ptr != end) return std::nullopt;
  // The last number but one means "no user" to the kernel.
  if (range.first == 0 || range.last < range.first || range.last > 0xfffffffdu || range.last - range.first >= 1000000)
    return std::nullopt;
  return range;
}

}  // namespace rouse::daemon
