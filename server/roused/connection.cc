#include "server/roused/connection.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "schemas/wire/readable.h"
#include "schemas/wire/segment.h"
#include "server/control/close_apart.h"
#include "server/roused/byte_size.h"
#include "server/roused/described.h"
#include "server/roused/printable.h"

namespace rouse::daemon {
namespace {

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5; Debian 12's headers are older
#endif

// A handle on the process at the other end that a reused pid cannot confuse, where the kernel has it.
wire::OwnedFd openProcess(int socket, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) {
    wire::OwnedFd process(fd);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return process;
  }
  if (errno != ENOPROTOOPT) return {};  // it is gone: so will be the socket
  if (pid <= 0) return {};              // in another pid namespace: the socket alone has to do
  return wire::OwnedFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Error refused(CudaError code, std::string message) { return {code, std::move(message)}; }

std::string hex(std::uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

Connection::Connection(ConnectionServices& services, wire::OwnedFd socket, channel::Peer peer)
    : services_(services),
      peer_(peer),
      channel_(channel::Channel::create(services.io.get_executor(), std::move(socket),
                                        {.frames = channel::kUntrustedLimits, .queuedBytes = 16u << 20, .unansweredBytes = 64u << 10})),
      process_(services.io) {}

void Connection::start(std::function<void(Connection&)> over) {
  over_ = std::move(over);
  channel_->start([self = shared_from_this()](channel::Message message) { self->onMessage(std::move(message)); },
                  [self = shared_from_this()](const Error& error) {
                    // An orderly end has nothing to tell.
                    error.code == CudaError::success ? self->end() : self->cutOff(error);
                  });
}

void Connection::end() {
  if (std::exchange(ended_, true)) return;
  boost::system::error_code ignored;
  process_.close(ignored);
  if (sessionId_ != 0) {
    spdlog::info("session {} ({}, process {}) ended", sessionId_, name_, peer_.pid);
    services_.sessions.close(sessionId_);
  }
  over_(*this);
}

void Connection::cutOff(const Error& error) {
  if (ended_) return;
  const bool ours = error.code == CudaError::devicesUnavailable;  // nothing the peer has done
  spdlog::log(ours ? spdlog::level::info : spdlog::level::warn, "process {} (uid {}{}{}) is cut off: {}", peer_.pid,
              peer_.uid, name_.empty() ? "" : ", ", name_, error.message);
  channel_->send(0, channel::CutOff{error});
  channel_->closeAfterSending();
  end();
}

void Connection::reply(std::uint64_t id, const channel::Body& body, std::vector<wire::OwnedFd> fds) {
  if (!ended_) channel_->send(id, body, std::move(fds));
}

void Connection::onMessage(channel::Message message) {
  const auto id = message.id;
  if (id == 0) {
    channel::closeApart(std::move(message.fds));
    return cutOff(refused(CudaError::invalidValue, "a request with id 0"));
  }
  if (const auto* load = std::get_if<channel::LoadModule>(&message.body))
    return loadModule(id, *load, std::move(message.fds));
  if (auto* ipc = std::get_if<channel::Ipc>(&message.body)) return share(id, std::move(*ipc), std::move(message.fds));
  if (!message.fds.empty()) {
    channel::closeApart(std::move(message.fds));
    return cutOff(refused(CudaError::invalidValue,
                          std::string(channel::name(message.body)) + " with a descriptor, which it has none of"));
  }
  if (const auto* attach = std::get_if<channel::Attach>(&message.body)) return this->attach(id, *attach);
  if (const auto* describe = std::get_if<channel::Describe>(&message.body)) return this->describe(id, *describe);
  if (const auto* reattach = std::get_if<channel::Reattach>(&message.body)) return this->reattach(id, *reattach);
  if (const auto* prepare = std::get_if<channel::Prepare>(&message.body)) return this->prepare(id, *prepare);
  if (const auto* status = std::get_if<channel::StatusRequest>(&message.body)) {
    if (!status->request.empty()) return explain(id, status->request);
    if (status->stories != 0) return stories(id, *status);
    channel_->pause();
    return services_.status(status->unsupported, [self = shared_from_this(), id](std::string json) {
      self->reply(id, channel::StatusReply{std::move(json)});
      self->channel_->resume();
    });
  }
  if (const auto* move = std::get_if<channel::Move>(&message.body)) return this->move(id, *move);
  if (const auto* order = std::get_if<channel::Order>(&message.body)) return this->order(id, *order);
  if (const auto* logs = std::get_if<channel::LogsRequest>(&message.body)) {
    if (Status status = checkOperator("functions' logs"); !status) return reply(id, status.error());
    auto text = services_.logs(*logs);
    return text ? reply(id, channel::Logs{std::move(*text)}) : reply(id, text.error());
  }
  cutOff(refused(CudaError::invalidValue, "unexpected message " + std::string(channel::name(message.body))));
}

Status Connection::checkContract(std::uint32_t protocol, std::uint64_t wireHash) const {
  const ClientContract& contract = services_.contract;
  if (protocol != channel::kProtocolVersion) {
    return refused(CudaError::insufficientDriver, "the client library speaks control protocol " + std::to_string(protocol) + ", this daemon " +
                                                      std::to_string(channel::kProtocolVersion));
  }
  if (wireHash != contract.wireHash)
    return refused(CudaError::insufficientDriver, "the client library is of another build: wire " + hex(wireHash) + ", this daemon's is " + hex(contract.wireHash));
  return {};
}

Result<SessionRequest> Connection::admit(const channel::Attach& attach) const {
  const Settings& settings = services_.settings;
  const ClientContract& contract = services_.contract;
  if (Status status = checkContract(attach.protocol, attach.wireHash); !status) return status.error();
  if (attach.apiNames != contract.apiNames.size()) {
    return refused(CudaError::insufficientDriver, "the client library is of another build: it has " + std::to_string(attach.apiNames) +
                                                      " names, this daemon " + std::to_string(contract.apiNames.size()));
  }
  if (services_.sessions.attached() >= settings.maxSessions) {
    return refused(CudaError::devicesUnavailable, std::to_string(settings.maxSessions) +
                                                      " processes are attached, the limit (functions.max_sessions)");
  }
  // Those whose memory others have open still end with them.
  if (services_.sessions.sessions().size() >= 2 * settings.maxSessions) {
    return refused(CudaError::devicesUnavailable, std::to_string(settings.maxSessions) +
                                                      " processes have ended and are awaited by others that have their memory open (cudaIpcCloseMemHandle)");
  }
  auto request = requestOf(attach.token);
  if (!request) return request;
  request->program = printable(attach.program);
  if (request->name.empty()) request->name = request->program.substr(request->program.rfind('/') + 1);
  if (request->name.empty()) request->name = "process-" + std::to_string(peer_.pid);
  return request;
}

// Without what a process says of itself.
Result<SessionRequest> Connection::requestOf(const std::string& token) const {
  const Settings& settings = services_.settings;
  Function function{.name = "", .gpus = settings.gpus, .gpuMemory = 0};
  if (!token.empty()) {
    auto prepared = services_.tokens.find(token, peer_.uid);
    if (!prepared) return refused(CudaError::notPermitted, "the token in ROUSE_TOKEN is not valid for this user");
    function = std::move(*prepared);
  } else if (!settings.anonymous) {
    return refused(CudaError::notPermitted,
                   "no token, and this daemon serves none without (functions.anonymous): use rouse run");
  }
  if (function.gpuMemory == 0) function.gpuMemory = settings.gpuMemory;
  if (function.hostMemory == 0) function.hostMemory = settings.hostMemory;
  return SessionRequest{.name = std::move(function.name),
                        .program = "",
                        .pid = peer_.pid,
                        .uid = peer_.uid,
                        .gpus = function.gpus,
                        .gpuMemory = function.gpuMemory,
                        .hostMemory = function.hostMemory,
                        .moduleMemory = settings.moduleMemory,
                        .supervised = function.supervised,
                        .isolated = function.isolated,
                        .check = function.check,
                        .family = token.empty() ? 0 : std::hash<std::string>{}(token),
                        .patience = std::chrono::seconds(settings.attachWait),
                        .process = process()};
}

// A pidfd; null where there is none to be had.
std::shared_ptr<const wire::OwnedFd> Connection::process() const {
  wire::OwnedFd process = openProcess(channel_->socket(), peer_.pid);
  return process ? std::make_shared<const wire::OwnedFd>(std::move(process)) : nullptr;
}

void Connection::attach(std::uint64_t id, const channel::Attach& attach) {
  if (sessionId_ != 0)
    return cutOff(refused(CudaError::invalidValue, "attach on a connection that is attached already"));
  auto request = admit(attach);
  if (!request) {
    spdlog::warn("process {} (uid {}) was not attached: {}", peer_.pid, peer_.uid, request.error().message);
    return reply(id, request.error());
  }
  name_ = request->name;
  services_.unattached.forget(peer_);
  channel_->pause();
  services_.sessions.open(std::move(*request), [self = shared_from_this(), id](Result<Opened> opened) {
    self->channel_->resume();
    if (!opened) {
      spdlog::warn("process {} ({}) was not attached: {}", self->peer_.pid, self->name_, opened.error().message);
      return self->reply(id, opened.error());
    }
    if (self->ended_) return self->services_.sessions.close(opened->attached.sessionId);
    self->sessionId_ = opened->attached.sessionId;
    spdlog::info("session {}: {} (process {}, uid {}) on {} GPU(s)", self->sessionId_, self->name_, self->peer_.pid,
                 self->peer_.uid, opened->attached.devices.size());
    self->watchProcess();
    opened->attached.orphanMs = static_cast<std::uint32_t>(std::min<std::uint64_t>(self->services_.settings.orphanTimeout, ~std::uint32_t{0}));
    self->reply(id, opened->attached, std::move(opened->fds));
  });
}

void Connection::describe(std::uint64_t id, const channel::Describe& describe) {
  if (Status status = checkContract(describe.protocol, describe.wireHash); !status) return reply(id, status.error());
  auto asker = askerOf(services_.sessions, describe.sessionId, peer_.uid);
  if (!asker) {
    auto request = requestOf(describe.token);
    if (!request) return reply(id, request.error());
    auto foreseen = services_.sessions.foresee(*request);
    if (!foreseen) return reply(id, foreseen.error());
    asker = askerOf(*request, *foreseen);
  }
  channel_->pause();
  services_.look([self = shared_from_this(), id, asker = std::move(*asker)](const ExecutorStates& executors) {
    self->reply(id, describedTo(asker, self->services_.pool, self->services_.sessions, executors));
    self->channel_->resume();
  });
}

// Of a process that was attached to a daemon before this one: it has its session, and only that is to know that it is here.
void Connection::reattach(std::uint64_t id, const channel::Reattach& reattach) {
  if (sessionId_ != 0)
    return cutOff(refused(CudaError::invalidValue, "reattach on a connection that is attached already"));
  auto session = Result<const Session*>(Error{});
  if (reattach.protocol != channel::kProtocolVersion || reattach.wireHash != services_.contract.wireHash)
    session = refused(CudaError::insufficientDriver, "the client library is of another build than this daemon");
  else
    session = services_.unattached.take(reattach, peer_);
  if (!session) {
    spdlog::warn("process {} (uid {}) has no session any more: {}", peer_.pid, peer_.uid, session.error().message);
    if (!reattach.token.empty())
      if (const auto function = services_.tokens.find(reattach.token, peer_.uid); function && function->supervised) services_.onSessionGone(function->name);
    return reply(id, session.error());
  }
  sessionId_ = (*session)->id;
  name_ = (*session)->who.name;
  spdlog::info("session {}: {} (process {}, uid {}) is attached again", sessionId_, name_, peer_.pid, peer_.uid);
  watchProcess();
  reply(id, channel::Ok{});
}

// Children of a fork keep the socket open after the process has died; the session is the process's alone.
void Connection::watchProcess() {
  wire::OwnedFd process = openProcess(channel_->socket(), peer_.pid);
  if (!process) return;
  process_.assign(process.release());
  awaitEnd();
}

void Connection::awaitEnd() {
  process_.async_wait(process_.wait_read, [self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->ended_) return;
    if (!wire::readable(self->process_.native_handle())) return self->awaitEnd();
    self->channel_->close();
    self->end();
  });
}

void Connection::loadModule(std::uint64_t id, const channel::LoadModule& load, std::vector<wire::OwnedFd> fds) {
  if (sessionId_ == 0 || fds.size() != 1) {
    channel::closeApart(std::move(fds));
    return cutOff(refused(CudaError::invalidValue, sessionId_ == 0 ? "loadModule before attach" : "loadModule without a descriptor"));
  }
  channel_->pause();
  services_.sessions.loadModule(
      sessionId_, load, std::move(fds[0]), [self = shared_from_this(), id](Result<channel::ModuleInfo> info) {
        if (info) {
          self->reply(id, *info);
        } else {
          spdlog::info("session {} ({}): module not loaded: {}", self->sessionId_, self->name_, info.error().message);
          self->reply(id, info.error());
        }
        self->channel_->resume();
      });
}

void Connection::share(std::uint64_t id, channel::Ipc request, std::vector<wire::OwnedFd> fds) {
  const std::size_t count = fds.size();
  if (sessionId_ == 0 || count != (request.action == channel::IpcAction::exportEvent ? 1 : 0)) {
    channel::closeApart(std::move(fds));
    return cutOff(refused(CudaError::invalidValue,
                          sessionId_ == 0 ? "ipc before attach" : "ipc with " + std::to_string(count) + " descriptors: one comes with exportEvent, none with others"));
  }
  if (count != 0) {
    if (Status status = wire::checkSealedMemfd(fds[0].get(), "shared event", wire::kPageBytes); !status) {
      channel::closeApart(std::move(fds));
      return reply(id, status.error());
    }
  }
  channel_->pause();
  services_.sessions.share(sessionId_, std::move(request), std::move(fds),
                           [self = shared_from_this(), id](Result<channel::Shared> shared, std::vector<wire::OwnedFd> out) {
                             if (shared) {
                               self->reply(id, *shared, std::move(out));
                             } else {
                               spdlog::info("session {} ({}): memory of several processes: {}", self->sessionId_, self->name_, shared.error().message);
                               self->reply(id, shared.error());
                             }
                             self->channel_->resume();
                           });
}

// One at a time for each connection, as with everything that takes a while.
void Connection::move(std::uint64_t id, const channel::Move& move) {
  if (services_.settings.hostStore == 0) {
    return reply(id, refused(CudaError::notSupported,
                             "this daemon has no host store (devices.host_store, --host-store): what functions have "
                             "stays on their GPUs"));
  }
  channel_->pause();
  services_.move(move, peer_.uid, [self = shared_from_this(), id](Result<channel::Moved> moved) {
    self->reply(id, moved ? channel::Body(std::move(*moved)) : channel::Body(moved.error()));
    self->channel_->resume();
  });
}

// Functions, and whoever may attach, are not asked.
Status Connection::checkOperator(const char* what) const {
  if (peer_.uid == 0 || peer_.uid == ::geteuid()) return {};
  return refused(CudaError::notPermitted, std::string(what) + " are for root and the daemon's own user (user " + std::to_string(::geteuid()) +
                                              ") only; this is user " + std::to_string(peer_.uid));
}

void Connection::explain(std::uint64_t id, const std::string& request) {
  constexpr std::size_t kMostBytes = 256;  // of a traceparent
  if (request.size() > kMostBytes)
    return reply(id, refused(CudaError::invalidValue, "the id of a request has " + std::to_string(request.size()) + " bytes, the limit is " +
                                                          std::to_string(kMostBytes)));
  reply(id, channel::StatusReply{services_.explain(request, static_cast<bool>(checkOperator("all requests")), peer_.uid)});
}

void Connection::stories(std::uint64_t id, const channel::StatusRequest& request) {
  if (request.stories > channel::StatusRequest::kMostStories)
    return reply(id, refused(CudaError::invalidValue, "the stories of " + std::to_string(request.stories) + " requests were asked for, the limit is " +
                                                          std::to_string(channel::StatusRequest::kMostStories)));
  reply(id, channel::StatusReply{services_.stories(request.after, request.stories, static_cast<bool>(checkOperator("all requests")), peer_.uid)});
}

void Connection::order(std::uint64_t id, const channel::Order& order) {
  Status status = checkOperator("orders to functions");
  if (status) status = services_.order(order);
  status ? reply(id, channel::Ok{}) : reply(id, status.error());
}

Status Connection::checkPrepare(const channel::Prepare& prepare) const {
  const Settings& settings = services_.settings;
  const std::size_t gpus = services_.pool.links().size();
  if (prepare.gpus > gpus) {
    return refused(CudaError::invalidValue,
                   std::to_string(prepare.gpus) + " GPUs were asked for, this pool has " + std::to_string(gpus));
  }
  if (settings.gpuMemory != 0 && prepare.gpuMemory > settings.gpuMemory) {
    return refused(CudaError::invalidValue, formatByteSize(prepare.gpuMemory) +
                                                " of GPU memory were asked for, the limit is " +
                                                formatByteSize(settings.gpuMemory) + " (functions.gpu_memory)");
  }
  std::uint64_t largest = 0;
  for (const auto& link : services_.pool.links()) largest = std::max(largest, link->properties().memoryBytes);
  if (prepare.check != 0 && services_.pool.kind() != "cpu") {
    return refused(CudaError::notSupported,
                   "accesses are checked on the CPU device only (rouse run --check --device cpu); on a GPU use NVIDIA's compute-sanitizer, without rouse");
  }
  if (prepare.gpuMemory > largest) {
    return refused(CudaError::invalidValue, formatByteSize(prepare.gpuMemory) +
                                                " of GPU memory were asked for, the largest GPU has " +
                                                formatByteSize(largest));
  }
  return {};
}

void Connection::prepare(std::uint64_t id, const channel::Prepare& prepare) {
  if (Status status = checkPrepare(prepare); !status) return reply(id, status.error());
  Function function{.name = printable(prepare.name),
                    .gpus = prepare.gpus != 0 ? prepare.gpus : services_.settings.gpus,
                    .gpuMemory = prepare.gpuMemory,
                    .isolated = prepare.isolated,
                    .check = prepare.check};
  if (prepare.isolated) services_.pool.isolated().expect();  // it is about to come
  reply(id, channel::Prepared{services_.tokens.issue(peer_.uid, std::move(function)), services_.clientLibraries});
}

}  // namespace rouse::daemon
