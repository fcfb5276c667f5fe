#include "server/roused/daemon.h"

#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "server/roused/listening_socket.h"
#include "server/roused/service_notify.h"
#include "server/roused/start_failure.h"
#include "server/roused/status_report.h"

namespace rouse::daemon {
namespace {

using namespace std::chrono_literals;

// An executor that is busy with something long is reported without its numbers.
constexpr auto kStatusPatience = 1s;
// Of one user other than root, attached or not: a user must not take all of the daemon's descriptors.
constexpr std::size_t kConnectionsPerUser = 2048;

DevicePoolOptions poolOptions(const Settings& settings, const ClientContract& contract, bool kindAsked) {
  return {.kind = settings.kind,
          .kindAsked = kindAsked,
          .count = settings.count,
          .memory = settings.memory,
          .workers = settings.workers,
          .link = settings.link,
          .topology = settings.topology,
          .hostStore = settings.hostStore,
          .swapPlan = settings.swapPlan,
          .discardLaunches = settings.discardLaunches,
          .executor = settings.executor,
          .backends = settings.backends,
          .wireHash = contract.wireHash};
}

}  // namespace

Daemon::Daemon(boost::asio::io_context& io, DaemonOptions options)
    : io_(io),
      settings_(std::move(options.settings)),
      contract_(options.contract),
      stopGrace_(options.stopGrace),
      movePatience_(options.movePatience),
      quietFailure_(options.quietFailure),
      reload_(std::move(options.reload)),
      startedAt_(std::chrono::steady_clock::now()),
      pool_(io, poolOptions(settings_, contract_, options.kindAsked),
            {.onStarted = [this](Status status) { onStarted(std::move(status)); },
             .onLost =
                 [this](ExecutorLink& link, const Error& reason) {
                   functions_.onExecutorLost(sessions_, link);
                   sessions_.markLost(link, reason);
                   functions_.onChanged();
                 },
             .onChanged =
                 [this] {
                   sessions_.onPoolChanged();
                   functions_.onChanged();
                   tellService();
                 },
             .onSessionFault = [this](std::uint64_t session, const Error& error) { onSessionFault(session, error); },
             .onSessionWaits =
                 [this](const channel::SessionWaits& waits) {
                   const auto session = sessions_.sessions().find(waits.sessionId);
                   const bool scheduled = session != sessions_.sessions().end() && functions_.schedules(*session->second);
                   if (settings_.rebalance && !stopping_ && !scheduled) rebalancer_.onSessionWaits(waits);
                 },
             .onMemoryWanted = [this](std::uint64_t session) { sessions_.recall(session); }}),
      modules_(io),
      sessions_(io, pool_, modules_, contract_.apiNames),
      rebalancer_(pool_, sessions_),
      functions_(io, settings_, pool_, sessions_, tokens_,
                 {.onConnection = [this](wire::OwnedFd socket, channel::Peer peer) { onConnection(std::move(socket), peer); },
                  .move =
                      [this](const channel::Move& move) {
                        moveFunctions(io_, pool_, sessions_, move, 0, movePatience_, [move](Result<channel::Moved> moved) {
                          Status status = moved ? Status() : Status(moved.error());
                          if (moved)
                            for (const auto& result : moved->results)
                              if (!result.status) status = result.status;
                          if (!status) spdlog::warn("function {}: not pinned: {}", move.function, status.error().message);
                        });
                      },
                  .look = [this] { look(); }}),
      services_{.io = io_,
                .settings = settings_,
                .contract = contract_,
                .clientLibraries = settings_.clientLibraries,
                .pool = pool_,
                .sessions = sessions_,
                .tokens = tokens_,
                .status = [this](bool unsupported,
                                 std::function<void(std::string)> done) { report(unsupported, std::move(done)); },
                .move =
                    [this](const channel::Move& move, uid_t asker, std::function<void(Result<channel::Moved>)> done) {
                      moveFunctions(io_, pool_, sessions_, move, asker, movePatience_, std::move(done));
                    },
                .order = [this](const channel::Order& order) { return this->order(order); },
                .logs = [this](const channel::LogsRequest& request) { return functions_.logs(request); },
                .explain = [this](const std::string& request, bool all, uid_t asker) { return functions_.explain(request, all, asker); }},
      inherited_(std::move(options.listener)),
      signals_(io, SIGTERM, SIGINT, SIGHUP),
      watchdog_(io) {
  sessions_.onChange([this] { functions_.onChanged(); });
}

Daemon::~Daemon() = default;

Status Daemon::start() {
  const bool activated = inherited_.has_value();
  auto socket = activated ? Result<wire::OwnedFd>(std::move(*inherited_))
                          : makeListeningSocket(settings_.socket, settings_.socketMode, settings_.socketGroup);
  if (!socket) return std::move(socket).error();
  listener_ = std::make_unique<Listener>(
      io_, std::move(*socket), activated ? "" : settings_.socket,
      [this](wire::OwnedFd connection, channel::Peer peer) { onConnection(std::move(connection), peer); });
  if (Status status = functions_.listen(); !status) return status;
  awaitSignal();
  feedWatchdog();
  pool_.start();
  return {};
}

void Daemon::onStarted(Status status) {
  if (stopping_) return;
  if (!status) {
    exitCode_ = exitCodeOf(status.error().code);
    leaveStartFailure(settings_.socket, status.error().message);
    return stop("no GPU can be served: " + status.error().message);
  }
  forgetStartFailure(settings_.socket);
  listener_->start();
  functions_.start();
  notifyService("READY=1");
  tellService();
}

void Daemon::awaitSignal() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      (void)reload();
    } else if (!stopping_) {
      stop("the daemon is shutting down");
    }
    awaitSignal();
  });
}

