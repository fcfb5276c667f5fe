#include "server/router/story_report.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "server/router/metrics.h"
#include "server/router/trace_context.h"

namespace rouse::router {
namespace {

using nlohmann::ordered_json;
using Kind = Step::Kind;

double milliseconds(Time from, Time to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

std::string isoTime(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count() % 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32], whole[48];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(whole, sizeof whole, "%s.%03dZ", text, static_cast<int>(part));
  return whole;
}

ordered_json describe(const Step& step, const Story& story, const std::function<bool(const std::string&)>& may) {
  ordered_json json{{"at_ms", milliseconds(story.arrived, step.at)}, {"step", name(step.kind)}};
  if (step.gpu != Step::kNoGpu) json["gpu"] = step.gpu;
  switch (step.kind) {
    case Kind::body:
      json["bytes"] = step.bytes;
      break;
    case Kind::queued:
      json["before_it"] = step.count;
      json["waiting"] = step.all;
      break;
    case Kind::away:
      json["why"] = step.code;
      json["before_it"] = step.count;
      break;
    case Kind::fetch:
    case Kind::run:
      json["why"] = step.code;
      json["source"] = name(step.source);
      if (step.from != Step::kNoGpu) json["from_gpu"] = step.from;
      if (step.source != ModelSource::resident) json["bytes"] = step.bytes;
      break;
    case Kind::evicted:
      json["function"] = may(step.text) ? ordered_json(step.text) : ordered_json();
      json["bytes"] = step.bytes;
      json["whole"] = step.all != 0;
      break;
    case Kind::moves:
      json["from_gpu"] = step.from;
      break;
    case Kind::arrived:
      json["host_bytes"] = step.bytes;
      json["peer_bytes"] = step.peerBytes;
      break;
    case Kind::stays:
    case Kind::again:
      json["why"] = step.text;
      break;
    case Kind::refused:
      json["why"] = step.code;
      json["retry_after_ms"] = step.count;
      break;
    case Kind::head:
      json["status"] = step.count;
      break;
    case Kind::admitted:
    case Kind::lost:
      break;
  }
  return json;
}

ordered_json describe(const Story& story, const std::function<bool(const std::string&)>& may) {
  const bool over = story.ended != Time{};
  ordered_json json{{"request", story.requestId}, {"trace", story.trace},           {"function", story.function},
                    {"arrived", isoTime(story.since)}, {"deadline_ms", story.deadline.count()}, {"over", over}};
  if (over) {
    json["outcome"] = name(story.outcome);
    json["status"] = story.status == 0 ? ordered_json() : ordered_json(story.status);
    json["took_ms"] = milliseconds(story.arrived, story.ended);
    json["late"] = story.ended - story.arrived > story.deadline;
    if (story.admitted != Time{}) {
      const Split parts = split(story.stages, story.arrived, story.admitted, story.ended);
      json["source"] = name(story.stages.source);
      json["queue_ms"] = parts.queue * 1e3;
      json["swap_ms"] = parts.swap * 1e3;
      json["run_ms"] = parts.run * 1e3;
    }
  }
  json["steps"] = ordered_json::array();
  for (const Step& step : story.steps) json["steps"].push_back(describe(step, story, may));
  if (story.omitted != 0) json["steps_omitted"] = story.omitted;
  return json;
}

ordered_json preamble(const History& history) {
  return {{"schema", kStorySchema}, {"remembered", std::min<std::uint64_t>(history.last(), history.capacity())}, {"capacity", history.capacity()}};
}

std::string text(const ordered_json& json) { return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace

std::string storyReport(const History& history, std::string_view id, const std::function<bool(const std::string& function)>& may) {
  const std::string_view asked = isTraceparent(id) ? id.substr(3, 32) : id;
  ordered_json json = preamble(history);
  json["asked"] = asked;
  json["requests"] = ordered_json::array();
  for (const Story* story : history.find(asked, may)) json["requests"].push_back(describe(*story, may));
  return text(json);
}

std::string storiesReport(const History& history, std::uint64_t after, std::uint32_t most, const std::function<bool(const std::string& function)>& may) {
  ordered_json json = preamble(history);
  ordered_json requests = ordered_json::array();
  const std::uint64_t last = history.last();
  std::uint64_t next = std::clamp(after, last - std::min<std::uint64_t>(last, history.capacity()), last);
  while (next < last && requests.size() < most) {
    const Story* story = history.find(++next);
    if (story == nullptr || !may(story->function)) continue;
    ordered_json one = describe(*story, may);
    one["number"] = story->number;
    one["arrived_us"] = std::chrono::duration<double, std::micro>(story->arrived.time_since_epoch()).count();
    requests.push_back(std::move(one));
  }
  json["last"] = last;
  json["next"] = next;
  json["requests"] = std::move(requests);
  return text(json);
}

}  // namespace rouse::router
