#include "tools/rouse/timeline.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>

#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/timeline_events.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

int failed(const std::string& message, int code) {
  std::cerr << "rouse: " << message << "\n";
  return code;
}

// All that is remembered and may be seen, the oldest first. Ends where the last one was when this began, or soon after it.
Result<ordered_json> ask(DaemonClient& client, std::vector<ordered_json>& requests) {
  ordered_json page;
  std::uint64_t next = 0, last = 0;
  do {
    auto reply = client.stories(next, channel::StatusRequest::kMostStories);
    if (!reply) return std::move(reply).error();
    page = ordered_json::parse(reply->json, nullptr, false);
    if (page.is_discarded() || page.value("schema", 0) != 1 || !page.contains("requests") || !page.contains("next"))
      return Error{CudaError::unknown, "the daemon tells of requests in a form this tool does not know"};
    if (next == 0) last = page.value("last", std::uint64_t{0});
    for (ordered_json& request : page["requests"]) requests.push_back(std::move(request));
    const std::uint64_t now = page.value("next", std::uint64_t{0});
    if (now <= next) break;
    next = now;
  } while (next < last);
  return page;
}

}  // namespace

int timeline(const TimelineOptions& options) {
  auto client = DaemonClient::connect(chooseSocket(options.socket).path);
  if (!client) return failed(client.error().message, kUnreachable);
  std::vector<ordered_json> requests;
  auto page = ask(*client, requests);
  if (!page) return failed(page.error().message, kFailed);
  if (!options.functions.empty()) {
    std::erase_if(requests, [&](const ordered_json& request) {
      return std::find(options.functions.begin(), options.functions.end(), request.value("function", "")) == options.functions.end();
    });
  }
  if (options.last != 0 && requests.size() > options.last) requests.erase(requests.begin(), requests.end() - options.last);
  if (requests.empty())
    return failed(page->value("capacity", std::uint64_t{0}) == 0 ? "the daemon keeps no requests' stories (scheduler.history is 0)"
                                                                 : "none of the requests that are remembered may be shown to this user" +
                                                                       std::string(options.functions.empty() ? "" : ", or is of these functions"),
                  kUnknownRequest);

  const std::string text = timelineEvents(requests).dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  if (options.output.empty()) {
    std::cout << text << std::flush;
    if (!std::cout) return failed("standard output: it cannot be written", kFailed);
  } else {
    std::ofstream file(options.output, std::ios::binary);
    file << text << std::flush;
    if (!file) return failed(options.output + ": " + std::strerror(errno), kFailed);
  }
  std::set<std::string> functions;
  for (const ordered_json& request : requests) functions.insert(request.value("function", ""));
  std::cerr << requests.size() << (requests.size() == 1 ? " request" : " requests") << " of " << functions.size() << (functions.size() == 1 ? " function" : " functions")
            << ", the first of " << requests.front().value("arrived", "") << "; https://ui.perfetto.dev shows them\n";
  return kOk;
}

}  // namespace rouse::cli
