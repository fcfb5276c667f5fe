// One attached process: its segments, its address windows and the executors that serve it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/range.h"
#include "schemas/wire/segment.h"
#include "server/control/message.h"
#include "server/roused/executor_link.h"
#include "server/roused/module_store.h"

namespace rouse::daemon {

class Loan;
class SessionSleep;

// What the daemon knows of who attaches, from the socket and the token.
struct SessionRequest {
  std::string name;
  std::string program;  // what it says of itself, for people
  pid_t pid = 0;
  uid_t uid = 0;
  std::uint32_t gpus = 1;
  std::uint64_t gpuMemory = 0;   // bytes on each; 0: all there is
  std::uint64_t hostMemory = 0;  // bytes of pinned and managed memory, staging not counted
  std::uint64_t moduleMemory = 0;
  bool supervised = false;  // a process of one of the daemon's functions
  bool isolated = false;    // on executors of its own
  std::uint32_t check = 0;  // its kernels' accesses are checked (control.capnp, Prepare)
  std::uint64_t family = 0;  // processes of one program, that are to see the same GPUs; 0: of none
  std::chrono::seconds patience{0};  // how long it waits for GPUs that are being started again
  std::shared_ptr<const wire::OwnedFd> process{};  // pidfd; null where there is none to be had
};

// What the process gets when it has been attached.
struct Opened {
  channel::Attached attached;
  std::vector<wire::OwnedFd> fds;  // in the order of control.capnp, Attached
};

struct Session {
  enum class State : std::uint8_t { opening, open, closing };

  struct Device {
    ExecutorLink* executor = nullptr;
    std::shared_ptr<ExecutorLink> own;  // the same, if it serves nobody else (isolated_executors.h); null: the GPU's shared one
    std::uint64_t incarnation = 0;  // of the executor; another one knows nothing of this session
    AddressRange window;
    std::uint64_t memoryLimit = 0;
    bool refused = false;                                  // the executor would not open the session
    std::map<std::uint64_t, channel::ModuleInfo> modules;  // installed, by content number
    unsigned installing = 0;                               // modules
    // While another executor is to take it over (migration.h) nothing is installed: what was asked for is done afterwards.
    bool moving = false;
    std::vector<std::function<void()>> whenSettled;
    std::uint64_t migrations = 0;
    // What the executor that served it before still lends the one that does; that one closes it afterwards.
    std::shared_ptr<Loan> loan;
    std::vector<std::function<void()>> whenLeft;  // it has

    // No executor serves it: it sleeps, and comes back when there is something to do.
    std::shared_ptr<SessionSleep> asleep;
    std::uint64_t resumes = 0;

    bool served() const { return !refused && !asleep && executor->serving() && executor->incarnation() == incarnation; }
  };

  std::uint64_t id = 0;
  State state = State::opening;
  SessionRequest who;
  std::chrono::system_clock::time_point since;
  std::string key;  // by which its process is known again (Reattach)
  std::chrono::steady_clock::time_point patientUntil;
  bool secondAttempt = false;
  AddressRange hostAddresses;  // as reserved for this session
  AddressRange hostWindow;     // what of it there is memory for
  std::optional<wire::SessionSegment> segment;
  std::vector<wire::OwnedFd> segments;  // as Opened::fds, for executors to come; empty: none can
  std::vector<Device> devices;
  std::map<std::uint64_t, ModuleContentPtr> contents;  // held for this session, by number
  std::uint64_t moduleBytes = 0;                       // of them

  std::size_t awaited = 0;  // answers of executors to openSession and closeSession
  Opened opened;            // while opening
  std::optional<Error> failure;
  bool lostWhileOpening = false;                 // the failure is that an executor died
  std::function<void(Result<Opened>)> whenOpen;  // called once
};

}  // namespace rouse::daemon
