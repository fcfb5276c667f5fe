// The daemon: constructs everything, ties it together, and takes it down again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "server/roused/adoption.h"
#include "server/roused/config.h"
#include "server/roused/connection.h"
#include "server/roused/device_pool.h"
#include "server/roused/function_host.h"
#include "server/roused/idle_sessions.h"
#include "server/roused/listener.h"
#include "server/roused/module_store.h"
#include "server/roused/move_functions.h"
#include "server/roused/rebalancer.h"
#include "server/roused/repeated.h"
#include "server/roused/session_table.h"
#include "server/roused/settings.h"
#include "server/roused/state_file.h"
#include "server/roused/token_table.h"
#include "server/roused/unattached.h"

namespace rouse::daemon {

struct DaemonOptions {
  Settings settings;  // with every path filled in
  ClientContract contract;
  // Reads the configuration again, for SIGHUP.
  std::function<std::variant<Settings, ConfigErrors>()> reload;
  // From socket activation; otherwise the daemon makes its own at settings.socket.
  std::optional<wire::OwnedFd> listener;
  // The host store of a daemon before this one, if the service manager has kept it.
  wire::OwnedFd keptStore{};
  // How long executors may take to end before they are killed.
  std::chrono::milliseconds stopGrace{5000};
  // How long they may take to load, unload or pin a function.
  std::chrono::milliseconds movePatience = kMovePatience;
  // The kind of device was named on the command line.
  bool kindAsked = false;
  // Why no GPU can be served is not logged: who started this daemon reads it beside the socket (start_failure.h).
  bool quietFailure = false;
};

class Daemon {
 public:
  Daemon(boost::asio::io_context&, DaemonOptions);
  ~Daemon();

  // Starts everything. The daemon accepts connections once a GPU serves; if none does it stops by itself, and
  // exitCode() says why (start_failure.h).
  Status start();
  // Cuts all functions off, ends the executors, removes the socket. The event loop runs out of work when that is done.
  void stop(const std::string& why);
  int exitCode() const { return exitCode_; }
  // Ends this process at once; executors and functions go on, for the next daemon.
  [[noreturn]] void handOver();

 private:
  void offerToContainers();
  void awaitSignal();
  Status reload();
  Status order(const channel::Order&);
  void onStarted(Status);
  void onConnection(wire::OwnedFd, channel::Peer);
  void onSessionFault(std::uint64_t sessionId, const Error&);
  void report(bool unsupported, std::function<void(std::string)>);
  void askExecutors(std::function<void(ExecutorStates)> done);
  void feedWatchdog();
  void tellService();
  bool survivable() const { return settings_.orphanTimeout != 0; }
  void startPool();
  // What the next daemon must know, as of the next turn of the loop.
  void save();
  void writeState();
  SavedState state();

  boost::asio::io_context& io_;
  Settings settings_;
  ClientContract contract_;
  std::chrono::milliseconds stopGrace_, movePatience_;
  bool quietFailure_;
  std::function<std::variant<Settings, ConfigErrors>()> reload_;
  std::chrono::steady_clock::time_point startedAt_;

  DevicePool pool_;
  ModuleStore modules_;
  SessionTable sessions_;
  Unattached unattached_;
  std::unique_ptr<Adoption> adoption_;
  Rebalancer rebalancer_;
  IdleSessions idle_;
  TokenTable tokens_;
  FunctionHost functions_;
  ConnectionServices services_;
  std::optional<wire::OwnedFd> inherited_;
  wire::OwnedFd keptStore_;
  SavedState saved_;                      // what is in the file
  // What the daemon before this one had, until all of it has been gone on with: should this one be killed meanwhile, the next one needs it.
  std::optional<SavedState> before_;
  std::map<pid_t, std::uint64_t> starts_;  // of processes that are saved
  bool saving_ = false;
  std::string notSaved_;  // why not, if the last try failed
  std::unique_ptr<Listener> listener_;
  std::set<std::shared_ptr<Connection>> connections_;
  boost::asio::signal_set signals_;
  Repeated watchdog_;
  bool stopping_ = false;
  int exitCode_ = 0;
};

}  // namespace rouse::daemon
