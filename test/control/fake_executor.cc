// Speaks an executor's side of the control connection, drives no GPU. Behaves as $FAKE_EXECUTOR says:
//   (unset)     serves      dead      exits at once       silent    never becomes ready
//   aborts      says why on standard error, and dies of a signal
//   refused     says that its GPU is taken, and ends      second-refused    the same, but the first GPU serves
//   other-wire  announces another wire hash      refuse    opens no session      linger     ignores Shutdown
//   deaf        becomes ready and reads nothing      stuck     answers no MoveSession      peers    reads the others' memory
// and does as a session's name says: "fault" reports it as soon as it is open, "crash" dies instead of opening it, "busy" is not
// moved, "last" dies when it is to be moved. The others are moved at once. From one GPU to another:
//   dormant-refused, module-refused, export-refused, import-refused, resume-refused    says no to that
//   dormant-dies, module-dies, export-dies, import-dies, resume-dies                   dies of that
//   exported-dies    dies as soon as it has answered an export; slow: takes a while for an import (exported-dies, too)
//   held             takes for an import as long as this process is told how to behave (Environment), whatever it is
// and, as peers:
//   share-refused, borrow-refused    says no to that      share-dies, borrow-dies, lent-dies, end-dies    dies of that, or when it is to be closed
//   keeps            reads until it is to stop at once      wanted      wants back what it has lent when it is to be closed
//   waits            says that it waits for room as soon as it is open
// What a session reports as its commands is 1 where it is served, 0 elsewhere.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  if (fds.size() != std::size_t{4} + open.hasProcess) return Error{CudaError::invalidValue, std::to_string(fds.size()) + " descriptors"};
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

// Of a session: from one GPU to another.
enum class Stage { serving, frozen, dormant, imported };
struct Served {
  OpenSession open;
  Stage stage = Stage::serving;
  std::uint32_t lent = 0, borrowed = 0;  // pieces
  std::optional<std::uint64_t> closing;  // request
  std::vector<std::uint64_t> ending;     // requests
};

