// The table of sessions, made again of what adopted executors tell. An executor is believed for what is its own: that it serves a session, with these
// segments and modules. What concerns others is checked: numbers and windows are nobody else's, modules are hashed again, and two executors that
// tell of one session (it has two GPUs, or was being taken from one to the other) must tell the same of whose it is.
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <charconv>
#include <fstream>
#include <utility>

#include "schemas/wire/segment.h"
#include "server/roused/printable.h"
#include "server/roused/session_table.h"

namespace rouse::daemon {
namespace {

using HeldSession = Orphan::HeldSession;

// That it is a pidfd of this process, or of one that has ended.
bool isProcess(int fd, std::int64_t pid) {
  std::ifstream file("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Pid:\t")) continue;
    std::int64_t found = 0;
    std::from_chars(line.data() + 5, line.data() + line.size(), found);
    return found == -1 || found == pid;
  }
  return false;
}

}  // namespace

class SessionAdoption {
 public:
  explicit SessionAdoption(SessionTable& table) : table_(table) {}

  void add(const AdoptedExecutor& executor) {
    auto& modules = modules_[executor.link];
    for (Orphan::Module& module : executor.orphan->modules) {
      const std::uint64_t number = module.held.info.moduleId;
      auto content = table_.store_.adopt(number, std::move(module.file), module.held.bytes);
      if (content)
        modules.insert_or_assign(number, Module{std::move(*content), std::move(module.held.info)});
      else
        spdlog::error("GPU {}: {}", executor.link->ordinal(), content.error().message);
    }
    for (HeldSession& session : executor.orphan->sessions) pieces_[session.held.open.sessionId].push_back({executor.link, &session});
  }

  std::vector<SessionTable::Returned> finish() {
    std::vector<SessionTable::Returned> returned;
    for (auto& [id, pieces] : pieces_) {
      table_.continueFrom(id + 1);
      auto session = std::make_unique<Session>();
      session->id = id;
      if (Status status = make(*session, pieces); !status) {
        spdlog::warn("session {} ({}) is ended: {}", id, printable(pieces.front().told->held.open.name), status.error().message);
        table_.release(*session);
        for (const Piece& piece : pieces) piece.link->request(channel::CloseSession{id}, {}, [](const Result<channel::Message>&) {});
        if (session->segment)
          for (std::uint32_t index = 0; index < session->devices.size(); ++index) table_.lose(*session, index, status.error());
        continue;
      }
      Session& kept = *session;
      table_.sessions_.emplace(id, std::move(session));
      if (settle(kept, pieces)) returned.push_back({id, kept.who.process});
    }
    return returned;
  }

 private:
  struct Module {
    ModuleContentPtr content;
    channel::ModuleInfo info;
  };
  struct Piece {
    ExecutorLink* link;
    HeldSession* told;
    bool chosen = false;
  };
  using Pieces = std::vector<Piece>;

  static Error refused(std::string message) { return {CudaError::devicesUnavailable, std::move(message)}; }

