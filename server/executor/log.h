// The executor's log: lines on stderr, which the daemon collects. Any thread.
#pragma once

#include <string_view>

namespace rouse::executor {

enum class LogLevel { debug, info, warning, error };

// From ROUSE_LOG: debug, info, warning (the default), error, off. Before this nothing is logged.
void openLog();
bool logs(LogLevel level);
void log(LogLevel level, std::string_view text);

}  // namespace rouse::executor
