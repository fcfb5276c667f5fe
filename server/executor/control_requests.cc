// What the daemon asks for.
#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "schemas/control/frame.h"
#include "server/executor/executor.h"
#include "server/executor/log.h"

namespace rouse::executor {

static_assert(memory::kMostSharedChunks <= control::kMaxFrameFds);

void Executor::on(std::uint64_t id, channel::OpenSession& request, std::vector<wire::OwnedFd> fds) {
  const std::string name = "session " + std::to_string(request.sessionId);
  if (find(request.sessionId) != nullptr) return send(id, Error{CudaError::invalidValue, name + " is open already"});
  if (promises_ && !served_.empty()) return send(id, Error{CudaError::invalidValue, name + ": this executor is for one session, and has one"});
  Keepsake keepsake;
  if (request.hasProcess && fds.size() == 5) {
    keepsake.process = std::move(fds.back());
    fds.pop_back();
  }
  if (orphanNs_ != 0 && fds.size() == 4) {
    keepsake.open = request;
    keepsake.segment.reset(::fcntl(fds[0].get(), F_DUPFD_CLOEXEC, 0));
    keepsake.ring.reset(::fcntl(fds[2].get(), F_DUPFD_CLOEXEC, 0));
    if (!keepsake.segment || !keepsake.ring)
      return send(id, Error{CudaError::systemNotReady, name + ": keeping its descriptors: " + std::strerror(errno)});
  }
  auto session = Session::open(request, std::move(fds), surroundings_);
  if (Status health = device_->health(); !health) return fail(health.error());  // unanswered: see turn()
  if (!session) return send(id, session.error());
  if (Status status = poller_.watchEvents((*session)->wakeFd()); !status) return send(id, status.error());
  if (logs(LogLevel::info)) log(LogLevel::info, name + " (" + request.name + ") is open");
  served_.push_back({.session = std::move(*session), .faultTold = false, .closeRequest = {}, .keepsake = std::move(keepsake)});
  send(id, channel::Ok{});
}

void Executor::on(std::uint64_t id, channel::CloseSession& request, std::vector<wire::OwnedFd>) {
  Served* served = find(request.sessionId);
  if (served == nullptr)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  if (served->closeRequest)
    return send(id, Error{CudaError::invalidValue,
                          "session " + std::to_string(request.sessionId) + " is being closed already"});
  served->closeRequest = id;
  served->session->beginClose();
  // For the daemon before this one, it may be.
  if (served->session->closed()) settle(static_cast<std::size_t>(served - served_.data()));
}

void Executor::on(std::uint64_t id, channel::InstallModule& request, std::vector<wire::OwnedFd> fds) {
  Served* served = find(request.sessionId);
  if (served == nullptr)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  if (fds.size() != 1)
    return send(id, Error{CudaError::invalidValue,
                          "install module: " + std::to_string(fds.size()) + " descriptors, needed is 1"});
  const auto known = images_.find(request.moduleId);
  if (known != images_.end())
    if (std::shared_ptr<memory::Image> image = known->second.lock()) {
      const memory::ModuleDescription description = image->description();
      served->session->install(request.moduleId, std::move(image));
      return send(id, channel::ModuleInfo{request.moduleId, description});
    }
  const auto loading = loading_.find(request.moduleId);
  if (loading != loading_.end()) {
    loading->second.push_back({id, request.sessionId});
    return;
  }
  if (orphanNs_ != 0) {
    wire::OwnedFd file(::fcntl(fds[0].get(), F_DUPFD_CLOEXEC, 0));
    if (!file) return send(id, Error{CudaError::systemNotReady, std::string("keeping a module: ") + std::strerror(errno)});
    contents_.insert_or_assign(request.moduleId, Content{std::move(file), request.size});
  }
  if (Status status = loader_.load(request.moduleId, std::move(fds[0]), request.size); !status)
    return send(id, status.error());
  loading_[request.moduleId].push_back({id, request.sessionId});
}

void Executor::finishLoads() {
  for (ModuleLoader::Loaded& loaded : loader_.take()) {
    const auto node = loading_.extract(loaded.moduleId);
    if (loaded.image)
      images_[loaded.moduleId] = *loaded.image;
    else
      contents_.erase(loaded.moduleId);
    for (const Waiter& waiter : node.mapped()) {
      Served* served = find(waiter.session);
      if (!loaded.image) {
        send(waiter.request, loaded.image.error());
      } else if (served == nullptr || served->closeRequest) {
        send(waiter.request, Error{CudaError::invalidValue, "session " + std::to_string(waiter.session) + " is gone"});
      } else {
        served->session->install(loaded.moduleId, *loaded.image);
        send(waiter.request, channel::ModuleInfo{loaded.moduleId, (*loaded.image)->description()});
      }
    }
  }
}

void Executor::on(std::uint64_t id, channel::ExecutorStatusRequest&, std::vector<wire::OwnedFd>) {
  const memory::Acquisitions acquired = device_->acquisitions();
  std::uint64_t guestBytes = 0;
  for (const auto& guest : guests_) guestBytes += guest->bytes();
  channel::ExecutorStatus status{.totalBytes = memory_.totalBytes(),
                                 .freeBytes = memory_.freeBytes(),
                                 .sessions = {},
                                 .commands = pastCommands_,
                                 .launches = pastLaunches_,
                                 .hostStoreBytes = homes_ ? homes_->totalBytes() : 0,
                                 .hostStoreUsedBytes = homes_ ? homes_->usedBytes() : 0,
                                 .hostStorePromisableBytes = homes_ ? homes_->promisableBytes() : 0,
                                 .hostStorePendingBytes = homes_ ? homes_->pendingBytes() : 0,
                                 .roomBytes = memory_.freeChunks() * kGranuleBytes,
                                 .idleBytes = Sharing::idleBytes(sharers(), coarseNs()),
                                 .heldBytes = memory_.heldBytes() - guestBytes,
                                 .deviceAllocations = acquired.deviceAllocations,
                                 .hostPinnings = acquired.hostPinnings,
                                 .allocatedBytes = acquired.allocatedBytes,
                                 .offeredBytes = homes_ ? std::min(memory_.freeBytesOfVisitors(), homes_->promisableBytes()) : memory_.freeBytes()};
  for (const Served& served : served_) {
    served.session->readMeter(steadyNs());
    status.sessions.push_back(served.session->usage());
    status.sessions.back().ties = served.session->ties();
    status.commands += served.session->commandsHere();
    status.launches += served.session->launchesHere();
    status.waiting += served.session->wantedChunks() != 0;
    status.lentBytes += served.session->lentChunks() * kGranuleBytes;
  }
  send(id, status);
}

void Executor::on(std::uint64_t id, channel::MoveSession& request, std::vector<wire::OwnedFd>) {
  const Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  if (!homes_) return send(id, Error{CudaError::notSupported, "there is no host store: nothing leaves the device"});
  if (served->session->between()) return send(id, Error{CudaError::notReady, "it is being taken to another GPU"});
  if (Status status = moves_.begin(id, request.sessionId, request.action, request.offered); !status) return send(id, status.error());
  if (request.action == channel::MoveAction::load) loads_[id] = request.sessionId;
}

// Answered once it has left the device: share().
void Executor::on(std::uint64_t id, channel::ExportSession& request, std::vector<wire::OwnedFd>) {
  Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest || !served->session->serving())
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId) + " is served"});
  if (Status status = served->session->mayMove(); !status) return send(id, status.error());
  if (Status status = moves_.beginExport(id, request.sessionId); !status) return send(id, status.error());
  exports_[id] = request.sessionId;
}

