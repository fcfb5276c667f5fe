// All that Prometheus is told (text format 0.0.4): the router's counters, functions, GPUs, and what has been used.
#pragma once

#include <string>

#include "server/functions/supervisor.h"
#include "server/roused/device_pool.h"
#include "server/roused/session_table.h"
#include "server/router/function_gate.h"
#include "server/router/metrics.h"
#include "server/scheduling/scheduled_gate.h"

namespace rouse::daemon {

struct PrometheusInput {
  const DevicePool& pool;
  const SessionTable& sessions;
  const functions::Supervisor& supervisor;
  const router::FunctionGate& gate;
  const router::Metrics& metrics;
  const scheduling::ScheduledGate* scheduled = nullptr;  // null: there is none
  // Gauges of an executor that is not among them are absent; counters are as it said last.
  const ExecutorStates& executors;
};
std::string prometheusPage(const PrometheusInput&);

}  // namespace rouse::daemon
