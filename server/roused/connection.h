// One connection to the daemon's socket: a function's client library, or a tool. Decides what a peer may say when.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "server/control/channel.h"
#include "server/control/peer.h"
#include "server/roused/session_table.h"
#include "server/roused/settings.h"
#include "server/roused/token_table.h"
#include "server/roused/unattached.h"

namespace rouse::daemon {

// What client libraries must agree with (control.capnp, Attach).
struct ClientContract {
  std::uint64_t wireHash = 0;
  std::span<const std::string_view> apiNames;
};

// What connections need of the daemon; outlives them.
struct ConnectionServices {
  boost::asio::io_context& io;
  const Settings& settings;  // as of now: may change between messages
  const ClientContract& contract;
  const std::string& clientLibraries;
  DevicePool& pool;
  SessionTable& sessions;
  TokenTable& tokens;
  Unattached& unattached;
  // A process of this function has found that its session is gone.
  std::function<void(const std::string& function)> onSessionGone;
  std::function<void(bool unsupported, std::function<void(std::string json)>)> status;
  std::function<void(std::function<void(ExecutorStates)> done)> look;
  std::function<void(const channel::Move&, uid_t asker, std::function<void(Result<channel::Moved>)>)> move;
  // Of functions.d.
  std::function<Status(const channel::Order&)> order;
  std::function<Result<std::string>(const channel::LogsRequest&)> logs;
  // What became of a request; `all`: whoever asks may see every function's, else only those of functions that run as `asker`.
  std::function<std::string(const std::string& request, bool all, uid_t asker)> explain;
  // The same of the requests after one, `most` at most.
  std::function<std::string(std::uint64_t after, std::uint32_t most, bool all, uid_t asker)> stories;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionServices&, wire::OwnedFd socket, channel::Peer);

  // `over` is called once when the connection has ended, whoever ended it.
  void start(std::function<void(Connection&)> over);
  // Tells the peer why and ends the connection.
  void cutOff(const Error&);

  std::uint64_t sessionId() const { return sessionId_; }
  const channel::Peer& peer() const { return peer_; }

 private:
  void onMessage(channel::Message);
  void attach(std::uint64_t id, const channel::Attach&);
  void reattach(std::uint64_t id, const channel::Reattach&);
  void describe(std::uint64_t id, const channel::Describe&);
  Status checkContract(std::uint32_t protocol, std::uint64_t wireHash) const;
  Result<SessionRequest> requestOf(const std::string& token) const;
  Result<SessionRequest> admit(const channel::Attach&) const;
  std::shared_ptr<const wire::OwnedFd> process() const;
  void loadModule(std::uint64_t id, const channel::LoadModule&, std::vector<wire::OwnedFd>);
  void share(std::uint64_t id, channel::Ipc, std::vector<wire::OwnedFd>);
  void prepare(std::uint64_t id, const channel::Prepare&);
  Status checkPrepare(const channel::Prepare&) const;
  void move(std::uint64_t id, const channel::Move&);
  void order(std::uint64_t id, const channel::Order&);
  void explain(std::uint64_t id, const std::string& request);
  void stories(std::uint64_t id, const channel::StatusRequest&);
  Status checkOperator(const char* what) const;
  void reply(std::uint64_t id, const channel::Body&, std::vector<wire::OwnedFd> fds = {});
  void watchProcess();
  void awaitEnd();
  void end();

  ConnectionServices& services_;
  channel::Peer peer_;
  std::shared_ptr<channel::Channel> channel_;
  boost::asio::posix::stream_descriptor process_;  // pidfd of an attached process
  std::function<void(Connection&)> over_;
  std::uint64_t sessionId_ = 0;
  std::string name_;
  bool ended_ = false;
};

}  // namespace rouse::daemon
