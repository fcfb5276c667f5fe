// Drives one device for all its sessions: one thread, the reactor, that takes commands from their rings in turn,
// answers the daemon, scrubs memory when there is nothing better to do, and rests when there is nothing to do at all.
//
// The reactor never waits for a client, a kernel or a compiler. Everything here belongs to the thread that calls run().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "server/executor/control_link.h"
#include "server/executor/core_placement.h"
#include "server/executor/guest.h"
#include "server/executor/module_loader.h"
#include "server/executor/moves.h"
#include "server/executor/physical_memory.h"
#include "server/executor/poller.h"
#include "server/executor/progress_flag.h"
#include "server/executor/promises.h"
#include "server/executor/rest_policy.h"
#include "server/executor/session.h"
#include "server/executor/sharing.h"

namespace rouse::executor {

struct ExecutorOptions {
  unsigned cores = 1;  // that this process may run on
  bool discardLaunches = false;
  swap::PlanKind plan = swap::PlanKind::grouped;
  // Part of the daemon's host store for the homes of this executor's sessions; 0 bytes: none leaves the device.
  int homesFd = -1;
  std::uint64_t homesOffset = 0, homesBytes = 0;
  // For one session at most, with nothing of the device's memory at first: who gets how much another executor says (guest.h).
  bool isolated = false;
  // Of the device's memory, the first so many bytes are other executors' when this one is started.
  std::uint64_t absentBytes = 0;
  // Where to find another daemon when this one is gone, and for how long to look (adoption.cc); 0 ns: it ends with its daemon.
  std::string adoptionSocket{};
  std::uint64_t orphanNs = 0;
  std::string description{};  // of these options, the daemon's: told to the next
  int linksFd = -1;         // memfd of the node's modelled links, to be handed on
};

// Of the clock that sharing and moves go by: cheap, and as exact as the kernel's ticks.
std::uint64_t coarseNs();
// The same clock, exactly.
std::uint64_t steadyNs();

class Executor {
 public:
  // Says executorReady. `control`: a connected stream socket, of the daemon.
  static Result<std::unique_ptr<Executor>> create(std::unique_ptr<memory::Device> device, wire::OwnedFd control,
                                                  const ExecutorOptions& options);
  ~Executor();

  // Serves until the daemon says shutdown, or has closed the connection and no other has come in time. Fails when the device does, and
  // with the connection where no other daemon is waited for.
  Status run();

 private:
  // What another daemon will have to know of a session.
  struct Keepsake {
    channel::OpenSession open{};
    wire::OwnedFd segment{}, ring{}, process{};
  };
  struct Served {
    std::unique_ptr<Session> session;
    bool faultTold = false;
    std::optional<std::uint64_t> closeRequest;  // to be answered
    bool recalled = false;                      // the daemon has been told that what it lends is wanted
    Keepsake keepsake{};
  };
  struct Waiter {
    std::uint64_t request;
    std::uint64_t session;
  };

  Executor(std::unique_ptr<memory::Device> device, PhysicalMemory memory, Poller poller, wire::OwnedFd control,
           const ExecutorOptions& options);

  bool turn();
  bool pollSessions();
  bool share();
  // Homes that have been found to be equal: so may the chunks be.
  void meet();
  std::span<Session* const> sharers();
  bool takeTurnsWithGuests(std::span<Session* const> sessions, std::uint64_t now);
  void showActivity(std::span<Session* const> sessions, std::uint64_t now);
  Guest* findGuest(std::uint64_t number);
  Status useHomes(const wire::OwnedFd& file, std::uint64_t offset, std::uint64_t bytes);
  void settle(std::size_t index);
  void rest(Rest kind);
  bool anyBusy() const;
  bool readControl();  // whether anything was asked
  void finishLoads();
  bool finishImports();
  bool finishBorrowings();
  // ipc_requests.cc
  void openExport(std::uint64_t id, const channel::Ipc&, Session& importer);
  bool finishOpening();
  void forgetOpenings();
  void recallLent();
  void publishMemory();
  void send(std::uint64_t id, const channel::Body& body, std::vector<wire::OwnedFd> fds = {});
  void fail(Error error);
  // Orderly.
  void end(std::string why);
  channel::ExecutorReady ready() const;

