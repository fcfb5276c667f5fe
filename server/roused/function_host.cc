#include "server/roused/function_host.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "server/roused/listener.h"
#include "server/roused/listening_socket.h"
#include "server/roused/prometheus_page.h"
#include "server/roused/user_range.h"
#include "server/router/listen_address.h"
#include "server/router/queue_gate.h"
#include "server/router/story_report.h"

namespace rouse::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto kRequestsGrace = 1s;
constexpr auto kFunctionsGrace = 4s;

functions::SupervisorOptions supervisorOptions(const Settings& settings) {
  return {.folder = settings.functionsDirectory,
          .runtimeFolder = settings.functionsRuntime,
          .clientLibraries = settings.clientLibraries,
          .daemonSocket = settings.socket,
          .cgroup = settings.functionsCgroup,
          .users = parseUserRange(settings.functionsUsers).value_or(UserRange{}),
          .survive = settings.orphanTimeout != 0};
}

router::RepositoryAccess repositoryAccess(const std::string& setting) {
  using Access = router::RepositoryAccess;
  return setting == "all" ? Access::all : setting == "socket" ? Access::socket : setting == "index" ? Access::index : Access::off;
}

Function termsOf(const functions::FunctionSpec& spec) {
  return {.name = spec.name, .gpus = spec.gpus, .gpuMemory = spec.gpuMemory, .hostMemory = spec.hostMemory, .supervised = true, .isolated = spec.isolated};
}

}  // namespace

FunctionHost::FunctionHost(boost::asio::io_context& io, const Settings& settings, DevicePool& pool, SessionTable& sessions, TokenTable& tokens, Hooks hooks)
    : io_(io),
      settings_(settings),
      pool_(pool),
      sessions_(sessions),
      hooks_(std::move(hooks)),
      history_(settings.schedulerHistory),
      gate_(makeGate(pool, sessions)),
      supervisor_(io, supervisorOptions(settings), *gate_,
                  {.openDoor = [this](const std::string& path,
                                      std::optional<functions::User> user) { return openDoor(path, user); },
                   .issueToken =
                       [&tokens, &pool](const functions::FunctionSpec& spec, uid_t user) {
                         if (spec.isolated) pool.isolated().expect();
                         return tokens.issueLasting(user, termsOf(spec));
                       },
                   .revokeToken = [&tokens](const std::string& token) { tokens.forget(token); },
                   .restoreToken = [&tokens](const functions::FunctionSpec& spec, uid_t user,
                                             const std::string& token) { tokens.restore(token, user, termsOf(spec)); },
                   .onProcess =
                       [this] {
                         hooks_.onProcess();
                         repository_.look();
                       },
                   .onReady =
                       [this](const functions::FunctionSpec& spec) {
                         if (spec.pin && settings_.hostStore != 0)
                           hooks_.move({spec.name, channel::MoveAction::pin, 0}, [name = spec.name](const Status& status) {
                             if (!status) spdlog::warn("function {}: not pinned: {}", name, status.error().message);
                           });
                       },
                   .onProcessGone = [this](const std::string& function) { router_.forgetConnections(function); }}),
      repository_(io, supervisor_,
                  [this](const std::string& function, std::function<void(Status)> done) {
                    if (settings_.hostStore == 0) return done({});  // what it has is there
                    hooks_.move({function, channel::MoveAction::load, 0}, std::move(done));
                  }),
      router_(io, options_, supervisor_, *gate_, metrics_, history_) {
  readOptions();
  router_.serve(repository_);
  router_.onFailure([this](std::string_view function) { supervisor_.onFailure(function); });
}

FunctionHost::~FunctionHost() = default;

std::unique_ptr<router::FunctionGate> FunctionHost::makeGate(DevicePool& pool, SessionTable& sessions) {
  if (settings_.schedulerPolicy == "queue" || settings_.hostStore == 0) return std::make_unique<router::QueueGate>(io_, &history_);
  fleet_ = std::make_unique<SessionFleet>(
      io_, pool, sessions, settings_.schedulerSlots,
      SessionFleet::Events{
          .onFunction = [this](const std::string& function, std::optional<scheduling::Whereabouts> where) { scheduled_->observe(function, where); },
          .onGpu = [this](std::uint32_t gpu, const sched::GpuSpec& spec) { scheduled_->gpuAdded(gpu, spec); },
          .onPeer = [this](std::uint32_t gpu, const sched::Peer& peer) { scheduled_->peerAdded(gpu, peer); },
          .onGpuLost = [this](std::uint32_t gpu) { scheduled_->gpuLost(gpu); },
          .onGpuReturned = [this](std::uint32_t gpu) { scheduled_->gpuReturned(gpu); }});
  const auto part = [this](const std::string& setting) { return setting == "policy" ? settings_.schedulerPolicy : setting; };
  auto gate = std::make_unique<scheduling::ScheduledGate>(io_, *fleet_, sched::makePolicies({part(settings_.schedulerQueueing), part(settings_.schedulerPlacement), part(settings_.schedulerEviction), settings_.schedulerAdmission}).value(),
                                                          &history_);
  scheduled_ = gate.get();
  return gate;
}

void FunctionHost::onChanged() {
  if (fleet_) fleet_->look();
}