// Settings all or none; then each function by itself: one whose file is broken stays as it is.
Status Daemon::reload() {
  const auto refused = [](const std::vector<std::string>& messages) -> Status {
    for (const std::string& message : messages) spdlog::error("configuration: {}", message);
    spdlog::error("the configuration is not reloaded, nothing has changed");
    std::string all;
    for (const std::string& message : messages) all += message + "\n";
    return Error{CudaError::invalidValue, all + "the configuration is not reloaded, nothing has changed"};
  };
  auto read = reload_();
  if (const auto* errors = std::get_if<ConfigErrors>(&read)) return refused(errors->messages);
  Settings& fresh = std::get<Settings>(read);
  auto fixed = changesThatNeedRestart(settings_, fresh);
  for (std::string& name : fixed) name += " changes only with a restart";
  if (!fixed.empty()) return refused(fixed);
  settings_ = std::move(fresh);
  spdlog::set_level(spdlog::level::from_str(settings_.logLevel));
  const std::vector<std::string> errors = functions_.reload();
  spdlog::info("configuration reloaded");
  if (errors.empty()) return {};
  std::string all;
  for (const std::string& error : errors) all += error + "\n";
  return Error{CudaError::invalidValue, all + "these functions are as they were; everything else is reloaded"};
}

Status Daemon::order(const channel::Order& order) {
  if (stopping_) return Error{CudaError::devicesUnavailable, "the daemon is shutting down"};
  return order.action == channel::OrderAction::reload ? reload() : functions_.order(order);
}

void Daemon::onConnection(wire::OwnedFd socket, channel::Peer peer) {
  const auto theirs =
      std::ranges::count_if(connections_, [&](const auto& other) { return other->peer().uid == peer.uid; });
  if (peer.uid != 0 && static_cast<std::size_t>(theirs) >= kConnectionsPerUser) {
    return spdlog::warn("process {} (uid {}): connection refused, this user has {}", peer.pid, peer.uid, theirs);
  }
  auto connection = std::make_shared<Connection>(services_, std::move(socket), peer);
  connections_.insert(connection);
  connection->start([this](Connection& over) {
    connections_.erase(over.shared_from_this());
    tellService();
  });
}

