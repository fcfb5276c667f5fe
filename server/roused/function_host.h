// The daemon's functions and the door to them: supervisor, gate and router put together, and tied to sessions, tokens
// and the store.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/control/message.h"
#include "server/control/peer.h"
#include "server/functions/supervisor.h"
#include "server/roused/device_pool.h"
#include "server/roused/executor_link.h"
#include "server/roused/function_repository.h"
#include "server/roused/session_fleet.h"
#include "server/roused/session_table.h"
#include "server/roused/settings.h"
#include "server/roused/token_table.h"
#include "server/router/admin.h"
#include "server/router/history.h"
#include "server/router/metrics.h"
#include "server/router/function_gate.h"
#include "server/router/router.h"
#include "server/scheduling/scheduled_gate.h"

namespace rouse::daemon {

class FunctionHost {
 public:
  struct Hooks {
    // A process has come to a function's own socket.
    std::function<void(wire::OwnedFd, channel::Peer)> onConnection;
    // `done`: once, when it is so, or why it is not for one of the function's processes.
    std::function<void(const channel::Move&, std::function<void(Status)> done)> move;
    // What is to be known of functions after a restart of the daemon has changed.
    std::function<void()> onProcess = [] {};
    // Asks executors how they are, and notes what has been used. `done`: once, a second later at the latest.
    std::function<void(std::function<void(const ExecutorStates&)> done)> look;
  };
  // `settings`: as of now.
  FunctionHost(boost::asio::io_context&, const Settings& settings, DevicePool&, SessionTable&, TokenTable&, Hooks);
  ~FunctionHost();

  // Takes the router's addresses; nobody is served yet.
  Status listen();
  // Processes of functions that a daemon before this one has started; before start(), which goes on with them.
  void expect(std::map<std::string, functions::Survivor> survivors) { supervisor_.expect(std::move(survivors)); }
  // A process of this function's had a session, and has it no more.
  void onSessionGone(const std::string& function) { supervisor_.onGpuLost(function); }
  // The GPUs are there: functions are started, and requests taken.
  void start();
  // `settings` have changed. Returns what is wrong with functions' files.
  std::vector<std::string> reload();
  // Requests under way, then functions, are given a moment to end.
  void stop(std::function<void()> stopped);

  Status order(const channel::Order&);
  Result<std::string> logs(const channel::LogsRequest&) const;
  // JSON (server/router/story_report.h).
  std::string explain(const std::string& request, bool all, uid_t asker) const;
  std::string stories(std::uint64_t after, std::uint32_t most, bool all, uid_t asker) const;
  // Before its sessions are told.
  void onExecutorLost(const SessionTable&, const ExecutorLink&);

  // Sessions have begun or ended, or GPUs do not serve any more or do again.
  void onChanged();
  // The scheduler says where this session's function runs: nobody else is to.
  bool schedules(const Session& session) const { return scheduled_ != nullptr && session.who.supervised; }

  const functions::Supervisor& supervisor() const { return supervisor_; }
  const router::FunctionGate& gate() const { return *gate_; }
  // Null: there is none (settings.h, schedulerPolicy).
  const scheduling::ScheduledGate* scheduled() const { return scheduled_; }
  const router::Metrics& metrics() const { return metrics_; }
  std::size_t connections() const { return router_.connections(); }

 private:
  bool owns(uid_t user, const std::string& function) const;
  Result<std::shared_ptr<void>> openDoor(const std::string& path, std::optional<functions::User>);
  std::unique_ptr<router::FunctionGate> makeGate(DevicePool&, SessionTable&);
  void readOptions();
  void prometheus(std::function<void(std::string)> done) const;

  boost::asio::io_context& io_;
  const Settings& settings_;
  const DevicePool& pool_;
  const SessionTable& sessions_;
  Hooks hooks_;
  router::Options options_;
  router::Metrics metrics_;
  router::History history_;
  std::unique_ptr<SessionFleet> fleet_;             // of scheduled_
  scheduling::ScheduledGate* scheduled_ = nullptr;  // the gate, if it is one
  std::unique_ptr<router::FunctionGate> gate_;
  functions::Supervisor supervisor_;
  FunctionRepository repository_;
  router::Router router_;
  std::unique_ptr<router::Admin> admin_;
};

}  // namespace rouse::daemon
