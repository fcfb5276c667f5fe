// The library is silent in other people's processes unless ROUSE_LOG asks: error, warn, info or debug, each with the
// ones before it. Lines go to stderr, one write(2) each. Any thread; usable in a forked child.
#pragma once

namespace rouse::client {

enum class LogLevel : int { off = 0, error = 1, warn = 2, info = 3, debug = 4 };

bool logs(LogLevel level);

// printf-style; cut at 1000 bytes.
[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...);

}  // namespace rouse::client
