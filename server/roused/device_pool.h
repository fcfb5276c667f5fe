// The GPUs of this node, and which of them a function gets.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memory/pinned_arena.h"
#include "memory/topology.h"
#include "schemas/base/result.h"
#include "server/roused/executor_link.h"
#include "server/roused/isolated_executors.h"
#include "server/roused/settings.h"

namespace rouse::daemon {

struct DevicePoolOptions {
  DeviceKind kind = DeviceKind::automatic;
  bool kindAsked = false;  // on the command line: who asks there is told what comes of it
  std::uint32_t count = 0;
  std::uint64_t memory = 0;
  std::uint32_t workers = 0;
  std::string link, topology;   // settings.h
  std::uint64_t hostStore = 0;  // bytes, for all GPUs together; 0: nobody's memory leaves its GPU
  IsolatedExecutors::Options isolated;
  std::string swapPlan = "grouped";
  bool discardLaunches = false;
  std::string codeCache;  // settings.h, resolved; empty: none
  std::uint64_t codeCacheBytes = 0;
  std::string executor;
  std::string backends;
  std::uint64_t wireHash = 0;
  std::chrono::milliseconds backOff{100};
  // As ExecutorOptions has them.
  std::string adoptionSocket;
  std::uint64_t orphanTimeout = 0;
  std::chrono::milliseconds liveness{0};
};

// One that another daemon had started and this one has now; what it has told of its sessions is its orphan's still.
struct AdoptedExecutor {
  ExecutorLink* link = nullptr;
  OrphanPtr orphan;
};

// What executors say of themselves when they are asked; those that do not answer in time are absent.
using ExecutorStates = std::map<const ExecutorLink*, channel::ExecutorStatus>;
// What one of them says of a session; null: nothing.
const channel::SessionUsage* usageOf(const ExecutorStates&, const ExecutorLink&, std::uint64_t session);

class DevicePool {
 public:
  // `onStarted` is called once, when every GPU serves or has failed to. With an error when none serves: the first
  // one's, its code as its device gave it (memory/start_failure.h).
  struct Events {
    std::function<void(Status)> onStarted;
    std::function<void(ExecutorLink&, const Error& reason)> onLost;
    std::function<void()> onChanged;
    std::function<void(std::uint64_t sessionId, const Error&)> onSessionFault;
    std::function<void(const channel::SessionWaits&)> onSessionWaits;
    std::function<void(std::uint64_t sessionId)> onMemoryWanted;
    // Before onStarted. Each link serves.
    std::function<void(std::vector<AdoptedExecutor>)> onAdopted = [](std::vector<AdoptedExecutor>) {};
  };
  DevicePool(boost::asio::io_context&, DevicePoolOptions, Events);

  // `orphans`: executors of a daemon before this one. Those that are what would be started are adopted, the others are refused.
  // `keptStore`: the host store of one, from the service manager (service_notify.h), if it has any.
  void start(std::vector<OrphanPtr> orphans = {}, wire::OwnedFd keptStore = {});
  void stop(std::chrono::milliseconds grace, std::function<void()> stopped);

  std::span<const std::unique_ptr<ExecutorLink>> links() const { return links_; }
  std::size_t serving() const;
  IsolatedExecutors& isolated() { return isolated_; }
  const IsolatedExecutors& isolated() const { return isolated_; }
  // All that serve functions: the shared ones of all GPUs, and isolated ones.
  std::vector<ExecutorLink*> executors() const;
  // Functions' memory may leave its GPU: there is a host store.
  bool swaps() const { return hostStore_.has_value(); }
  std::string_view kind() const { return name(kind_); }
  // Why the CPU device serves where a GPU would have been taken (DeviceKind::automatic); empty otherwise.
  const std::string& substituted() const { return substituted_; }

  // Whether `count` may be serving soon: those that do, and those that are being started again.
  bool mayServe(std::uint32_t count) const;

  // `count` different serving GPUs: `wanted`, by ordinal and in that order, if they are so many and all serve, else those with the smallest `load`
  // first. systemNotReady when fewer serve, invalidValue when there are not so many at all.
  Result<std::vector<ExecutorLink*>> choose(std::uint32_t count, std::span<const std::uint32_t> wanted,
                                            const std::function<std::uint64_t(const ExecutorLink&)>& load) const;

 private:
  void open(DeviceKind);
  void chooseOrphans(const std::vector<ExecutorOptions>&);
  bool adopt();
  Status makeHostStore();
  void takeHostStore();
  std::string describeNode(std::uint32_t count) const;
  Result<std::uint32_t> readLinks(std::uint32_t count);
  Status makeLinks();
  void onDown(ExecutorLink&, bool served, const Error&);
  void settle();
  void logProblem(const ExecutorLink&);

  boost::asio::io_context& io_;
  DevicePoolOptions options_;
  Events events_;
  DeviceKind kind_ = DeviceKind::cpu;
  IsolatedExecutors isolated_;
  std::vector<std::unique_ptr<ExecutorLink>> links_;
  // Of a GPU back end that did not open; kept until their processes are gone.
  std::vector<std::unique_ptr<ExecutorLink>> abandoned_;
  std::vector<bool> heardOf_;         // by ordinal: ready or failed at least once
  std::vector<std::string> problem_;  // by ordinal: what has been logged of one that does not start
  std::string substituted_;
  std::optional<memory::PinnedArena> hostStore_;
  wire::OwnedFd linkBoard_;
  std::optional<memory::Topology> topology_;  // of modelled links
  std::vector<OrphanPtr> orphans_;
  wire::OwnedFd keptStore_;
  Error firstFailure_;
  bool settled_ = false;
};

}  // namespace rouse::daemon
