// What the daemon asks for between processes of one tenant. It has checked that they are one's.
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/executor/executor.h"

namespace rouse::executor {
namespace {

using Action = channel::IpcAction;

std::string named(std::uint64_t session) { return "session " + std::to_string(session); }

Result<wire::OwnedFd> only(std::vector<wire::OwnedFd>& fds) {
  if (fds.size() != 1) return Error{CudaError::invalidValue, "an event of several processes: " + std::to_string(fds.size()) + " descriptors, needed is 1"};
  return std::move(fds[0]);
}

}  // namespace

void Executor::on(std::uint64_t id, channel::Ipc& request, std::vector<wire::OwnedFd> fds) {
  Served* served = find(request.sessionId);
  if (served == nullptr || served->closeRequest) return send(id, Error{CudaError::invalidValue, "no " + named(request.sessionId)});
  Session& session = *served->session;
  const auto answer = [&](const Status& status) { send(id, status ? channel::Body(channel::Ok{}) : channel::Body(status.error())); };
  switch (request.action) {
    case Action::exportMemory: {
      auto handle = session.exportMemory(request.handle, request.range);
      return handle ? send(id, channel::Shared{.handle = *handle}) : send(id, handle.error());
    }
    case Action::withdraw:
      return send(id, channel::Shared{.handle = request.handle, .inUse = session.withdraw(request.handle)});
    case Action::exportEvent: {
      auto memory = only(fds);
      return answer(memory ? session.exportEvent(request.handle, request.page, std::move(*memory)) : Status(memory.error()));
    }
    case Action::mapEvent: {
      const auto memory = only(fds);
      return answer(memory ? session.mapEvent(request.page, memory->get(), request.deviceIndex == session.deviceIndex()) : Status(memory.error()));
    }
    case Action::openMemory:
    case Action::openEvent:
      return openExport(id, request, session);
    case Action::closeMemory:
    case Action::closeEvent:
      session.endImport(request.handle);
      return answer({});
  }
}

void Executor::openExport(std::uint64_t id, const channel::Ipc& request, Session& importer) {
  const std::uint64_t exporterId = request.handle.sessionId;
  const Served* served = find(exporterId);
  std::shared_ptr<Export> what =
      served == nullptr || served->closeRequest || exporterId == request.sessionId ? nullptr : served->session->findExport(request.handle);
  if (what == nullptr || what->memory() != (request.action == Action::openMemory))
    return send(id, Error{CudaError::invalidResourceHandle, "nothing is exported by this handle"});
  Session& exporter = *served->session;
  Status status = exporter.hold();
  if (status && !what->memory()) status = importer.hold();
  if (!status)
    return send(id, Error{status.error().code, status.error().message + ": what processes share stays on the GPU, and others are pinned, or the largest of them "
                                                                        "needs the rest for its turns"});
  ++what->users;
  importer.awaitImport();
  openings_.push_back({id, importer.id(), exporterId, std::move(what), coarseNs()});
}

bool Executor::finishOpening() {
  return std::erase_if(openings_, [this](Opening& opening) {
           Served* importer = find(opening.importer);
           Served* exporter = find(opening.exporter);
           Status status;
           const bool lives = exporter != nullptr && !exporter->closeRequest && exporter->session->serving() && !opening.what->withdrawn;
           if (!lives)
             status = Error{CudaError::invalidResourceHandle, "what is exported by this handle has ended"};
           else if (importer == nullptr || importer->closeRequest)
             status = Error{CudaError::invalidValue, named(opening.importer) + " has ended"};
           else if (homes_ && !exporter->session->presence().here() && coarseNs() - opening.since <= Moves::kRoomNs)
             return false;
           else if (homes_ && !exporter->session->presence().here())
             status = Error{CudaError::notReady, "nobody has made room for the memory of " + named(opening.exporter)};
           wire::OwnedFd event;
           if (status && !opening.what->memory()) {
             event.reset(::fcntl(opening.what->event.get(), F_DUPFD_CLOEXEC, 0));
             if (!event) status = Error{CudaError::systemNotReady, std::string("an event's memory: ") + std::strerror(errno)};
           }
           const bool open = status && importer->session->hasImport(opening.what->handle);
           if (importer != nullptr) importer->session->endAwaiting();
           if (status && !open) status = importer->session->addImport(opening.what);
           if (!status || open) --opening.what->users;
           std::vector<wire::OwnedFd> fds;
           if (event) fds.push_back(std::move(event));
           if (status)
             send(opening.request, channel::Shared{.handle = opening.what->handle, .range = opening.what->range, .page = opening.what->page}, std::move(fds));
           else
             send(opening.request, status.error());
           return true;
         }) != 0;
}

// Whom they were to be told is gone, with its numbers of requests. Their programs ask again.
void Executor::forgetOpenings() {
  for (const Opening& opening : openings_) {
    if (Served* importer = find(opening.importer)) importer->session->endAwaiting();
    --opening.what->users;
  }
  openings_.clear();
}

}  // namespace rouse::executor
