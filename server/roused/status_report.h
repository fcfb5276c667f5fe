// What `rouse status` and `rouse ps` show, as JSON. Keys are only ever added within one schema version.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "server/control/message.h"
#include "server/roused/device_pool.h"
#include "server/roused/module_store.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {

inline constexpr int kStatusSchema = 1;

class FunctionHost;

struct StatusInput {
  const DevicePool& pool;
  const SessionTable& sessions;
  const ModuleStore& modules;
  std::string socket;
  std::string clientLibraries;
  std::chrono::seconds uptime{};
  ExecutorStates executors;
  const FunctionHost* functions = nullptr;
  bool unsupported = false;  // with the table of unsupported calls
};

std::string statusReport(const StatusInput&);

}  // namespace rouse::daemon
