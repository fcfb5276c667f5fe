#include "server/executor/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace rouse::executor {
namespace {

bool opened = false;

spdlog::level::level_enum native(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void openLog() {
  auto logger = spdlog::stderr_logger_mt("rouse-executor");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e rouse-executor[%P] %l: %v");
  const char* wanted = std::getenv("ROUSE_LOG");
  logger->set_level(wanted == nullptr || *wanted == '\0' ? spdlog::level::warn : spdlog::level::from_str(wanted));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  opened = true;
}

bool logs(LogLevel level) { return opened && spdlog::should_log(native(level)); }
void log(LogLevel level, std::string_view text) {
  if (opened) spdlog::log(native(level), "{}", text);
}

}  // namespace rouse::executor