  // adoption.cc
  bool orphaned() const { return orphanedAt_ != 0; }
  void loseDaemon(const Error& how);
  void seekDaemon();
  Status offer();
  Result<channel::HeldSession> describe(Served& served, std::vector<wire::OwnedFd>& fds);
  bool onOffered(channel::Message& answer);
  Served* find(std::uint64_t sessionId);

  void on(std::uint64_t id, channel::OpenSession&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::CloseSession&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::InstallModule&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::ExecutorStatusRequest&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::MoveSession&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::ExportSession&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::ImportSession&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::ResumeSession&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::ShareMemory&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::SharedMemory&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::EndBorrowing&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::ReturnMemory&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::GuestMemory&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::Promised&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::AssignHomes&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::Ipc&, std::vector<wire::OwnedFd>);
  void on(std::uint64_t id, channel::Shutdown&, std::vector<wire::OwnedFd>);
  template <class Other>
  void on(std::uint64_t id, Other&, std::vector<wire::OwnedFd>);

  std::unique_ptr<StoreView> store_;
  std::unique_ptr<Homes> homes_;  // which the device uses for as long as it lives
  std::unique_ptr<memory::Device> device_;
  PhysicalMemory memory_;
  Poller poller_;
  ControlLink control_;
  bool writeWatched_ = false;
  ProgressFlag flag_;
  ModuleLoader loader_;
  RestPolicy policy_;
  CorePlacement placement_;
  std::uint32_t clientCore_ = wire::kNoCore;  // of the program served last
  bool placed_ = false;                       // since then
  wire::CommandBuffer buffer_;
  Surroundings surroundings_;
  Sharing sharing_{surroundings_};
  Moves moves_;
  std::unordered_map<std::uint64_t, std::uint64_t> exports_;  // session, by request
  std::unordered_map<std::uint64_t, std::uint64_t> loads_;    // session, by request
  std::vector<Waiter> imports_;                               // whose homes are being filled
  std::vector<Waiter> borrowings_;                            // whose end is awaited

  struct Opening {
    std::uint64_t request, importer, exporter;
    std::shared_ptr<Export> what;
    std::uint64_t since;
  };
  std::vector<Opening> openings_;  // whose exporter is on its way to the device

  std::vector<std::unique_ptr<Guest>> guests_;
  std::unique_ptr<Promises> promises_;  // of an isolated one
  std::uint64_t shownAt_ = 0;           // that its session was active
  std::vector<Sharer*> all_;            // sessions and guests, for one turn

  std::vector<Served> served_;
  std::vector<Session*> sharers_;  // those served, for one turn
  std::size_t first_ = 0;  // whose turn it is to be first
  std::unordered_map<std::uint64_t, std::weak_ptr<memory::Image>> images_;
  std::unordered_map<std::uint64_t, std::vector<Waiter>> loading_;
  std::uint64_t publishedVersion_ = 0;
  bool deviceWaiting_ = false;
  unsigned turnsToControl_ = 0;
  std::uint64_t pastCommands_ = 0, pastLaunches_ = 0;  // of sessions that are gone

  // For another daemon.
  const std::string adoptionSocket_, description_;
  const std::uint64_t orphanNs_;
  wire::OwnedFd storeFile_, linksFile_;
  struct Content {
    wire::OwnedFd file;
    std::uint64_t bytes;
  };
  std::unordered_map<std::uint64_t, Content> contents_;  // of images_, by number
  std::uint64_t orphanedAt_ = 0, triesAt_ = 0;           // 0: there is a daemon
  std::optional<Error> broken_;                          // the connection, as was found in sending
  bool offered_ = false;                                 // to one that has not answered yet

  bool stopping_ = false;
  std::string ending_;  // why, where nothing has failed
  Status failure_;
};

}  // namespace rouse::executor
