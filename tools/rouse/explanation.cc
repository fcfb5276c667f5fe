#include "tools/rouse/explanation.h"

#include <cstdio>
#include <map>
#include <utility>

#include "server/roused/byte_size.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

std::string ms(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.1f ms" : "%.0f ms", value);
  return text;
}
std::string text(const ordered_json& object, const char* key) { return object.value(key, std::string()); }
std::string number(const ordered_json& object, const char* key) { return std::to_string(object.value(key, std::uint64_t{0})); }
std::string bytes(const ordered_json& object, const char* key) { return daemon::formatByteSize(object.value(key, std::uint64_t{0})); }

// sched/actions.h, Why
std::string because(const std::string& code) {
  static const std::map<std::string, const char*> kReasons = {
      {"resident", "its model was there, and the GPU idle"},
      {"in-time", "what was missing of its model would be there before it was needed"},
      {"idle-otherwise", "nobody more urgent could use that GPU"},
      {"last-chance", "it would have waited too long for the GPU that had its model"},
      {"nothing-else", "that GPU had nothing else to do"},
      {"earliest-end", "it should end first there, by links, queues and who would have to leave"},
      {"fastest-peer", "the fastest link leads there from the GPU that had its model"},
      {"quiet-link", "nobody else was loading over that GPU's link"},
      {"light-link", "only light models were loading over that GPU's link"},
      {"cheapest-room", "whoever left there cost least"},
      {"random", "the policy chooses at random"}};
  const auto found = kReasons.find(code);
  return found == kReasons.end() ? code : std::string(found->second) + " [" + code + "]";
}

std::string from(const ordered_json& step) {
  const std::string source = text(step, "source");
  if (source == "resident") return "where its model is";
  const std::string amount = step.value("bytes", std::uint64_t{0}) != 0 ? bytes(step, "bytes") + " " : "its model ";
  return amount + (source == "peer" ? "from GPU " + number(step, "from_gpu") : "from the host");
}

std::string waiting(const ordered_json& step) {
  const auto before = step.value("before_it", std::uint64_t{0});
  return before == 0 ? "none of its function's requests before it" : std::to_string(before) + " of its function's requests before it";
}

std::string line(const ordered_json& step) {
  const std::string what = text(step, "step"), gpu = step.contains("gpu") ? "GPU " + number(step, "gpu") : "";
  if (what == "body") return "its body had been read: " + bytes(step, "bytes");
  if (what == "queued") return "queued: " + waiting(step) + ", " + number(step, "waiting") + " waiting in all";
  if (what == "away")
    return std::string(text(step, "why") == "starting" ? "its function is being started: " : "its function uses no GPU: ") + waiting(step);
  if (what == "fetch") return "fetched to " + gpu + ", " + from(step) + ": " + because(text(step, "why"));
  if (what == "evicted") {
    const std::string who = step["function"].is_null() ? "another user's function" : text(step, "function");
    return "for it, " + who + " leaves " + gpu + (step.value("whole", true) ? ": " + bytes(step, "bytes") : " in part: the last " + bytes(step, "bytes"));
  }
  if (what == "run") return "given " + gpu + ", " + from(step) + ": " + because(text(step, "why"));
  if (what == "moves") return "its program is taken from GPU " + number(step, "from_gpu") + " to " + gpu;
  if (what == "stays") return "its program stays on " + gpu + ": " + text(step, "why");
  if (what == "admitted") return "sent to its function" + (gpu.empty() ? "" : ", served by " + gpu);
  if (what == "arrived") {
    const auto host = step.value("host_bytes", std::uint64_t{0}), peer = step.value("peer_bytes", std::uint64_t{0});
    std::string came;
    if (host != 0) came = bytes(step, "host_bytes") + " from the host";
    if (peer != 0) came += (came.empty() ? "" : ", ") + bytes(step, "peer_bytes") + " from another GPU";
    return "all of its model is on " + gpu + (came.empty() ? ": nothing had to come" : ": " + came);
  }
  if (what == "again") return "tried again: " + text(step, "why");
  if (what == "refused") return "refused: " + text(step, "why") + ", to come back in " + ms(step.value("retry_after_ms", 0.0));
  if (what == "lost") return gpu + "'s executor failed under it";
  if (what == "head") return "its function answers: " + number(step, "status");
  return what;
}

std::string verdict(const ordered_json& request) {
  if (!request.value("over", false)) return "is under way";
  const double took = request.value("took_ms", 0.0), deadline = request.value("deadline_ms", 0.0);
  std::string said = text(request, "outcome");
  for (char& c : said)
    if (c == '_') c = ' ';
  if (request.contains("status") && !request["status"].is_null()) said += " (" + number(request, "status") + ")";
  said += " after " + ms(took);
  return said + (took > deadline ? ", " + ms(took - deadline) + " behind its deadline of " : ", within its deadline of ") + ms(deadline);
}

std::string split(const ordered_json& request) {
  if (!request.contains("queue_ms")) return "";
  const std::string source = text(request, "source");
  std::string said = "  waited " + ms(request.value("queue_ms", 0.0)) + " for its turn";
  const std::string origin = source == "host" ? "the host" : "another GPU";
  if ((source == "host" || source == "peer") && request.value("run_ms", 0.0) < 0.05)
    return said + ", and ran while its model came from " + origin + ", " + ms(request.value("swap_ms", 0.0)) + "\n";
  if (source == "host" || source == "peer")
    said += ", " + ms(request.value("swap_ms", 0.0)) + " until its model had come from " + origin;
  return said + ", then ran " + ms(request.value("run_ms", 0.0)) + (source == "resident" ? "; its model was there\n" : "\n");
}

}  // namespace

std::string explanation(const ordered_json& report) {
  std::string text;
  for (const ordered_json& request : report["requests"]) {
    if (!text.empty()) text += "\n";
    text += "request " + request.value("request", "") + " of " + request.value("function", "") + ": " + verdict(request) + "\n" + split(request);
    text += "  arrived " + request.value("arrived", "") + ", trace " + request.value("trace", "") + "\n\n";
    const auto add = [&](double at, const std::string& what) {
      char time[32];
      std::snprintf(time, sizeof time, "%10.1f ms  ", at);
      text += time + what + "\n";
    };
    const double took = request.value("over", false) ? request.value("took_ms", 0.0) : -1;
    bool over = took < 0;
    std::string way;  // that its program is on
    for (const ordered_json& step : request["steps"]) {
      const double at = step.value("at_ms", 0.0);
      // The rest of its model may come later than its answer.
      if (!over && at > took) add(took, "over"), over = true;
      const std::string what = line(step);
      if (step.value("step", "") == "moves" && std::exchange(way, what) == what) continue;  // fetched, then run: it is the same way
      add(at, what);
    }
    if (request.contains("steps_omitted")) text += "               and " + number(request, "steps_omitted") + " steps for which there was no room\n";
    if (!over) add(took, "over");
  }
  return text;
}

}  // namespace rouse::cli
