#include "tools/rouse/explain.h"

#include <iostream>

#include "tools/rouse/daemon_client.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/explanation.h"

namespace rouse::cli {

int explain(const ExplainOptions& options) {
  const auto failed = [](const std::string& message, int code) {
    std::cerr << "rouse: " << message << "\n";
    return code;
  };
  if (options.request.empty()) return failed("which request? Its X-Request-Id, the id of its trace, or its traceparent", kUsage);
  auto client = DaemonClient::connect(chooseSocket(options.socket).path);
  if (!client) return failed(client.error().message, kUnreachable);
  auto reply = client->explain(options.request);
  if (!reply) return failed(reply.error().message, kFailed);
  const auto report = nlohmann::ordered_json::parse(reply->json, nullptr, false);
  if (report.is_discarded() || report.value("schema", 0) != 1 || !report.contains("requests"))
    return failed("the daemon tells of requests in a form this tool does not know", kFailed);
  if (options.json) std::cout << report.dump(2) << "\n";
  if (report["requests"].empty()) {
    const auto capacity = report.value("capacity", std::uint64_t{0});
    return failed(capacity == 0 ? std::string("the daemon keeps no requests' stories (scheduler.history is 0)")
                                : "no request '" + options.request + "' among the last " + std::to_string(report.value("remembered", std::uint64_t{0})) +
                                      " that may be shown to this user; " + std::to_string(capacity) + " are kept (scheduler.history)",
                  kUnknownRequest);
  }
  if (!options.json) std::cout << explanation(report);
  return kOk;
}

}  // namespace rouse::cli
