// Executors of isolated functions: one for each device of each session, ended with it, so that nothing of one function is ever where
// another's code runs. Some are kept ready in advance, without memory and without a session (spare_policy.h). What they have of their GPU's
// memory comes from its shared executor, whose book says who may have how much (server/executor/guest.h); the daemon carries messages
// between the two and keeps account of what has changed hands (memory_ledger.h).
//
// On the event loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "memory/pinned_arena.h"
#include "server/roused/executor_link.h"
#include "server/roused/memory_ledger.h"
#include "server/roused/spare_policy.h"

namespace rouse::daemon {

class IsolatedExecutors {
 public:
  struct Options {
    std::uint32_t spares = 1;     // on each GPU, once an isolated function is expected
    std::uint64_t hostStore = 0;  // bytes of host memory for homes of all of them together; 0: what they have stays on its GPU
  };
  struct Events {
    // It served a session, and has died. It stays while anybody holds it.
    std::function<void(ExecutorLink&, const Error& reason)> onLost;
    std::function<void(std::uint64_t sessionId, const Error&)> onSessionFault;
    std::function<void(std::uint64_t sessionId)> onMemoryWanted;
  };
  using Taken = std::function<void(Result<std::shared_ptr<ExecutorLink>>)>;

  IsolatedExecutors(boost::asio::io_context&, Options, Events);
  ~IsolatedExecutors();

  // A GPU, whose shared executor this is and outlives this; isolated ones of it are started like that one, with this of its options.
  void addGpu(ExecutorLink& shared, ExecutorOptions like);
  // By all isolated executors of the GPU: what its shared one has to do without.
  std::uint64_t granted(std::uint32_t gpu) const;

  // Isolated functions will come, to any GPU.
  void expect();
  // One for a session, that may have so much of the GPU's memory; a ready one at once, perhaps before this returns. `homes`: which the session
  // has already; null: it gets some.
  void take(std::uint32_t gpu, std::uint64_t memoryLimit, std::shared_ptr<memory::PinnedArena> homes, Taken);
  // Of one that has been taken: so much of the GPU's memory for a session that comes with its homes.
  void promise(const ExecutorLink&, std::uint64_t bytes, std::function<void(Status)> done);
  // Where the homes of what it serves are; null: nowhere.
  std::shared_ptr<memory::PinnedArena> homesOf(const ExecutorLink&) const;
  // Its session is to sleep (session_sleep.h): it ends, but its homes, and what it has been promised of the GPU and of the host, stay its as
  // long as `counted` lives. Without homes: null, and nothing is done.
  struct Kept {
    std::shared_ptr<memory::PinnedArena> homes;
    std::shared_ptr<void> counted;
  };
  Kept keep(const ExecutorLink&);
  // Its session has ended, or is elsewhere: it ends, and what it has goes back.
  void release(const ExecutorLink&);

  // Of shared executors.
  void onSharedReady(ExecutorLink& shared);
  void onSharedGuest(ExecutorLink& shared, const channel::Body&);

  void stop(std::chrono::milliseconds grace, std::function<void()> stopped);

  // Those that serve a session, or are about to.
  std::vector<std::shared_ptr<ExecutorLink>> taken() const;
  struct Count {
    std::uint32_t taken = 0, spares = 0, starting = 0;
  };
  Count count(std::uint32_t gpu) const;
  std::uint64_t homeBytes() const;  // of the host store's, given out
  std::uint64_t hostStoreBytes() const { return options_.hostStore; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kOthers = 0;  // server/executor/guest.h
  static constexpr std::chrono::milliseconds kGrace{2000};

  enum class State : std::uint8_t { starting, spare, taken, ending };
  struct Isolated {
    std::shared_ptr<ExecutorLink> link;
    State state = State::starting;
    std::shared_ptr<memory::PinnedArena> homes;
    bool homesPresent = false;
    std::uint64_t promised = 0, wanted = 0;  // bytes, as the shared executor is to know
    std::deque<std::uint64_t> promises;      // asked for, the first of them perhaps of the shared executor
    bool asking = false;
    bool guest = false;  // the shared executor knows of it
    bool kept = false;   // and does so when it has ended
  };
  struct Waiting {
    std::uint64_t memoryLimit;
    std::shared_ptr<memory::PinnedArena> homes;
    Taken done;
  };
  struct Gpu {
    ExecutorLink* shared = nullptr;
    ExecutorOptions like;
    MemoryLedger ledger;
    SparePolicy policy;
    std::map<std::uint64_t, Isolated> executors;
    std::map<std::uint64_t, std::uint64_t> kept;  // bytes promised, of executors that have ended
    std::deque<Waiting> waiting;
  };

  void start(Gpu&);
  // Starts what is to be started, hands over what is ready.
  void settle(Gpu&);
  void handOver(Gpu&, std::uint64_t number, Waiting);
  Result<std::shared_ptr<memory::PinnedArena>> makeHomes(std::uint64_t bytes, bool present);
  Status mayPromise(const Isolated&, std::uint64_t bytes) const;
  void onReady(Gpu&, std::uint64_t number);
  void onDown(Gpu&, std::uint64_t number, bool served, const Error&);
  void onGuest(Gpu&, std::uint64_t number, const channel::Body&);
  // It has ended, with whatever it had.
  void forget(Gpu&, std::uint64_t number);
  void askPromise(Gpu&, std::uint64_t number);
  void tell(ExecutorLink&, const channel::GuestMemory&);
  std::uint64_t rest(const Gpu& gpu, std::uint64_t call) const;
  void again(std::chrono::milliseconds pause);
  Isolated* find(const ExecutorLink&);
  channel::GuestMemory promiseOf(std::uint64_t number, std::uint64_t bytes, const Isolated&) const;

  boost::asio::io_context& io_;
  Options options_;
  Events events_;
  std::map<std::uint32_t, Gpu> gpus_;
  std::uint64_t next_ = 1;
  std::uint64_t presentHomes_ = 0;  // bytes, of homes that are there as a whole
  // Handlers of theirs may still be on their way.
  std::vector<std::pair<Clock::time_point, std::shared_ptr<ExecutorLink>>> ended_;
  boost::asio::steady_timer timer_;
  bool stopping_ = false;
};

}  // namespace rouse::daemon