  Status make(Session& session, Pieces& pieces) {
    const channel::OpenSession& open = pieces.front().told->held.open;
    const channel::SessionIdentity& who = open.identity;
    for (const Piece& piece : pieces)
      if (const auto& other = piece.told->held.open; other.identity != who || other.name != open.name || other.hostWindow != open.hostWindow)
        return refused("two executors tell different things of whose it is");
    session.who = {.name = printable(open.name),
                   .program = printable(who.program),
                   .pid = static_cast<pid_t>(who.pid),
                   .uid = who.uid,
                   .gpus = who.gpus,
                   .gpuMemory = who.gpuMemory,
                   .hostMemory = who.hostMemory,
                   .moduleMemory = who.moduleMemory,
                   .supervised = who.supervised,
                   .check = open.check,
                   .family = who.family};
    session.since = std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(who.sinceNs)));
    session.key = who.key;
    session.state = Session::State::open;
    auto segment = wire::SessionSegment::map(pieces.front().told->segments[0].get(), wire::ForkedChild::without);
    if (!segment) return segment.error();
    session.segment = std::move(*segment);
    // Those that nobody tells of went with their executor.
    for (std::uint32_t index = 0; index < who.gpus; ++index)
      session.devices.push_back({.executor = pieces.front().link, .window = {}, .refused = true, .modules = {}, .whenSettled = {}, .loan = {}, .whenLeft = {}});

    if (session.key.size() < 16) return refused("nobody could attach to it again");
    if (!who.hostAddresses.contains(open.hostWindow)) return refused("its host window is not within its addresses");
    if (Status status = table_.addresses_.claim(who.hostAddresses); !status) return status;
    session.hostAddresses = who.hostAddresses;
    session.hostWindow = open.hostWindow;
    if (HeldSession& told = *pieces.front().told; told.process && isProcess(told.process.get(), who.pid))
      session.who.process = std::make_shared<wire::OwnedFd>(std::move(told.process));
    for (std::uint32_t index = 0; index < who.gpus; ++index)
      if (Status status = makeDevice(session, index, pieces); !status) return status;
    keepSegments(session, pieces);
    return {};
  }

  // Whoever served it serves it on. While it was being taken from one executor to another both have it: then whichever has been told to serve
  // it; where neither has, the first has it whole (migration.h).
  Status makeDevice(Session& session, std::uint32_t index, Pieces& pieces) {
    Piece* chosen = nullptr;
    for (Piece& piece : pieces) {
      const channel::HeldSession& held = piece.told->held;
      if (held.open.deviceIndex != index || held.state == channel::Held::dormant) continue;
      if (chosen == nullptr || held.state < chosen->told->held.state) chosen = &piece;
    }
    if (chosen == nullptr) return {};
    chosen->chosen = true;
    const channel::OpenSession& open = chosen->told->held.open;
    Session::Device& device = session.devices[index];
    if (Status status = table_.addresses_.claim(open.deviceWindow); !status) return status;
    device.window = open.deviceWindow;
    device.executor = chosen->link;
    device.incarnation = chosen->link->incarnation();
    device.memoryLimit = open.memoryLimit;
    device.refused = false;
    for (const std::uint64_t number : chosen->told->held.modules) {
      const auto& known = modules_[chosen->link];
      const auto module = known.find(number);
      if (module == known.end()) return refused("module " + std::to_string(number) + " of it was not told, or is none");
      device.modules.emplace(number, module->second.info);
      if (session.contents.emplace(number, module->second.content).second) session.moduleBytes += module->second.content->bytes;
    }
    return {};
  }

  void keepSegments(Session& session, Pieces& pieces) {
    if (!table_.pool_.swaps()) return;
    std::vector<wire::OwnedFd> segments(2 + 2 * session.devices.size());
    for (Piece& piece : pieces) {
      if (!piece.chosen) continue;
      const std::size_t at = 2 + 2 * std::size_t{piece.told->held.open.deviceIndex};
      segments[0] = std::move(piece.told->segments[0]);
      segments[1] = std::move(piece.told->segments[1]);
      segments[at] = std::move(piece.told->segments[2]);
      segments[at + 1] = std::move(piece.told->segments[3]);
    }
    if (std::ranges::all_of(segments, [](const wire::OwnedFd& fd) { return static_cast<bool>(fd); })) session.segments = std::move(segments);
  }

  // What was under way comes to its end. False: so does the session.
  bool settle(Session& session, Pieces& pieces) {
    const std::uint64_t id = session.id;
    endLoans(session, pieces);
    bool over = false;
    std::uint32_t served = 0;
    for (const Piece& piece : pieces) {
      const channel::Held state = piece.told->held.state;
      if (!piece.chosen) {
        ++session.awaited;
        piece.link->request(channel::CloseSession{id}, {}, [&table = table_, id](const Result<channel::Message>&) { table.arrived(id); });
        continue;
      }
      ++served;
      over = over || state == channel::Held::cutOff || state == channel::Held::closing;
      if (state == channel::Held::cutOff) spdlog::warn("session {} ({}) is cut off: {}", id, session.who.name, printable(piece.told->held.fault.message, 300));
      if (state == channel::Held::frozen) {
        spdlog::info("session {} ({}): goes on on GPU {}, from which the daemon before this one was taking it", id, printable(session.who.name), piece.link->ordinal());
        piece.link->request(channel::ResumeSession{id}, {}, [id](const Result<channel::Message>& answer) {
          if (!answer) spdlog::error("session {}: it could not be resumed: {}", id, answer.error().message);
        });
      }
    }
    for (std::uint32_t index = 0; index < session.devices.size(); ++index)
      if (session.devices[index].refused) table_.lose(session, index, refused("the GPU of this session was lost while there was no daemon"));
    if (over || served == 0) {
      table_.close(id);
      return false;
    }
    return true;
  }

  // Who reads another's memory stops, and then that has it again.
  void endLoans(Session& session, const Pieces& pieces) {
    const std::uint64_t id = session.id;
    std::vector<ExecutorLink*> lenders;
    for (const Piece& piece : pieces)
      if (piece.told->held.lends) lenders.push_back(piece.link);
    if (lenders.empty()) return;
    const auto give = std::make_shared<std::size_t>(1);
    const auto returned = [give, lenders, id](const Result<channel::Message>&) {
      if (--*give != 0) return;
      for (ExecutorLink* lender : lenders) lender->request(channel::ReturnMemory{id}, {}, [](const Result<channel::Message>&) {});
    };
    for (const Piece& piece : pieces) {
      if (!piece.told->held.borrows) continue;
      ++*give;
      piece.link->request(channel::EndBorrowing{id, true}, {}, returned);
    }
    returned(channel::Message{});
  }

  SessionTable& table_;
  std::map<const ExecutorLink*, std::map<std::uint64_t, Module>> modules_;
  std::map<std::uint64_t, Pieces> pieces_;
};

std::vector<SessionTable::Returned> SessionTable::adopt(const std::vector<AdoptedExecutor>& executors) {
  SessionAdoption adoption(*this);
  for (const AdoptedExecutor& executor : executors) adoption.add(executor);
  std::vector<Returned> returned = adoption.finish();
  changed_();
  return returned;
}

}  // namespace rouse::daemon
