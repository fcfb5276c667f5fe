// Memory and events that processes of one tenant share (cudaIpc*): who may have whose. Executors keep what is exported and who has it open
// (server/executor/exports.h), so nothing is lost with this daemon; here it is decided whom a handle is shown to.
//
// A tenant is a user; where the daemon runs functions of its own (functions.d), each of them is one by itself. Isolated processes share nothing.
#include <spdlog/spdlog.h>
#include <sys/random.h>

#include <stdexcept>
#include <utility>

#include "server/roused/descriptors.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {
namespace {

using Action = channel::IpcAction;

// cudaErrorDeviceUninitialized, "invalid device context": what a process gets that opens its own handle.
constexpr CudaError kInvalidContext{201};

// Handles that are unknown, another tenant's, or of what has ended are told apart to nobody.
Error unknown() { return {CudaError::invalidResourceHandle, "nothing is exported by this handle"}; }

bool oneTenant(const SessionRequest& a, const SessionRequest& b) {
  return a.uid == b.uid && a.supervised == b.supervised && (!a.supervised || a.name == b.name);
}

wire::IpcHandle newHandle(wire::IpcKind kind, std::uint64_t session, std::uint32_t device) {
  wire::IpcHandle handle{.kind = kind, .sessionId = session, .deviceIndex = device};
  if (::getrandom(handle.secret.data(), handle.secret.size(), 0) != static_cast<ssize_t>(handle.secret.size()))
    throw std::runtime_error("getrandom failed");
  return handle;
}

Status check(const Session& session, const channel::Ipc& request) {
  if (request.deviceIndex >= session.devices.size())
    return Error{CudaError::invalidDevice, "device " + std::to_string(request.deviceIndex) + ", the session has " + std::to_string(session.devices.size())};
  if (session.who.check != 0)
    return Error{CudaError::notSupported, "a process whose accesses are checked (rouse run --check) shares no memory and no events with others"};
  const Session::Device& device = session.devices[request.deviceIndex];
  if (device.own)
    return Error{CudaError::notSupported, "an isolated process shares no memory and no events with others: each of its GPUs is an executor of its own"};
  if (!device.served()) return Error{CudaError::devicesUnavailable, "the GPU of this session was lost"};
  if (request.action == Action::exportMemory && (request.range.empty() || !device.window.contains(request.range)))
    return Error{CudaError::invalidValue, "export: " + std::to_string(request.range.bytes) + " bytes that are not in the device window"};
  return {};
}

}  // namespace

void SessionTable::share(std::uint64_t id, channel::Ipc request, std::vector<wire::OwnedFd> fds, IpcDone done) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open) return done(Error{CudaError::unknown, "no such session"}, {});
  if (Status status = check(*session, request); !status) return done(status.error(), {});
  Session::Device& device = session->devices[request.deviceIndex];
  if (device.moving) {
    auto kept = std::make_shared<std::vector<wire::OwnedFd>>(std::move(fds));
    return device.whenSettled.push_back([this, id, request, kept, done] { share(id, request, std::move(*kept), done); });
  }
  request.sessionId = id;
  switch (request.action) {
    case Action::exportMemory:
      request.handle = newHandle(wire::IpcKind::memory, id, request.deviceIndex);
      break;
    case Action::exportEvent:
      request.handle = newHandle(wire::IpcKind::event, id, request.deviceIndex);
      return exportEvent(id, request, std::move(fds), std::move(done));
    case Action::openMemory:
    case Action::openEvent:
      return openShared(id, request, std::move(done), false);
    case Action::withdraw:
    case Action::closeMemory:
    case Action::closeEvent:
      break;
    case Action::mapEvent:
      return done(Error{CudaError::invalidValue, "mapEvent is no request of a function's"}, {});
  }
  askShared(*device.executor, request, {}, std::move(done));
}

void SessionTable::askShared(ExecutorLink& executor, const channel::Ipc& request, std::vector<wire::OwnedFd> fds, IpcDone done) {
  executor.request(request, std::move(fds), [done = std::move(done)](Result<channel::Message> answer) {
    if (!answer) return done(std::move(answer).error(), {});
    if (std::holds_alternative<channel::Ok>(answer->body)) return done(channel::Shared{}, {});
    if (auto* shared = std::get_if<channel::Shared>(&answer->body)) return done(std::move(*shared), std::move(answer->fds));
    done(Error{CudaError::unknown, "the executor answered ipc with " + std::string(channel::name(answer->body))}, {});
  });
}

// Streams of its other devices may wait for it.
void SessionTable::mapEvent(std::uint64_t id, const channel::Ipc& request, std::shared_ptr<wire::OwnedFd> memory, std::uint32_t next, std::function<void(Status)> done) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open) return done(Error{CudaError::unknown, "the session has ended"});
  const bool exporting = request.action == Action::exportEvent;
  if (exporting && next == request.deviceIndex) ++next;
  if (next >= session->devices.size()) return done({});
  auto fd = duplicate(*memory);
  if (!fd) return done(fd.error());
  std::vector<wire::OwnedFd> fds;
  fds.push_back(std::move(*fd));
  channel::Ipc map = request;
  map.action = Action::mapEvent;
  askShared(*session->devices[next].executor, map, std::move(fds), [this, id, request, memory, next, done](Result<channel::Shared> mapped, std::vector<wire::OwnedFd>) {
    mapped ? mapEvent(id, request, memory, next + 1, done) : done(mapped.error());
  });
}