void Daemon::onSessionFault(std::uint64_t sessionId, const Error& error) {
  const auto found = std::ranges::find_if(connections_, [&](const auto& c) { return c->sessionId() == sessionId; });
  if (found != connections_.end()) (*found)->cutOff(error);
}

void Daemon::report(bool unsupported, std::function<void(std::string)> done) {
  struct Gathering {
    explicit Gathering(boost::asio::io_context& io) : patience(io) {}
    std::map<std::uint32_t, channel::ExecutorStatus> executors;
    std::size_t awaited = 1;  // one more than is asked: executors that are down answer at once
    boost::asio::steady_timer patience;
    std::function<void(std::string)> done;
  };
  auto gathering = std::make_shared<Gathering>(io_);
  gathering->done = std::move(done);
  const auto finish = [this, gathering, unsupported] {
    if (!gathering->done) return;
    gathering->patience.cancel();
    for (const auto& [ordinal, status] : gathering->executors) sessions_.note(*pool_.links()[ordinal], status);
    StatusInput input{
        .pool = pool_,
        .sessions = sessions_,
        .modules = modules_,
        .socket = settings_.socket,
        .clientLibraries = settings_.clientLibraries,
        .uptime = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - startedAt_),
        .executors = std::move(gathering->executors),
        .functions = &functions_,
        .unsupported = unsupported};
    std::exchange(gathering->done, {})(statusReport(input));
  };
  const auto arrived = [gathering, finish] {
    if (--gathering->awaited == 0) finish();
  };
  for (const auto& link : pool_.links()) {
    ++gathering->awaited;
    link->request(channel::ExecutorStatusRequest{}, {},
                  [gathering, arrived, ordinal = link->ordinal()](Result<channel::Message> answer) {
                    auto* status = answer ? std::get_if<channel::ExecutorStatus>(&answer->body) : nullptr;
                    if (status != nullptr) gathering->executors[ordinal] = std::move(*status);
                    arrived();
                  });
  }
  gathering->patience.expires_after(kStatusPatience);
  gathering->patience.async_wait([finish](const boost::system::error_code& error) {
    if (!error) finish();
  });
  arrived();
}

void Daemon::look() {
  for (const auto& link : pool_.links())
    link->request(channel::ExecutorStatusRequest{}, {}, [this, asked = link.get()](Result<channel::Message> answer) {
      if (const auto* status = answer ? std::get_if<channel::ExecutorStatus>(&answer->body) : nullptr) sessions_.note(*asked, *status);
    });
}

// The loop turns: that is the progress a daemon that never computes can show.
void Daemon::feedWatchdog() {
  const auto interval = watchdogInterval();
  if (!interval) return;
  notifyService("WATCHDOG=1");
  watchdog_.expires_after(std::max<std::chrono::microseconds>(*interval / 2, 1s));
  watchdog_.async_wait([this](const boost::system::error_code& error) {
    if (!error) feedWatchdog();
  });
}

void Daemon::tellService() {
  if (stopping_) return;
  notifyService("STATUS=" + std::to_string(pool_.serving()) + " of " + std::to_string(pool_.links().size()) +
                " GPUs (" + std::string(pool_.kind()) + "), " + std::to_string(sessions_.attached()) +
                " processes attached");
}

void Daemon::stop(const std::string& why) {
  if (std::exchange(stopping_, true)) return;
  if (exitCode_ == kExitOk) {
    spdlog::info("stopping: {}", why);
  } else if (!quietFailure_) {
    spdlog::critical("{}", why);
  }
  notifyService("STOPPING=1");
  listener_->stop();
  // Requests end, then functions, then what they stand on.
  functions_.stop([this, why] {
    const Error reason{CudaError::devicesUnavailable, why};
    sessions_.refuseWaiting(reason);
    sessions_.markAllLost(reason);
    const auto connections = connections_;
    for (const auto& connection : connections) connection->cutOff(reason);
    pool_.stop(stopGrace_, [this] {
      boost::system::error_code ignored;
      signals_.cancel(ignored);
      watchdog_.cancel();
    });
  });
}

}  // namespace rouse::daemon
