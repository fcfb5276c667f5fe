#include "tools/rouse/daemon_client.h"

#include <chrono>
#include <cstdlib>

#include "server/roused/settings.h"
#include "server/roused/start_failure.h"

namespace rouse::cli {
namespace {

// A daemon that is starting answers once its GPUs serve; longer than a move may take (server/roused/move_functions.h).
constexpr std::chrono::seconds kPatience{60};

}  // namespace

SocketChoice chooseSocket(const std::string& flag) {
  if (!flag.empty()) return {flag, true};
  if (const char* environment = std::getenv("ROUSE_SOCKET"); environment != nullptr && *environment != '\0') {
    return {environment, true};
  }
  return {daemon::Settings{}.socket, false};
}

Result<DaemonClient> DaemonClient::connect(const std::string& path) {
  auto socket = channel::SyncChannel::connect(path);
  if (!socket) {
    Error error = std::move(socket).error();
    const std::string reason = daemon::readStartFailure(path);
    if (!reason.empty()) error.message += "; the last daemon there did not start: " + reason;
    return error;
  }
  return DaemonClient(std::move(*socket));
}

template <class Answer>
Result<Answer> DaemonClient::call(const channel::Body& request) {
  constexpr std::uint64_t kRequest = 1;
  if (Status status = channel_->send(kRequest, request); !status) return status.error();
  auto received = channel_->receive(kPatience);
  if (!received) return std::move(received).error();
  if (!*received) return Error{CudaError::systemNotReady, "the daemon closed the connection"};
  channel::Body& body = (*received)->body;
  if (auto* answer = std::get_if<Answer>(&body)) return std::move(*answer);
  if (auto* error = std::get_if<Error>(&body)) return std::move(*error);
  if (auto* cutOff = std::get_if<channel::CutOff>(&body)) return std::move(cutOff->error);
  return Error{CudaError::unknown, "the daemon answered with " + std::string(channel::name(body))};
}

Result<channel::Prepared> DaemonClient::prepare(const channel::Prepare& request) {
  return call<channel::Prepared>(request);
}
Result<channel::StatusReply> DaemonClient::status(bool unsupported) {
  return call<channel::StatusReply>(channel::StatusRequest{unsupported});
}
Result<channel::StatusReply> DaemonClient::explain(const std::string& request) {
  return call<channel::StatusReply>(channel::StatusRequest{.unsupported = false, .request = request});
}
Result<channel::StatusReply> DaemonClient::stories(std::uint64_t after, std::uint32_t most) {
  return call<channel::StatusReply>(channel::StatusRequest{.unsupported = false, .stories = most, .after = after});
}

Result<channel::Moved> DaemonClient::move(const channel::Move& request) { return call<channel::Moved>(request); }

Status DaemonClient::order(const channel::Order& request) {
  auto answer = call<channel::Ok>(request);
  return answer ? Status() : Status(answer.error());
}
Result<channel::Logs> DaemonClient::logs(const channel::LogsRequest& request) { return call<channel::Logs>(request); }

}  // namespace rouse::cli