void FunctionHost::readOptions() {
  options_.listen = settings_.routerListen;
  options_.socket = settings_.routerSocket;
  options_.admin = settings_.routerAdmin;
  options_.headerTimeout = std::chrono::milliseconds(settings_.routerHeaderTimeout);
  options_.bodyTimeout = std::chrono::milliseconds(settings_.routerBodyTimeout);
  options_.idleTimeout = std::chrono::milliseconds(settings_.routerIdleTimeout);
  options_.maxHeader = settings_.routerMaxHeader;
  options_.maxConnections = settings_.routerMaxConnections;
  options_.repository = repositoryAccess(settings_.routerRepository);
}

Status FunctionHost::listen() {
  const auto tcp = [](const std::string& where, const char* key) -> Result<wire::OwnedFd> {
    auto socket = router::listenOn(router::parseHostPort(where).value_or(router::HostPort{}));
    if (!socket) return Error{socket.error().code, std::string(key) + ": " + socket.error().message};
    spdlog::info("{}: listening on port {}", key, router::portOf(socket->get()));
    return socket;
  };
  if (!options_.listen.empty()) {
    auto socket = tcp(options_.listen, "router.listen");
    if (!socket) return socket.error();
    router_.add(std::move(*socket), "");
  }
  if (!options_.socket.empty()) {
    auto socket = makeListeningSocket(options_.socket, settings_.routerSocketMode, "");
    if (!socket) return Error{socket.error().code, "router.socket: " + socket.error().message};
    router_.add(std::move(*socket), options_.socket);
  }
  if (!options_.admin.empty()) {
    auto socket = tcp(options_.admin, "router.admin");
    if (!socket) return socket.error();
    admin_ = std::make_unique<router::Admin>(io_, std::move(*socket), [this](std::function<void(std::string)> done) { prometheus(std::move(done)); });
  }
  return {};
}

void FunctionHost::start() {
  if (fleet_) fleet_->start();
  supervisor_.reload();
  router_.start();
  if (admin_) admin_->start();
}

std::vector<std::string> FunctionHost::reload() {
  readOptions();
  return supervisor_.reload();
}

void FunctionHost::stop(std::function<void()> stopped) {
  if (fleet_) fleet_->stop();
  gate_->close();
  repository_.close();
  if (admin_) admin_->stop();
  router_.stop(kRequestsGrace, [this, stopped = std::move(stopped)]() mutable {
    supervisor_.stop(kFunctionsGrace, std::move(stopped));
  });
}

// Each function has a way to the daemon of its own: the daemon's socket is for those whom its mode and group let in.
Result<std::shared_ptr<void>> FunctionHost::openDoor(const std::string& path, std::optional<functions::User> user) {
  auto socket = makeListeningSocket(path, 0660, "");
  if (!socket) return socket.error();
  // The folder is the daemon's: nobody has put anything else there.
  if (user && ::lchown(path.c_str(), ::geteuid(), user->gid) != 0)
    return Error{CudaError::systemNotReady, "chown " + path + ": " + std::strerror(errno)};
  auto door = std::make_shared<Listener>(
      io_, std::move(*socket), path,
      [this](wire::OwnedFd connection, channel::Peer peer) { hooks_.onConnection(std::move(connection), peer); });
  door->start();
  return std::shared_ptr<void>(std::move(door));
}

Status FunctionHost::order(const channel::Order& order) {
  using Order = functions::Supervisor::Order;
  switch (order.action) {
    case channel::OrderAction::start:
      return supervisor_.order(order.function, Order::start);
    case channel::OrderAction::stop:
      return supervisor_.order(order.function, Order::stop);
    case channel::OrderAction::restart:
      return supervisor_.order(order.function, Order::restart);
    case channel::OrderAction::reload:
      break;
  }
  return Error{CudaError::invalidValue, "not an order to a function"};
}

Result<std::string> FunctionHost::logs(const channel::LogsRequest& request) const {
  return supervisor_.log(request.function, request.lines);
}

std::string FunctionHost::explain(const std::string& request, bool all, uid_t asker) const {
  return router::storyReport(history_, request, [&](const std::string& function) { return all || owns(asker, function); });
}

std::string FunctionHost::stories(std::uint64_t after, std::uint32_t most, bool all, uid_t asker) const {
  return router::storiesReport(history_, after, most, [&](const std::string& function) { return all || owns(asker, function); });
}

bool FunctionHost::owns(uid_t user, const std::string& function) const {
  const auto& functions = supervisor_.functions();
  const auto found = functions.find(function);
  return found != functions.end() && found->second->target()->owner == user;
}

void FunctionHost::onExecutorLost(const SessionTable& sessions, const ExecutorLink& link) {
  std::set<std::string> lost;
  for (const auto& [id, session] : sessions.sessions()) {
    if (!session->who.supervised || session->state != Session::State::open) continue;
    for (const Session::Device& device : session->devices)
      if (device.executor == &link && device.incarnation == link.incarnation() && !device.refused)
        lost.insert(session->who.name);
  }
  for (const std::string& function : lost) supervisor_.onGpuLost(function);
}

void FunctionHost::prometheus(std::function<void(std::string)> done) const {
  hooks_.look([this, done = std::move(done)](const ExecutorStates& executors) {
    done(prometheusPage({.pool = pool_,
                         .sessions = sessions_,
                         .supervisor = supervisor_,
                         .gate = *gate_,
                         .metrics = metrics_,
                         .scheduled = scheduled_,
                         .executors = executors}));
  });
}

}  // namespace rouse::daemon
