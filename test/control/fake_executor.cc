// Speaks an executor's side of the control connection, drives no GPU. Behaves as $FAKE_EXECUTOR says:
//   (unset)     serves      dead      exits at once       silent    never becomes ready
//   aborts      says why on standard error, and dies of a signal
//   refused     says that its GPU is taken, and ends      second-refused    the same, but the first GPU serves
//   other-wire  announces another wire hash      refuse    opens no session      linger     ignores Shutdown
//   deaf        becomes ready and reads nothing      stuck     answers no MoveSession
// and does as a session's name says: "fault" reports it as soon as it is open, "crash" dies instead of opening it, "busy" is not
// moved, "last" dies when it is to be moved. The others are moved at once.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "test/control/fake_mode.h"
#include "schemas/wire/commands.h"
#include "schemas/wire/segment.h"
#include "server/control/sync_channel.h"

using namespace rouse;
using namespace rouse::channel;

namespace {

struct Arguments {
  int controlFd = -1;
  std::uint32_t ordinal = 0;
  std::uint64_t memory = 0;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; ++i) {
    if (!std::strcmp(argv[i], "--control-fd")) arguments.controlFd = std::atoi(argv[i + 1]);
    if (!std::strcmp(argv[i], "--ordinal")) arguments.ordinal = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (!std::strcmp(argv[i], "--memory")) arguments.memory = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return arguments;
}

// What an executor must be able to rely on.
Status check(const OpenSession& open, const std::vector<wire::OwnedFd>& fds) {
  if (fds.size() != 4) return Error{CudaError::invalidValue, std::to_string(fds.size()) + " descriptors"};
  auto session = wire::SessionSegment::map(fds[0].get(), wire::ForkedChild::inherits);
  if (!session) return session.error();
  if (session->header().sessionId != open.sessionId) return Error{CudaError::invalidValue, "another session's segment"};
  if (Status status = wire::checkSealedMemfd(fds[1].get(), "host window", open.hostWindow.bytes); !status)
    return status;
  auto ring = wire::RingSegment::map(fds[2].get(), wire::ForkedChild::inherits);
  if (!ring) return ring.error();
  if (open.deviceWindow.bytes < open.memoryLimit)
    return Error{CudaError::invalidValue, "window smaller than the limit"};
  session->header().devices[open.deviceIndex].state.store(wire::DeviceState::serving);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  const char* mode = std::getenv("FAKE_EXECUTOR");
  std::string behaviour = mode == nullptr ? "" : mode;
  if (mode == nullptr) std::ifstream(rouse::test::fakeModeFile(::getppid())) >> behaviour;
  if (behaviour == "dead") return 3;
  if (behaviour == "silent") ::pause();
  if (behaviour == "aborts") {
    std::fputs("first line\nlibrary: \x1b[31massertion failed\n\n", stderr);
    ::abort();
  }
  SyncChannel channel{wire::OwnedFd(arguments.controlFd)};
  if (behaviour == "refused" || (behaviour == "second-refused" && arguments.ordinal == 1)) {
    const std::string gpu = "GPU " + std::to_string(arguments.ordinal);
    (void)channel.send(0, Error{CudaError::devicesUnavailable, gpu + " is taken; give it back"});
    return 3;
  }
  memory::DeviceProperties device;
  device.name = "fake GPU";
  device.uuid = "GPU-fake-" + std::to_string(arguments.ordinal);
  device.memoryBytes = arguments.memory;
  const std::uint64_t hash = wire::kWireHash + (behaviour == "other-wire" ? 1 : 0);
  if (!channel.send(0, ExecutorReady{device, static_cast<std::uint32_t>(::getpid()), hash}).ok()) return 1;

  if (behaviour == "deaf") ::pause();
  std::map<std::uint64_t, OpenSession> sessions;
  std::set<std::uint64_t> pinned, away;
  while (true) {
    auto received = channel.receive();
    if (!received || !*received) return 0;
    Message& message = **received;
    if (auto* open = std::get_if<OpenSession>(&message.body)) {
      if (open->name == "crash") ::abort();
      if (behaviour == "refuse") {
        (void)channel.send(message.id, Error{CudaError::memoryAllocation, "the executor has no room"});
        continue;
      }
      if (Status status = check(*open, message.fds); !status) {
        (void)channel.send(message.id, status.error());
        continue;
      }
      sessions[open->sessionId] = *open;
      (void)channel.send(message.id, Ok{});
      if (open->name == "fault") {
        (void)channel.send(
            0, SessionFault{open->sessionId, {CudaError::invalidValue, "MemReserve: bytes 7, must be aligned"}});
      }
    } else if (auto* close = std::get_if<CloseSession>(&message.body)) {
      const bool known = sessions.erase(close->sessionId) == 1;
      (void)channel.send(message.id, known ? Body(Ok{}) : Body(Error{CudaError::invalidValue, "no such session"}));
    } else if (auto* install = std::get_if<InstallModule>(&message.body)) {
      const int seals = ::fcntl(message.fds.at(0).get(), F_GET_SEALS);
      struct stat status {};
      ::fstat(message.fds[0].get(), &status);
      if ((seals & F_SEAL_WRITE) == 0 || static_cast<std::uint64_t>(status.st_size) != install->size) {
        (void)channel.send(message.id, Error{CudaError::invalidKernelImage, "not sealed or not of that size"});
        continue;
      }
      char first = 0;
      (void)!::pread(message.fds[0].get(), &first, 1, 0);
      ModuleInfo info{.moduleId = install->moduleId, .description = {}};
      info.description.kernels.push_back({});
      info.description.kernels[0].name = std::string("kernel_") + first;
      (void)channel.send(message.id, info);
    } else if (std::holds_alternative<ExecutorStatusRequest>(message.body)) {
      ExecutorStatus status{arguments.memory, arguments.memory / 2, {}, 100, 10};
      for (const auto& [id, open] : sessions) {
        status.sessions.push_back({id, 4096, 2048, 1024, 7, 5, 0});
        SessionUsage& usage = status.sessions.back();
        usage.pinned = pinned.contains(id);
        usage.homeBytes = 2048;
        usage.sharedHomeBytes = 1024;
        usage.residentBytes = away.contains(id) ? 0 : 2048;
        usage.place = away.contains(id) ? Place::home : Place::device;
        usage.departures = away.contains(id) ? 1 : 0;
        usage.lastSavedBytes = away.contains(id) ? 512 : 0;
        usage.restingBytes = away.contains(id) ? 1024 : 0;
        usage.lastDepartureNs = away.contains(id) ? 99 : 0;
      }
      (void)channel.send(message.id, status);
    } else if (auto* move = std::get_if<MoveSession>(&message.body)) {
      if (behaviour == "stuck") continue;
      const auto found = sessions.find(move->sessionId);
      const std::string name = found == sessions.end() ? "" : found->second.name;
      if (name == "last") ::abort();
      if (name.empty() || name == "busy") {
        (void)channel.send(message.id, Error{CudaError::notReady, name.empty() ? "no such session" : "it is busy"});
        continue;
      }
      if (move->action == MoveAction::pin) pinned.insert(move->sessionId);
      if (move->action == MoveAction::unpin) pinned.erase(move->sessionId);
      if (move->action == MoveAction::load) away.erase(move->sessionId);
      if (move->action == MoveAction::unload) away.insert(move->sessionId);
      (void)channel.send(message.id, Ok{});
    } else if (std::holds_alternative<Shutdown>(message.body)) {
      if (behaviour != "linger") return 0;
    }
  }
}
