#include "tools/rouse/node_check.h"

#include <cstdio>

#include "tools/rouse/daemon_client.h"
#include "tools/rouse/private_daemon.h"

namespace rouse::cli {
namespace {

using nlohmann::ordered_json;

// Enough to be handed out, little enough to be there on a GPU that works.
constexpr std::uint64_t kTrialBytes = std::uint64_t{64} << 20;

void takeReport(const channel::StatusReply& reply, NodeFindings& found) {
  const ordered_json report = ordered_json::parse(reply.json, nullptr, false);
  if (report.is_discarded() || report.value("schema", 0) != 1) {
    found.problems.push_back(found.asked + " reports in a form this tool does not know");
    return;
  }
  found.gpus = report["gpus"];
  if (const std::string reason = report["daemon"].value("device_reason", ""); !reason.empty())
    found.problems.push_back(reason);
  for (const auto& gpu : found.gpus) {
    if (gpu["state"] != "serving")
      found.problems.push_back(gpu.value("problem", "GPU " + gpu["index"].dump() + " is lost"));
  }
}

void checkPrivately(NodeFindings& found) {
  found.asked = "a private daemon";
  auto daemon = PrivateDaemon::start({.device = "cuda", .gpus = 0, .gpuMemory = kTrialBytes, .logLevel = "critical"});
  if (!daemon) {
    found.problems.push_back("no private daemon: " + daemon.error().message);
    return;
  }
  auto client = DaemonClient::connect(daemon->socket());
  auto reply = client ? client->status(false) : Result<channel::StatusReply>(client.error());
  if (reply) return takeReport(*reply, found);
  const std::string ended = daemon->howItEnded();
  found.problems.push_back(ended.empty() ? reply.error().message : ended);
}

}  // namespace

NodeFindings checkNode(const std::string& socketFlag) {
  NodeFindings found;
  const SocketChoice socket = chooseSocket(socketFlag);
  found.asked = "the daemon at " + socket.path;
  auto client = DaemonClient::connect(socket.path);
  if (!client) {
    if (socket.chosen) found.problems.push_back(client.error().message);
    if (!socket.chosen) checkPrivately(found);
    return found;
  }
  if (auto reply = client->status(false))
    takeReport(*reply, found);
  else
    found.problems.push_back(reply.error().message);
  return found;
}

Result<PoolDevices> devicesOf(const std::string& socketFlag) {
  const SocketChoice socket = chooseSocket(socketFlag);
  auto client = DaemonClient::connect(socket.path);
  auto reply = client ? client->status(false) : Result<channel::StatusReply>(client.error());
  if (!reply && socket.chosen) return reply.error();
  PoolDevices devices;
  if (!reply) return devices;
  const ordered_json report = ordered_json::parse(reply->json, nullptr, false);
  if (report.is_discarded() || report.value("schema", 0) != 1) return devices;
  devices.cpu = report["daemon"].value("device_kind", "") == "cpu";
  if (devices.cpu) return devices;
  for (const auto& gpu : report["gpus"]) {
    unsigned major = 0, minor = 0;
    if (std::sscanf(gpu.value("compute_capability", "").c_str(), "%u.%u", &major, &minor) == 2 && major != 0) devices.gpus.insert(major * 10 + minor);
  }
  return devices;
}

}  // namespace rouse::cli
