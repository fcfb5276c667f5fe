#include "server/roused/daemon.h"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "server/roused/cdi.h"
#include "server/roused/listening_socket.h"
#include "server/roused/process_handle.h"
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
          .isolated = {.spares = settings.spares,
                       .hostStore = settings.isolatedStore != 0 || settings.hostStore == 0 ? settings.isolatedStore : settings.hostStore},
          .swapPlan = settings.swapPlan,
          .discardLaunches = settings.discardLaunches,
          .codeCache = settings.codeCache,
          .codeCacheBytes = settings.codeCacheBytes,
          .executor = settings.executor,
          .backends = settings.backends,
          .wireHash = contract.wireHash,
          .adoptionSocket = adoptionPath(settings.socket),
          .orphanTimeout = settings.orphanTimeout,
          .liveness = std::chrono::milliseconds(settings.liveness)};
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
                   save();
                 },
             .onSessionFault = [this](std::uint64_t session, const Error& error) { onSessionFault(session, error); },
             .onSessionWaits =
                 [this](const channel::SessionWaits& waits) {
                   const auto session = sessions_.sessions().find(waits.sessionId);
                   const bool scheduled = session != sessions_.sessions().end() && functions_.schedules(*session->second);
                   if (settings_.rebalance && !stopping_ && !scheduled) rebalancer_.onSessionWaits(waits);
                 },
             .onMemoryWanted = [this](std::uint64_t session) { sessions_.recall(session); },
             .onAdopted =
                 [this](const std::vector<AdoptedExecutor>& adopted) {
                   for (const auto& session : sessions_.adopt(adopted)) unattached_.add(session);
                 }}),
      modules_(io),
      sessions_(io, pool_, modules_, contract_.apiNames),
      unattached_(io, sessions_),
      rebalancer_(pool_, sessions_),
      idle_(io, sessions_, settings_.isolatedIdle),
      functions_(io, settings_, pool_, sessions_, tokens_,
                 {.onConnection = [this](wire::OwnedFd socket, channel::Peer peer) { onConnection(std::move(socket), peer); },
                  .move =
                      [this](const channel::Move& move, std::function<void(Status)> done) {
                        moveFunctions(io_, pool_, sessions_, move, 0, movePatience_, [done = std::move(done)](Result<channel::Moved> moved) {
                          Status status = moved ? Status() : Status(moved.error());
                          if (moved)
                            for (const auto& result : moved->results)
                              if (!result.status) status = result.status;
                          done(std::move(status));
                        });
                      },
                  .onProcess = [this] { save(); },
                  .look = [this](std::function<void(const ExecutorStates&)> done) { askExecutors(std::move(done)); }}),
      services_{.io = io_,
                .settings = settings_,
                .contract = contract_,
                .clientLibraries = settings_.clientLibraries,
                .pool = pool_,
                .sessions = sessions_,
                .tokens = tokens_,
                .unattached = unattached_,
                .onSessionGone = [this](const std::string& function) { functions_.onSessionGone(function); },
                .status = [this](bool unsupported,
                                 std::function<void(std::string)> done) { report(unsupported, std::move(done)); },
                .look = [this](std::function<void(ExecutorStates)> done) { askExecutors(std::move(done)); },
                .move =
                    [this](const channel::Move& move, uid_t asker, std::function<void(Result<channel::Moved>)> done) {
                      moveFunctions(io_, pool_, sessions_, move, asker, movePatience_, std::move(done));
                    },
                .order = [this](const channel::Order& order) { return this->order(order); },
                .logs = [this](const channel::LogsRequest& request) { return functions_.logs(request); },
                .explain = [this](const std::string& request, bool all, uid_t asker) { return functions_.explain(request, all, asker); },
                .stories = [this](std::uint64_t after, std::uint32_t most, bool all, uid_t asker) { return functions_.stories(after, most, all, asker); }},
      inherited_(std::move(options.listener)),
      keptStore_(std::move(options.keptStore)),
      signals_(io, SIGTERM, SIGINT, SIGHUP),
      watchdog_(
          io, [] { return std::max<Repeated::Duration>(*watchdogInterval() / 2, 1s); }, [] { notifyService("WATCHDOG=1"); }) {
  signals_.add(SIGUSR1);
  sessions_.onChange([this] {
    functions_.onChanged();
    save();
  });
  tokens_.onChange([this] { save(); });
}

Daemon::~Daemon() = default;