// What the session's name says of this step, for those that a migration alone has: "…-dies" and "…-refused".
Status behave(const std::string& name, const std::string& step) {
  if (name == step + "-dies") ::abort();
  if (name == step + "-refused") return Error{CudaError::notSupported, step + " is refused"};
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
  device.link.pcieGeneration = 4;
  device.link.pcieWidthAtMost = 16;
  if (behaviour == "peers") {
    device.link.nvlinks = 1;
    device.link.peers.push_back({.uuid = "GPU-fake-" + std::to_string(1 - arguments.ordinal), .pciAddress = {}, .access = true, .nvlinks = 1});
  }
  const std::uint64_t hash = wire::kWireHash + (behaviour == "other-wire" ? 1 : 0);
  if (!channel.send(0, ExecutorReady{device, static_cast<std::uint32_t>(::getpid()), hash}).ok()) return 1;

  if (behaviour == "deaf") ::pause();
  std::map<std::uint64_t, Served> sessions;
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
      if (Status status = open->dormant ? behave(open->name, "dormant") : Status{}; !status) {
        (void)channel.send(message.id, status.error());
        continue;
      }
      sessions[open->sessionId] = {*open, open->dormant ? Stage::dormant : Stage::serving, 0, 0, {}, {}};
      (void)channel.send(message.id, Ok{});
      if (open->name == "waits" && !open->dormant) (void)channel.send(0, SessionWaits{open->sessionId, 1'000'000'000, 4096, 4096});
      if (open->name == "fault") {
        (void)channel.send(
            0, SessionFault{open->sessionId, {CudaError::invalidValue, "MemReserve: bytes 7, must be aligned"}});
      }
    } else if (auto* close = std::get_if<CloseSession>(&message.body)) {
      const auto found = sessions.find(close->sessionId);
      if (found != sessions.end() && found->second.lent != 0) {
        // Not before it has been given back.
        if (Status status = behave(found->second.open.name, "lent"); !status) return 1;
        if (found->second.open.name == "wanted") (void)channel.send(0, MemoryWanted{close->sessionId});
        found->second.closing = message.id;
        continue;
      }
      if (found != sessions.end())
        for (const std::uint64_t request : found->second.ending) (void)channel.send(request, Ok{});
      const bool known = sessions.erase(close->sessionId) == 1;
      SessionClosed closed;
      closed.usage.launches = 6;
      closed.usage.savedBytes = 4096;
      closed.usage.consumption = {.busyNs = 2'500'000'000, .deviceByteSeconds = 100, .homeByteSeconds = 50};
      (void)channel.send(message.id, known ? Body(closed) : Body(Error{CudaError::invalidValue, "no such session"}));
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
      const Served& to = sessions[install->sessionId];
      if (Status status = to.stage == Stage::dormant ? behave(to.open.name, "module") : Status{}; !status) {
        (void)channel.send(message.id, status.error());
        continue;
      }
      ModuleInfo info{.moduleId = install->moduleId, .description = {}};
      info.description.kernels.push_back({});
      info.description.kernels[0].name = std::string("kernel_") + first;
      (void)channel.send(message.id, info);
    } else if (std::holds_alternative<ExecutorStatusRequest>(message.body)) {
      ExecutorStatus status{arguments.memory, arguments.memory / 2, {}, 100, 10};
      status.offeredBytes = arguments.memory / 2;
      status.roomBytes = status.hostStorePromisableBytes = 8192;
      for (const auto& [id, served] : sessions) {
        status.sessions.push_back({id, 4096, 2048, 1024, served.stage == Stage::serving ? 1u : 0u, 5, 0});
        SessionUsage& usage = status.sessions.back();
        usage.pinned = pinned.contains(id);
        usage.homeBytes = 2048;
        usage.consumption = {.busyNs = 1'000'000'000, .deviceByteSeconds = 10, .homeByteSeconds = 5};
        usage.sharedHomeBytes = 1024;
        usage.residentBytes = away.contains(id) ? 0 : 2048;
        usage.place = away.contains(id) ? Place::home : Place::device;
        usage.departures = away.contains(id) ? 1 : 0;
        usage.lastSavedBytes = away.contains(id) ? 512 : 0;
        usage.restingBytes = away.contains(id) ? 1024 : 0;
        usage.lastDepartureNs = away.contains(id) ? 99 : 0;
        usage.peerBytes = 4096 * served.borrowed;
        status.lentBytes += 4096 * served.lent;
      }
      (void)channel.send(message.id, status);
    } else if (auto* move = std::get_if<MoveSession>(&message.body)) {
      if (behaviour == "stuck") continue;
      const auto found = sessions.find(move->sessionId);
      const std::string name = found == sessions.end() ? "" : found->second.open.name;
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
    } else if (auto* exporting = std::get_if<ExportSession>(&message.body)) {
      Served& served = sessions.at(exporting->sessionId);
      Status status = behave(served.open.name, "export");
      if (served.stage != Stage::serving) status = Error{CudaError::invalidValue, "it is not being served"};
      if (!status) {
        (void)channel.send(message.id, status.error());
        continue;
      }
      served.stage = Stage::frozen;
      SessionRecipe recipe;
      recipe.reservedBytes = exporting->sessionId + 77;
      (void)channel.send(message.id, recipe);
      if (served.open.name == "exported-dies") ::abort();
    } else if (auto* import = std::get_if<ImportSession>(&message.body)) {
      Served& served = sessions.at(import->sessionId);
      if (served.open.name == "slow" || served.open.name == "exported-dies") ::usleep(1'000'000);
      while (served.open.name == "held" && ::access(rouse::test::fakeModeFile(::getppid()).c_str(), F_OK) == 0) ::usleep(1000);
      Status status = behave(served.open.name, "import");
      if (served.stage != Stage::dormant || import->recipe.reservedBytes != import->sessionId + 77)
        status = Error{CudaError::invalidValue, "that is not what was exported"};
      if (status) served.stage = Stage::imported;
      (void)channel.send(message.id, status ? Body(Ok{}) : Body(status.error()));
    } else if (auto* resume = std::get_if<ResumeSession>(&message.body)) {
      Served& served = sessions.at(resume->sessionId);
      Status status = behave(served.open.name, "resume");
      if (served.stage == Stage::frozen) status = {};  // only the target misbehaves
      if (served.stage != Stage::frozen && served.stage != Stage::imported) status = Error{CudaError::invalidValue, "nothing to resume"};
      if (status && served.stage == Stage::frozen) served.lent = 0;
      if (status) served.stage = Stage::serving;
      (void)channel.send(message.id, status ? Body(Ok{}) : Body(status.error()));
    } else if (auto* share = std::get_if<ShareMemory>(&message.body)) {
      Served& served = sessions.at(share->sessionId);
      Status status = behave(served.open.name, "share");
      if (served.stage != Stage::frozen || share->from != 5 * served.lent) status = Error{CudaError::invalidValue, "not what is next"};
      if (!status) {
        (void)channel.send(message.id, status.error());
        continue;
      }
      // In two pieces.
      SharedMemory shared{.sessionId = 0, .device = device.uuid, .chunks = {{share->from, {0, 4096}}}, .next = ++served.lent == 1 ? 5u : 0u};
      std::vector<wire::OwnedFd> fds;
      fds.emplace_back(::memfd_create("lent", MFD_CLOEXEC));
      (void)channel.send(message.id, shared, std::move(fds));
    } else if (auto* shared = std::get_if<SharedMemory>(&message.body)) {
      Served& served = sessions.at(shared->sessionId);
      Status status = behave(served.open.name, "borrow");
      if (served.stage != Stage::imported || shared->device != "GPU-fake-" + std::to_string(1 - arguments.ordinal) ||
          shared->chunks.size() != 1 || message.fds.size() != 1)
        status = Error{CudaError::invalidValue, "that was not lent"};
      served.borrowed += status.ok();
      (void)channel.send(message.id, status ? Body(Ok{}) : Body(status.error()));
    } else if (auto* end = std::get_if<EndBorrowing>(&message.body)) {
      const auto found = sessions.find(end->sessionId);
      if (found == sessions.end()) {
        (void)channel.send(message.id, Ok{});
        continue;
      }
      Served& served = found->second;
      (void)behave(served.open.name, "end");
      served.ending.push_back(message.id);
      if (served.open.name == "keeps" && !end->atOnce) continue;
      if (served.open.name == "wanted" && !end->atOnce) continue;
      for (const std::uint64_t request : std::exchange(served.ending, {})) (void)channel.send(request, Ok{});
    } else if (auto* back = std::get_if<ReturnMemory>(&message.body)) {
      const auto found = sessions.find(back->sessionId);
      (void)channel.send(message.id, Ok{});
      if (found == sessions.end()) continue;
      found->second.lent = 0;
      if (!found->second.closing) continue;
      const std::uint64_t request = *found->second.closing;
      sessions.erase(found);
      (void)channel.send(request, Ok{});
    } else if (std::holds_alternative<Shutdown>(message.body)) {
      if (behaviour != "linger") return 0;
    }
  }
}
