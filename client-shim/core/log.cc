#include "client-shim/core/log.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rouse::client {

namespace {

LogLevel levelFromEnvironment() {
  const char* text = std::getenv("ROUSE_LOG");
  if (text == nullptr) return LogLevel::off;
  constexpr const char* names[] = {"off", "error", "warn", "info", "debug"};
  for (int level = 0; level < 5; ++level) {
    if (std::strcmp(text, names[level]) == 0) return static_cast<LogLevel>(level);
  }
  return *text == '\0' ? LogLevel::off : LogLevel::info;
}

LogLevel chosenLevel() {
  static const LogLevel level = levelFromEnvironment();
  return level;
}

}  // namespace

bool logs(LogLevel level) { return level <= chosenLevel() && level != LogLevel::off; }

void log(LogLevel level, const char* format, ...) {
  if (!logs(level)) return;
  constexpr const char* names[] = {"", "error", "warn", "info", "debug"};
  char line[1024];
  int used =
      std::snprintf(line, sizeof line, "rouse[%d] %s: ", static_cast<int>(::getpid()), names[static_cast<int>(level)]);
  va_list arguments;
  va_start(arguments, format);
  const int text = std::vsnprintf(line + used, sizeof line - static_cast<std::size_t>(used) - 1, format, arguments);
  va_end(arguments);
  used = std::min<int>(used + std::max(text, 0), sizeof line - 2);
  line[used++] = '\n';
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(used));
}

}  // namespace rouse::client