Status Daemon::start() {
  const bool activated = inherited_.has_value();
  auto socket = activated ? Result<wire::OwnedFd>(std::move(*inherited_))
                          : makeListeningSocket(settings_.socket, settings_.socketMode, settings_.socketGroup);
  if (!socket) return Error{socket.error().code, "daemon.socket: " + socket.error().message};
  listener_ = std::make_unique<Listener>(
      io_, std::move(*socket), activated ? "" : settings_.socket,
      [this](wire::OwnedFd connection, channel::Peer peer) { onConnection(std::move(connection), peer); });
  if (Status status = functions_.listen(); !status) return status;
  awaitSignal();
  feedWatchdog();
  startPool();
  return {};
}

// What a daemon before this one has left is gone on with.
void Daemon::startPool() {
  SavedState before;
  if (survivable()) {
    auto read = readState(statePath(settings_.socket));
    if (read)
      before = std::move(*read);
    else
      spdlog::error("what the daemon before this one had is not gone on with: {}", read.error().message);
    sessions_.continueFrom(before.nextSession);
    for (const auto& token : before.tokens) tokens_.restore(token.token, token.user, token.function);
    std::map<std::string, functions::Survivor> survivors;
    for (const auto& function : before.functions)
      if (wire::OwnedFd process = openProcess(function.process.pid, function.process.start))
        survivors.insert_or_assign(function.name, functions::Survivor{.pid = function.process.pid,
                                                                      .process = std::move(process),
                                                                      .token = function.token,
                                                                      .uid = function.uid,
                                                                      .terms = function.terms,
                                                                      .starts = function.starts,
                                                                      .losses = function.losses});
    functions_.expect(std::move(survivors));
    before_ = before;
    adoption_ = std::make_unique<Adoption>(io_, adoptionPath(settings_.socket));
    const Status status = adoption_->start(before.executors, [this](std::vector<OrphanPtr> orphans) {
      if (stopping_) return;
      pool_.start(std::move(orphans), std::move(keptStore_));
      save();
    });
    if (status) return;
    spdlog::error("executors end with this daemon: {}", status.error().message);
    adoption_.reset();
  }
  pool_.start({}, std::move(keptStore_));
}

void Daemon::save() {
  if (!survivable() || stopping_ || std::exchange(saving_, true)) return;
  boost::asio::post(io_, [this] {
    saving_ = false;
    if (!stopping_) writeState();
  });
}

void Daemon::writeState() {
  SavedState now = state();
  if (now == saved_) return;
  if (Status status = rouse::daemon::writeState(statePath(settings_.socket), now); !status) {
    // A disk that is full stays full for a while: it is told once.
    if (std::exchange(notSaved_, status.error().message) != status.error().message)
      spdlog::error("should this daemon be killed, what it has ends with it: {}", status.error().message);
    return;
  }
  notSaved_.clear();
  saved_ = std::move(now);
}

SavedState Daemon::state() {
  // Of a few at once, so that not every session is a reason to write.
  constexpr std::uint64_t kNumbers = 256;
  SavedState state{.daemon = {}, .nextSession = (sessions_.nextId() / kNumbers + 1) * kNumbers, .executors = {}, .functions = {}, .onGpus = {}, .tokens = {}};
  std::map<pid_t, std::uint64_t> starts;
  const auto processOf = [&](pid_t pid) {
    const auto known = starts_.find(pid);
    const std::uint64_t start = known != starts_.end() ? known->second : startOfProcess(pid).value_or(0);
    starts[pid] = start;
    return SavedState::Process{pid, start};
  };
  state.daemon = processOf(::getpid());
  for (const auto& link : pool_.links())
    if (link->pid() > 0) state.executors.push_back(processOf(link->pid()));
  for (const auto& [name, function] : functions_.supervisor().functions())
    if (function->pid() > 0)
      state.functions.push_back({.name = name,
                                 .process = processOf(function->pid()),
                                 .token = function->token(),
                                 .uid = function->user() ? function->user()->uid : ::geteuid(),
                                 .terms = functions::processTerms(function->spec()),
                                 .starts = function->starts(),
                                 .losses = function->losses()});
  std::set<std::string> names;
  for (const auto& [id, session] : sessions_.sessions())
    if (session->who.supervised && session->state == Session::State::open) names.insert(session->who.name);
  if (before_) {
    if (pool_.links().empty()) state.executors = before_->executors;
    state.functions = before_->functions;
    names.insert(before_->onGpus.begin(), before_->onGpus.end());
  }
  state.onGpus.assign(names.begin(), names.end());
  tokens_.forEach([&](const std::string& token, uid_t user, const Function& function) { state.tokens.push_back({token, user, function}); });
  starts_ = std::move(starts);
  return state;
}

