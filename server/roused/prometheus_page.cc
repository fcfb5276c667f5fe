#include "server/roused/prometheus_page.h"

#include <functional>
#include <map>
#include <optional>

#include "server/roused/usage_report.h"
#include "server/roused/version.h"

namespace rouse::daemon {
namespace {

void familyHead(std::string& text, const char* name, const char* type, const char* help) {
  text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

std::string gpuLabels(const ExecutorLink& link) {
  return "gpu=\"" + std::to_string(link.ordinal()) + "\",uuid=" + prometheusLabel(link.properties().uuid);
}

void addFunctions(std::string& text, const PrometheusInput& input) {
  using functions::Function;
  const auto family = [&](const char* name, const char* type, const char* help, const std::function<std::uint64_t(const Function&)>& value) {
    familyHead(text, name, type, help);
    for (const auto& [function, state] : input.supervisor.functions())
      text += std::string(name) + "{function=\"" + function + "\"} " + std::to_string(value(*state)) + "\n";
  };
  family("rouse_function_ready", "gauge", "1: it answers requests.", [](const Function& f) { return f.state() == Function::State::ready ? 1u : 0u; });
  family("rouse_function_starts_total", "counter", "Processes started for it.", [](const Function& f) { return f.starts(); });
  family("rouse_function_gpu_losses_total", "counter", "Times that it lost its GPU's executor.", [](const Function& f) { return f.losses(); });
  family("rouse_function_limits_not_applied", "gauge", "What was asked for its process and could not be done.",
         [](const Function& f) { return f.notApplied().size(); });
  family("rouse_requests_waiting", "gauge", "Requests in its queue.", [&](const Function& f) { return input.gate.waiting(f.spec().name); });
  family("rouse_requests_running", "gauge", "Requests at it.", [&](const Function& f) { return input.gate.running(f.spec().name); });
}

// Of a GPU: its shared executor and its isolated ones.
struct GpuState {
  std::uint64_t held = 0, store = 0, storeUsed = 0;
};

std::map<std::uint32_t, GpuState> statesByGpu(const PrometheusInput& input) {
  std::map<std::uint32_t, GpuState> states;
  for (const ExecutorLink* link : input.pool.executors()) {
    const auto said = input.executors.find(link);
    if (said == input.executors.end()) continue;
    GpuState& state = states[link->ordinal()];
    state.held += said->second.heldBytes;
    state.store += said->second.hostStoreBytes;
    state.storeUsed += said->second.hostStoreUsedBytes;
  }
  return states;
}

void addGpus(std::string& text, const PrometheusInput& input) {
  using Value = std::optional<std::uint64_t>;
  const auto family = [&](const char* name, const char* type, const char* help, const std::function<Value(const ExecutorLink&)>& value) {
    familyHead(text, name, type, help);
    for (const auto& link : input.pool.links())
      if (const Value number = value(*link)) text += std::string(name) + "{" + gpuLabels(*link) + "} " + std::to_string(*number) + "\n";
  };
  const auto states = statesByGpu(input);
  const auto ofState = [&](std::uint64_t GpuState::*field) {
    return [&states, field](const ExecutorLink& link) -> Value {
      const auto found = states.find(link.ordinal());
      return found == states.end() ? Value() : Value(found->second.*field);
    };
  };
  family("rouse_gpu_serving", "gauge", "1: its executor serves.", [](const ExecutorLink& link) { return link.serving() ? 1u : 0u; });
  family("rouse_gpu_memory_bytes", "gauge", "Memory for functions.", [](const ExecutorLink& link) { return link.properties().memoryBytes; });
  family("rouse_gpu_memory_used_bytes", "gauge", "What functions have of it now; what is shared counts once.", ofState(&GpuState::held));
  family("rouse_gpu_restarts_total", "counter", "Times that its executor was started again.", [](const ExecutorLink& link) { return link.restarts(); });
  family("rouse_host_store_bytes", "gauge", "Host memory that functions' memory of this GPU may take while others need theirs.", ofState(&GpuState::store));
  family("rouse_host_store_used_bytes", "gauge", "What it takes of that now; what is equal counts once.", ofState(&GpuState::storeUsed));
}

void addMemory(std::string& text, const PrometheusInput& input) {
  std::map<std::string, std::uint64_t> resident;
  for (const auto& [id, session] : input.sessions.sessions()) {
    if (session->state != Session::State::open) continue;
    for (const Session::Device& device : session->devices) {
      const auto said = input.executors.find(device.executor);
      if (!device.asleep && (!device.served() || said == input.executors.end())) continue;
      std::uint64_t& bytes = resident[session->who.name];
      if (device.asleep) continue;  // it has nothing on a GPU
      for (const channel::SessionUsage& usage : said->second.sessions)
        if (usage.sessionId == id) bytes += usage.residentBytes;
    }
  }
  familyHead(text, "rouse_function_resident_bytes", "gauge", "Its memory that is on GPUs now.");
  for (const auto& [name, bytes] : resident) text += "rouse_function_resident_bytes{function=" + prometheusLabel(name) + "} " + std::to_string(bytes) + "\n";
}

void addCounters(std::string& text, const PrometheusInput& input) {
  familyHead(text, "rouse_migrations_total", "counter", "Times that a function changed its GPU.");
  text += "rouse_migrations_total " + std::to_string(input.sessions.migrations()) + "\n";
  familyHead(text, "rouse_unsupported_calls_total", "counter", "Calls of CUDA's names that are not supported, by name.");
  for (const auto& [name, calls] : input.sessions.unsupportedCalls())
    text += "rouse_unsupported_calls_total{name=\"" + std::string(name) + "\"} " + std::to_string(calls) + "\n";
  familyHead(text, "rouse_scheduler_misfits_total", "counter", "Events that the scheduler did not understand: a defect of Rouse's.");
  text += "rouse_scheduler_misfits_total " + std::to_string(input.scheduled != nullptr ? input.scheduled->misfits() : 0) + "\n";
}

}  // namespace

std::string prometheusPage(const PrometheusInput& input) {
  std::string text;
  familyHead(text, "rouse_build_info", "gauge", "The daemon's version.");
  text += std::string("rouse_build_info{version=\"") + kVersion + "\"} 1\n";
  addFunctions(text, input);
  addGpus(text, input);
  addMemory(text, input);
  addCounters(text, input);
  const auto labelsOf = [&](std::uint32_t gpu) {
    return gpu < input.pool.links().size() ? gpuLabels(*input.pool.links()[gpu]) : "gpu=\"" + std::to_string(gpu) + "\"";
  };
  return text + usagePrometheus(usageByName(input.sessions)) + input.metrics.prometheus(labelsOf);
}

}  // namespace rouse::daemon