void Executor::on(std::uint64_t id, channel::ImportSession& request, std::vector<wire::OwnedFd>) {
  Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  if (Status status = served->session->beginImport(request.recipe); !status) return send(id, status.error());
  imports_.push_back({id, request.sessionId});
}

bool Executor::finishImports() {
  return std::erase_if(imports_, [this](const Waiter& waiter) {
           Served* served = find(waiter.session);
           if (served == nullptr || served->closeRequest) {
             send(waiter.request, Error{CudaError::invalidValue, "session " + std::to_string(waiter.session) + " has ended"});
             return true;
           }
           if (!served->session->imported()) return false;
           send(waiter.request, channel::Ok{});
           return true;
         }) != 0;
}

void Executor::on(std::uint64_t id, channel::ResumeSession& request, std::vector<wire::OwnedFd>) {
  Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  const Status status = served->session->resume();
  send(id, status ? channel::Body(channel::Ok{}) : channel::Body(status.error()));
}

void Executor::on(std::uint64_t id, channel::ShareMemory& request, std::vector<wire::OwnedFd>) {
  Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  auto shared = served->session->share(request.from);
  if (!shared) return send(id, shared.error());
  send(id, shared->body, std::move(shared->fds));
}

void Executor::on(std::uint64_t id, channel::SharedMemory& request, std::vector<wire::OwnedFd> fds) {
  Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest)
    return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  const Status status = served->session->borrow(request, std::move(fds));
  send(id, status ? channel::Body(channel::Ok{}) : channel::Body(status.error()));
}

// One that has ended reads nothing.
void Executor::on(std::uint64_t id, channel::EndBorrowing& request, std::vector<wire::OwnedFd>) {
  if (Served* served = find(request.sessionId); served != nullptr && request.atOnce) served->session->stopBorrowing();
  borrowings_.push_back({id, request.sessionId});
}

