// What functions have used, for `rouse usage` and /metrics: of GPUs, links and host memory, and how their requests went.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "server/roused/usage_table.h"
#include "server/router/metrics.h"

namespace rouse::daemon {

class FunctionHost;
class SessionTable;

// Of a function's requests that were let in and have ended, by where their model was.
nlohmann::ordered_json requestStages(const router::FunctionMetrics&);
// How many ended in which way, and how.
void addOutcomes(nlohmann::ordered_json& to, const router::FunctionMetrics&);

// By name; what functions of functions.d have used is found by theirs.
std::map<std::string, FunctionUsage> usageByName(const SessionTable&);

// One object a function, by name. Null: no functions.d.
nlohmann::ordered_json usageReport(const std::map<std::string, FunctionUsage>&, const FunctionHost* functions);

// Text format 0.0.4. As executors said last.
std::string usagePrometheus(const std::map<std::string, FunctionUsage>&);

// A label's value in quotes.
std::string prometheusLabel(const std::string& value);

}  // namespace rouse::daemon
