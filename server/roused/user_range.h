// Numbers that functions' users are taken from.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace rouse::daemon {

struct UserRange {
  uid_t first = 0, last = 0;
};
// "1879048192-1879113727"; no root, no more than a million.
std::optional<UserRange> parseUserRange(std::string_view);

}  // namespace rouse::daemon
