// Times as people write them: "200ms", "10s", "2m", "1h", "1.5s".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rouse::daemon {

// nullopt for anything that is not a time, has no unit, or is longer than a week.
std::optional<std::chrono::milliseconds> parseDuration(std::string_view text);

}  // namespace rouse::daemon