bool Executor::finishBorrowings() {
  return std::erase_if(borrowings_, [this](const Waiter& waiter) {
           Served* served = find(waiter.session);
           if (served != nullptr && served->session->borrows()) return false;
           send(waiter.request, channel::Ok{});
           return true;
         }) != 0;
}

void Executor::on(std::uint64_t id, channel::ReturnMemory& request, std::vector<wire::OwnedFd>) {
  Served* served = find(request.sessionId);
  if (served == nullptr) return send(id, Error{CudaError::invalidValue, "no session " + std::to_string(request.sessionId)});
  served->session->takeBack();
  served->recalled = false;
  send(id, channel::Ok{});
}

void Executor::on(std::uint64_t id, channel::GuestMemory& request, std::vector<wire::OwnedFd>) {
  using Action = channel::GuestAction;
  Guest* guest = findGuest(request.guest);
  Status status;
  if (guest == nullptr && request.action != Action::visits && request.action != Action::stays) {
    // What is said of one that has gone crosses the news of that.
    status = Error{CudaError::invalidValue, "no guest " + std::to_string(request.guest)};
    return send(id, status.error());
  }
  if (guest == nullptr && promises_) return send(id, Error{CudaError::invalidValue, "an isolated executor has one guest"});
  if (guest == nullptr) guest = guests_.emplace_back(std::make_unique<Guest>(request.guest, memory_, false)).get();
  switch (request.action) {
    case Action::visits:
      status = guest->promise(request.bytes, memory::Tenure::visits);
      break;
    case Action::stays:
      status = guest->promise(request.bytes, memory::Tenure::stays);
      break;
    case Action::wants:
      guest->want(request.bytes);
      break;
    case Action::returned:
      status = guest->giveBack(request.bytes);
      break;
    case Action::holds: {
      Guest* others = findGuest(Guest::kOthers);
      status = others == nullptr || others == guest ? Status(Error{CudaError::invalidValue, "nothing of this device is elsewhere"})
                                                    : guest->takeFrom(*others, request.bytes);
      break;
    }
    case Action::gone:
      guest->leave();
      break;
    case Action::active:
      guest->noteActivity(coarseNs());
      break;
  }
  send(id, status ? channel::Body(channel::Ok{}) : channel::Body(status.error()));
}

void Executor::on(std::uint64_t id, channel::Promised& request, std::vector<wire::OwnedFd>) {
  if (!promises_) return send(id, Error{CudaError::invalidValue, "this executor promises its memory itself"});
  promises_->answer(request.status);
  send(id, channel::Ok{});
}

void Executor::on(std::uint64_t id, channel::AssignHomes& request, std::vector<wire::OwnedFd> fds) {
  Status status;
  if (fds.size() != 1)
    status = Error{CudaError::invalidValue, "assign homes: " + std::to_string(fds.size()) + " descriptors, needed is 1"};
  else if (homes_ || !served_.empty())
    status = Error{CudaError::invalidValue, "assign homes: this executor has homes, or sessions without"};
  else
    status = useHomes(fds[0], 0, request.bytes);
  send(id, status ? channel::Body(channel::Ok{}) : channel::Body(status.error()));
}

void Executor::on(std::uint64_t, channel::Shutdown&, std::vector<wire::OwnedFd>) { end("the daemon is shutting down"); }

template <class Other>
void Executor::on(std::uint64_t id, Other& body, std::vector<wire::OwnedFd>) {
  const std::string_view name = channel::name(channel::Body(std::move(body)));
  send(id, Error{CudaError::invalidValue, "an executor does not take " + std::string(name)});
}

bool Executor::readControl() {
  bool any = false;
  if (control_.fd() < 0) return any;
  while (!stopping_) {
    Result<ControlLink::Received> received = control_.receive();
    if (!received) {
      loseDaemon(received.error());
      return any;
    }
    if (received->ended) {
      loseDaemon({CudaError::success, "the daemon closed the control connection"});
      return any;
    }
    if (!received->message) break;
    any = true;
    channel::Message message = std::move(*received->message);
    if (offered_ && onOffered(message)) continue;
    std::visit([&](auto& body) { on(message.id, body, std::move(message.fds)); }, message.body);
  }
  if (control_.unsent())
    if (Status status = control_.flush(); !status) return loseDaemon(status.error()), any;
  if (!stopping_ && control_.unsent() != writeWatched_) {
    writeWatched_ = control_.unsent();
    poller_.wantWrite(control_.fd(), writeWatched_);
  }
  return any;
}

}  // namespace rouse::executor
