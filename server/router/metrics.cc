#include "server/router/metrics.h"

#include <algorithm>
#include <cstdio>

namespace rouse::router {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void family(std::string& to, const char* name, const char* type, const char* help) {
  to.append("# HELP ")
      .append(name)
      .append(" ")
      .append(help)
      .append("\n# TYPE ")
      .append(name)
      .append(" ")
      .append(type)
      .append("\n");
}

}  // namespace

void Histogram::add(double seconds) {
  const auto bucket = std::ranges::lower_bound(kBounds, seconds);
  if (bucket != kBounds.end()) ++buckets_[static_cast<std::size_t>(bucket - kBounds.begin())];
  ++count_;
  sum_ += seconds;
}

void Histogram::print(std::string& to, const std::string& name, const std::string& labels) const {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    below += buckets_[i];
    to += name + "_bucket{" + labels + ",le=\"" + number(kBounds[i]) + "\"} " + std::to_string(below) + "\n";
  }
  to += name + "_bucket{" + labels + ",le=\"+Inf\"} " + std::to_string(count_) + "\n";
  to += name + "_sum{" + labels + "} " + number(sum_) + "\n" + name + "_count{" + labels + "} " +
        std::to_string(count_) + "\n";
}

Split split(const Stages& stages, Time arrived, Time admitted, Time ended) {
  const auto seconds = [](Time from, Time to) { return std::chrono::duration<double>(to - from).count(); };
  ended = std::max(arrived, ended);
  const Time begun = std::clamp(stages.begun == Time{} ? admitted : stages.begun, arrived, ended);
  const bool comes = stages.source == ModelSource::host || stages.source == ModelSource::peer;
  const Time here = stages.here != Time{} ? std::clamp(stages.here, begun, ended) : comes ? ended : begun;
  return {.queue = seconds(arrived, begun), .swap = seconds(begun, here), .run = seconds(here, ended)};
}

void FunctionMetrics::add(const Stages& last, Time arrived, Time admitted, Time ended) {
  if (admitted == Time{}) return;
  const Split one = split(last, arrived, admitted, ended);
  StageSums& of = stages[static_cast<std::size_t>(last.source)];
  ++of.requests;
  of.sum.queue += one.queue;
  of.sum.swap += one.swap;
  of.sum.run += one.run;
}

FunctionMetrics& Metrics::of(std::string_view function) {
  const auto found = functions_.find(function);
  return found != functions_.end() ? found->second
                                   : functions_.emplace(std::string(function), FunctionMetrics{}).first->second;
}
const FunctionMetrics* Metrics::find(std::string_view function) const {
  const auto found = functions_.find(function);
  return found == functions_.end() ? nullptr : &found->second;
}
void Metrics::forget(std::string_view function) {
  if (const auto found = functions_.find(function); found != functions_.end()) functions_.erase(found);
}

std::string Metrics::prometheus(const std::function<std::string(std::uint32_t gpu)>& gpuLabels) const {
  // Names of functions need no escaping (route.h).
  const auto labels = [](const std::string& function) { return "function=\"" + function + "\""; };
  std::string text;
  family(text, "rouse_requests_total", "counter", "Requests by function and how they ended.");
  for (const auto& [name, metrics] : functions_) {
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      text += "rouse_requests_total{" + labels(name) + ",outcome=\"" +
              std::string(router::name(static_cast<Outcome>(i))) + "\"} " + std::to_string(metrics.requests[i]) + "\n";
    }
  }
  const auto counter = [&](const char* name, const char* help, std::uint64_t FunctionMetrics::*field) {
    family(text, name, "counter", help);
    for (const auto& [function, metrics] : functions_)
      text += std::string(name) + "{" + labels(function) + "} " + std::to_string(metrics.*field) + "\n";
  };
  counter("rouse_request_retries_total", "Requests that were sent to their function a second time.",
          &FunctionMetrics::retries);
  counter("rouse_requests_late_total", "Requests that were answered behind their function's deadline.",
          &FunctionMetrics::late);
  counter("rouse_request_body_bytes_total", "Bytes of requests' bodies.", &FunctionMetrics::requestBytes);
  counter("rouse_response_body_bytes_total", "Bytes of answers' bodies.", &FunctionMetrics::responseBytes);
  const auto histogram = [&](const char* name, const char* help, Histogram FunctionMetrics::*field) {
    family(text, name, "histogram", help);
    for (const auto& [function, metrics] : functions_) (metrics.*field).print(text, name, labels(function));
  };
  histogram("rouse_request_queue_seconds", "From a request's arrival to its admission.", &FunctionMetrics::queue);
  histogram("rouse_request_run_seconds", "From a request's admission to the end of its answer.", &FunctionMetrics::run);
  histogram("rouse_request_seconds", "From a request's arrival to the end of its answer.", &FunctionMetrics::whole);
  family(text, "rouse_requests_by_source_total", "counter",
         "Requests that were let in, by where their model was when a GPU was given to them.");
  for (const auto& [function, metrics] : functions_)
    for (std::size_t i = 0; i < kModelSources; ++i)
      text += "rouse_requests_by_source_total{" + labels(function) + ",source=\"" + std::string(router::name(static_cast<ModelSource>(i))) +
              "\"} " + std::to_string(metrics.stages[i].requests) + "\n";
  family(text, "rouse_request_stage_seconds_total", "counter",
         "Time of these requests: queue, until a GPU was given; swap, until all of the model was there; run, after that.");
  for (const auto& [function, metrics] : functions_)
    for (std::size_t i = 0; i < kModelSources; ++i)
      for (const auto& [stage, value] : {std::pair{"queue", metrics.stages[i].sum.queue}, {"swap", metrics.stages[i].sum.swap}, {"run", metrics.stages[i].sum.run}})
        text += "rouse_request_stage_seconds_total{" + labels(function) + ",source=\"" + std::string(router::name(static_cast<ModelSource>(i))) +
                "\",stage=\"" + stage + "\"} " + number(value) + "\n";
  family(text, "rouse_gpu_requests_total", "counter", "Requests of functions that a GPU served, by GPU.");
  for (const auto& [gpu, metrics] : gpus_) text += "rouse_gpu_requests_total{" + gpuLabels(gpu) + "} " + std::to_string(metrics.requests) + "\n";
  family(text, "rouse_gpu_request_seconds_total", "counter", "Their time from admission to the end of the answer, by GPU.");
  for (const auto& [gpu, metrics] : gpus_) text += "rouse_gpu_request_seconds_total{" + gpuLabels(gpu) + "} " + number(metrics.seconds) + "\n";
  family(text, "rouse_router_other_requests_total", "counter", "Requests of no function, by status.");
  for (const auto& [status, count] : others_)
    text +=
        "rouse_router_other_requests_total{code=\"" + std::to_string(status) + "\"} " + std::to_string(count) + "\n";
  family(text, "rouse_router_connections", "gauge", "Connections of clients that are open.");
  text += "rouse_router_connections " + std::to_string(connections) + "\n";
  family(text, "rouse_router_connections_refused_total", "counter",
         "Connections that were turned away because of router.max_connections.");
  text += "rouse_router_connections_refused_total " + std::to_string(connectionsRefused) + "\n";
  return text;
}

}  // namespace rouse::router