void Daemon::handOver() {
  if (survivable()) writeState();
  spdlog::info("handing over to the daemon that is started next");
  spdlog::default_logger()->flush();
  std::_Exit(kExitHandedOver);
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
  offerToContainers();
  functions_.start();
  // Those whose executors have not lived to be adopted.
  std::set<std::string> served;
  for (const auto& [id, session] : sessions_.sessions())
    if (session->state == Session::State::open) served.insert(session->who.name);
  if (const auto before = std::exchange(before_, std::nullopt))
    for (const std::string& function : before->onGpus)
      if (!served.contains(function)) functions_.onSessionGone(function);
  save();
  idle_.start();
  notifyService("READY=1");
  tellService();
}

void Daemon::offerToContainers() {
  if (settings_.cdi.empty()) return;
  auto text = cdiSpec(std::filesystem::absolute(settings_.socket), settings_.clientLibraries);
  Status written = text ? writeCdi(settings_.cdi, *text) : Status(text.error());
  if (!written) spdlog::error("containers are not offered the pool (daemon.cdi): {}", written.error().message);
}

void Daemon::awaitSignal() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      (void)reload();
    } else if (signal == SIGUSR1) {
      if (survivable() && !stopping_) handOver();
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
  if (found != connections_.end()) return (*found)->cutOff(error);
  spdlog::warn("session {} is cut off: {}", sessionId, error.message);
  unattached_.close(sessionId);
}

// `done`: once, with what has been noted, and without those that have not answered in time.
void Daemon::askExecutors(std::function<void(ExecutorStates)> done) {
  struct Gathering {
    explicit Gathering(boost::asio::io_context& io) : patience(io) {}
    ExecutorStates executors;
    std::size_t awaited = 1;  // one more than is asked: executors that are down answer at once
    boost::asio::steady_timer patience;
    std::function<void(ExecutorStates)> done;
  };
  auto gathering = std::make_shared<Gathering>(io_);
  gathering->done = std::move(done);
  const auto finish = [this, gathering] {
    if (!gathering->done) return;
    gathering->patience.cancel();
    for (const auto& [link, status] : gathering->executors) sessions_.note(*link, status);
    std::exchange(gathering->done, {})(std::move(gathering->executors));
  };
  const auto arrived = [gathering, finish] {
    if (--gathering->awaited == 0) finish();
  };
  for (ExecutorLink* link : pool_.executors()) {
    ++gathering->awaited;
    link->request(channel::ExecutorStatusRequest{}, {},
                  [gathering, arrived, link](Result<channel::Message> answer) {
                    auto* status = answer ? std::get_if<channel::ExecutorStatus>(&answer->body) : nullptr;
                    if (status != nullptr) gathering->executors[link] = std::move(*status);
                    arrived();
                  });
  }
  gathering->patience.expires_after(kStatusPatience);
  gathering->patience.async_wait([finish](const boost::system::error_code& error) {
    if (!error) finish();
  });
  arrived();
}

void Daemon::report(bool unsupported, std::function<void(std::string)> done) {
  askExecutors([this, unsupported, done = std::move(done)](ExecutorStates executors) {
    done(statusReport({.pool = pool_,
                       .sessions = sessions_,
                       .modules = modules_,
                       .socket = settings_.socket,
                       .clientLibraries = settings_.clientLibraries,
                       .uptime = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - startedAt_),
                       .executors = std::move(executors),
                       .functions = &functions_,
                       .unsupported = unsupported}));
  });
}

// The loop turns: that is the progress a daemon that never computes can show.
void Daemon::feedWatchdog() {
  if (!watchdogInterval()) return;
  notifyService("WATCHDOG=1");
  watchdog_.start();
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
  if (adoption_) adoption_->refuse(why);
  adoption_.reset();
  unattached_.stop();
  if (survivable()) ::unlink(statePath(settings_.socket).c_str());
  if (!settings_.cdi.empty()) ::unlink(settings_.cdi.c_str());
  idle_.stop();
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
      watchdog_.stop();
    });
  });
}

}  // namespace rouse::daemon
