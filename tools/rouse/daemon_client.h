// A tool's connection to a daemon.
#pragma once

#include <string>

#include "schemas/base/result.h"
#include "server/control/message.h"
#include "server/control/sync_channel.h"

namespace rouse::cli {

// --socket, else $ROUSE_SOCKET, else the system's daemon. `chosen` is set unless it is the last.
struct SocketChoice {
  std::string path;
  bool chosen = false;
};
SocketChoice chooseSocket(const std::string& flag);

class DaemonClient {
 public:
  // systemNotReady when nobody listens there; with the reason that the last daemon left, if it could not start.
  static Result<DaemonClient> connect(const std::string& path);

  Result<channel::Prepared> prepare(const channel::Prepare&);
  Result<channel::StatusReply> status(bool unsupported);
  Result<channel::StatusReply> explain(const std::string& request);
  // Of the requests after one, `most` at most.
  Result<channel::StatusReply> stories(std::uint64_t after, std::uint32_t most);
  Result<channel::Moved> move(const channel::Move&);
  Status order(const channel::Order&);
  Result<channel::Logs> logs(const channel::LogsRequest&);

 private:
  explicit DaemonClient(wire::OwnedFd socket) : channel_(std::make_unique<channel::SyncChannel>(std::move(socket))) {}
  template <class Answer>
  Result<Answer> call(const channel::Body& request);

  std::unique_ptr<channel::SyncChannel> channel_;
};

}  // namespace rouse::cli
