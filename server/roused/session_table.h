// All attached processes. Opens a session on the executors it gets, installs its modules, marks what it loses, and
// takes everything back when it ends. On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/address_plan.h"
#include "server/roused/device_pool.h"
#include "server/roused/module_store.h"
#include "server/roused/prospects.h"
#include "server/roused/session.h"
#include "server/roused/usage_table.h"

namespace rouse::daemon {

class SessionTable {
 public:
  // `apiNames`: what SessionHeader::unsupportedCalls is indexed by; outlives the table.
  SessionTable(boost::asio::io_context&, DevicePool&, ModuleStore&, std::span<const std::string_view> apiNames);

  // Answers once every executor involved has; the session exists only if the answer is a success. Until then and
  // afterwards it is ended with close(). While GPUs that it needs are being started again it waits for them, as long as
  // the request says; also when one dies under its hands, but only once: it may be what kills it.
  void open(SessionRequest, std::function<void(Result<Opened>)>);
  void close(std::uint64_t id);
  // The GPUs that open() would give such a process now, and from now on will (prospects.h); in its order.
  Result<std::vector<ExecutorLink*>> foresee(const SessionRequest&);
  // Installs a module where it is not installed yet.
  void loadModule(std::uint64_t id, const channel::LoadModule&, wire::OwnedFd file,
                  std::function<void(Result<channel::ModuleInfo>)>);

  // The sessions of executors that have been adopted, as those tell of them (session_adoption.cc): once, before any other is opened. What does not
  // fit together is closed. Those that are open afterwards, each until its process has attached again.
  struct Returned {
    std::uint64_t id;
    std::shared_ptr<const wire::OwnedFd> process;
  };
  std::vector<Returned> adopt(const std::vector<AdoptedExecutor>&);
  // No session has had the next one's number, or a greater one.
  std::uint64_t nextId() const { return nextId_; }
  void continueFrom(std::uint64_t id) { nextId_ = std::max(nextId_, id); }

  // `changed` is called after a session has become open or has begun to close.
  void onChange(std::function<void()> changed) { changed_ = std::move(changed); }

  // Takes one of the session's devices to another GPU (migration.h), while it goes on. `done` is called once; after an error it is where
  // it was, or lost with its GPU.
  void migrate(std::uint64_t id, std::uint32_t device, ExecutorLink& target, std::function<void(Status)> done);
  // Takes the executor of an isolated session's device away, which has nothing to do: it is made again when it has. `usage`: as that executor
  // told it. `done` is called once; after an error it goes on as it was.
  void sleep(std::uint64_t id, std::uint32_t device, const channel::SessionUsage& usage, std::function<void(Status)> done);
  // The device is served, or is lost, when `done` is called, once; at once where it does not sleep.
  void wake(std::uint64_t id, std::uint32_t device, std::function<void(Status)> done);
  // Those that came to their end, of all sessions.
  std::uint64_t migrations() const { return migrations_; }

  // What a process asks of memory and events that it shares with others of its tenant (control.capnp, Ipc). `done` is called once; its descriptors: of
  // an event that has been opened.
  using IpcDone = std::function<void(Result<channel::Shared>, std::vector<wire::OwnedFd>)>;
  void share(std::uint64_t id, channel::Ipc request, std::vector<wire::OwnedFd> fds, IpcDone done);

  // The executor that lends memory to another for this session needs it itself.
  void recall(std::uint64_t id);

  // An executor has died: what it served is lost, and the clients are told through their segments.
  void markLost(const ExecutorLink&, const Error& reason);
  void markAllLost(const Error& reason);
  // Tries again for those who wait.
  void onPoolChanged();
  void refuseWaiting(const Error& reason);

  const std::map<std::uint64_t, std::unique_ptr<Session>>& sessions() const { return sessions_; }
  std::size_t attached() const;
  // Calls of each unsupported name so far, of live and ended sessions, by name; names never called are absent.
  std::map<std::string_view, std::uint64_t> unsupportedCalls() const;
  const memory::AddressPlan& addresses() const { return addresses_; }
  // What functions have used, as their executors told it.
  void note(const ExecutorLink&, const channel::ExecutorStatus&);
  const UsageTable& usage() const { return usage_; }

 private:
  friend class Migration;
  struct Attempt {
    SessionRequest request;
    std::function<void(Result<Opened>)> done;
    std::chrono::steady_clock::time_point until;
    bool second = false;
  };
  using Owned = std::vector<std::shared_ptr<ExecutorLink>>;
  void attempt(Attempt);
  void gather(const std::shared_ptr<Attempt>&, std::vector<ExecutorLink*> chosen, Owned own);
  // `own`: of as many GPUs as were chosen, or of none.
  void begin(Attempt, const std::vector<ExecutorLink*>& chosen, const Owned& own);
  void await(Attempt, const Error& why);
  Status prepare(Session&, const std::vector<ExecutorLink*>&, const Owned&);
  Status assignWindows(Session&);
  Status openOn(const Session&, std::uint32_t device);
  channel::OpenSession openRequest(const Session&, std::uint32_t device) const;
  friend class SessionAdoption;
  // What an executor gets for a session, in the order of control.capnp.
  Result<std::vector<wire::OwnedFd>> segmentsOf(const Session&, std::uint32_t device) const;
  // session_ipc.cc
  static void askShared(ExecutorLink& executor, const channel::Ipc& request, std::vector<wire::OwnedFd> fds, IpcDone done);
  void mapEvent(std::uint64_t id, const channel::Ipc& request, std::shared_ptr<wire::OwnedFd> memory, std::uint32_t next, std::function<void(Status)> done);
  void exportEvent(std::uint64_t id, const channel::Ipc& request, std::vector<wire::OwnedFd> fds, IpcDone done);
  void openShared(std::uint64_t id, const channel::Ipc& request, IpcDone done, bool moved);
  void woken(std::uint64_t id, std::uint32_t device, const Status&);
  void settled(Session::Device&);
  void lose(const Session&, std::uint32_t device, const Error& reason);
  void opened(std::uint64_t id, std::uint32_t device, Result<channel::Message>);
  void arrived(std::uint64_t id);
  void release(Session&);
  void install(std::uint64_t id, std::uint32_t device, ModuleContentPtr,
               std::function<void(Result<channel::ModuleInfo>)>);
  bool mayHold(const Session&, std::uint64_t bytes, Error&) const;
  void count(const Session&, std::vector<std::uint64_t>& calls) const;
  Session* find(std::uint64_t id) const;
  std::uint64_t loadOf(const ExecutorLink&) const;
  std::vector<std::uint32_t> gpusOf(const SessionRequest&);
  Result<std::vector<ExecutorLink*>> choose(const SessionRequest&);
  bool spins() const;

  DevicePool& pool_;
  ModuleStore& store_;
  std::span<const std::string_view> apiNames_;
  memory::AddressPlan addresses_;
  std::uint64_t nextId_ = 1;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::uint64_t migrations_ = 0;
  std::function<void()> changed_ = [] {};
  UsageTable usage_;
  Prospects prospects_;
  std::vector<std::uint64_t> callsOfEnded_;  // by ApiId
  std::deque<Attempt> waiting_;
  std::size_t gathering_ = 0;  // that wait for executors of their own
  boost::asio::steady_timer patience_;  // of the one whose time is over first
};

}  // namespace rouse::daemon