void SessionTable::exportEvent(std::uint64_t id, const channel::Ipc& request, std::vector<wire::OwnedFd> fds, IpcDone done) {
  if (fds.size() != 1) return done(Error{CudaError::invalidValue, "exportEvent with " + std::to_string(fds.size()) + " descriptors, needed is 1"}, {});
  if (Status status = wire::checkSealedMemfd(fds[0].get(), "shared event", wire::kPageBytes); !status) return done(status.error(), {});
  auto memory = std::make_shared<wire::OwnedFd>(std::move(fds[0]));
  mapEvent(id, request, memory, 0, [this, id, request, memory, done](const Status& mapped) {
    if (!mapped) return done(mapped.error(), {});
    auto fd = duplicate(*memory);
    if (!fd) return done(fd.error(), {});
    std::vector<wire::OwnedFd> own;
    own.push_back(std::move(*fd));
    askShared(*find(id)->devices[request.deviceIndex].executor, request, std::move(own),
              [request, done](Result<channel::Shared> exported, std::vector<wire::OwnedFd>) {
                exported ? done(channel::Shared{.handle = request.handle}, {}) : done(exported.error(), {});
              });
  });
}

// Both are to be on one GPU: if they are not, who opens is taken to the other's.
void SessionTable::openShared(std::uint64_t id, const channel::Ipc& request, IpcDone done, bool moved) {
  Session* session = find(id);
  if (session == nullptr || session->state != Session::State::open) return done(Error{CudaError::unknown, "the session has ended"}, {});
  const bool event = request.action == Action::openEvent;
  const wire::IpcHandle& handle = request.handle;
  if (!handle.wellFormed(event ? wire::IpcKind::event : wire::IpcKind::memory))
    return done(Error{CudaError::invalidValue, event ? "this is no handle of an event" : "this is no handle of memory"}, {});
  if (handle.sessionId == id)
    return done(Error{kInvalidContext, "the handle is this process's own: only other processes can open it"}, {});
  Session* exporter = find(handle.sessionId);
  if (exporter == nullptr || exporter->state != Session::State::open || handle.deviceIndex >= exporter->devices.size()) return done(unknown(), {});
  if (!oneTenant(session->who, exporter->who)) {
    spdlog::warn("session {} ({}, uid {}) asks for what session {} ({}, uid {}) has exported: it is another tenant's", id, session->who.name, session->who.uid,
                 exporter->id, exporter->who.name, exporter->who.uid);
    return done(unknown(), {});
  }
  Session::Device& theirs = exporter->devices[handle.deviceIndex];
  if (theirs.own || !theirs.served()) return done(unknown(), {});
  if (theirs.moving) return theirs.whenSettled.push_back([this, id, request, done, moved] { openShared(id, request, done, moved); });
  Session::Device& ours = session->devices[request.deviceIndex];
  // While theirs was waited for, it may have been taken elsewhere, or lost.
  if (ours.moving) return ours.whenSettled.push_back([this, id, request, done, moved] { openShared(id, request, done, moved); });
  if (!ours.served()) return done(Error{CudaError::devicesUnavailable, "the GPU of this session was lost"}, {});
  if (ours.executor != theirs.executor) {
    const std::string why = theirs.executor->identity().name() + ", where the memory is, and " + ours.executor->identity().name();
    if (moved || session->devices.size() > 1)
      return done(Error{CudaError::notSupported, "processes share memory and events on one GPU only, not between " + why}, {});
    return migrate(id, request.deviceIndex, *theirs.executor, [this, id, request, done, why](const Status& status) {
      if (status) return openShared(id, request, done, true);
      done(Error{CudaError::notSupported, "processes share memory and events on one GPU only, not between " + why + ", from where the process cannot be taken: " + status.error().message}, {});
    });
  }
  askShared(*ours.executor, request, {}, [this, id, request, done, event](Result<channel::Shared> opened, std::vector<wire::OwnedFd> fds) {
    if (!opened || !event) return done(std::move(opened), {});
    if (fds.size() != 1) return done(Error{CudaError::unknown, "the executor told of an event without its memory"}, {});
    auto memory = std::make_shared<wire::OwnedFd>(std::move(fds[0]));
    mapEvent(id, request, memory, 0, [this, id, request, done, memory, shared = *opened](const Status& mapped) {
      if (!mapped) return done(mapped.error(), {});  // whether it was open before only the program knows, and closes it
      std::vector<wire::OwnedFd> out;
      out.push_back(std::move(*memory));
      done(shared, std::move(out));
    });
  });
}

}  // namespace rouse::daemon
