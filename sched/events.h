// What happens to a node, told to Scheduler::step. Plain values; nothing in them is believed without a check.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "sched/ids.h"
#include "sched/time.h"

namespace rouse::sched {

struct FunctionSpec {
  Duration deadline = std::chrono::milliseconds(100);
  double percentile = 0.98;        // of its requests are to be answered within the deadline; below 1
  std::uint64_t memoryBytes = 0;   // of a GPU, while it is present
  std::uint64_t transferBytes = 0; // that move when it comes; 0: memoryBytes
  bool strict = true;              // false: best effort, served behind all that are strict
  bool retry = false;              // a request may be run again after its executor failed
  std::uint32_t concurrency = 1;   // requests of it that run at one time
  std::uint32_t queueLimit = 1000; // requests of it that wait
  std::optional<GpuId> pinned{};   // never evicted from there
  std::optional<GpuId> tied{};     // can be nowhere else
  // What it takes, as far as that is known beforehand; 0: not. What is measured counts before what is told.
  Duration run{}, hostSwap{}, peerSwap{};  // present; coming from the host while it runs; from another GPU while it runs
};

struct Peer {
  GpuId gpu{};
  double bytesPerSecond = 0;
};

struct GpuSpec {
  std::uint64_t memoryBytes = 0;       // for functions
  double linkBytesPerSecond = 0;       // from the host, alone
  std::uint32_t switchId = 0;          // GPUs with the same one share a way to the host
  double uplinkBytesPerSecond = 0;     // of that way; 0: linkBytesPerSecond
  std::uint32_t slots = 1;             // requests that it runs at one time: 1 as Torpor does (section 4.5)
  std::vector<Peer> peers{};           // that it can copy from directly
};

struct FunctionAdded { FunctionId id{}; FunctionSpec spec; };
struct FunctionChanged { FunctionId id{}; FunctionSpec spec; };
struct FunctionRemoved { FunctionId id{}; };  // what waits is refused, what runs may end
struct GpuAdded { GpuId id{}; GpuSpec spec; };
struct PeerAdded { GpuId id{}; Peer peer; };  // it can copy from that one directly, or at another rate than before
struct GpuLost { GpuId id{}; };      // with all that was on it
struct GpuReturned { GpuId id{}; };  // empty
struct RequestArrived {
  RequestId id{};
  FunctionId function{};
  // It has been run before, and failed with its executor: it is let in, goes before others of its function, and is run on another GPU than that,
  // if there is one that its model may be brought to.
  bool again = false;
  std::optional<GpuId> failedOn{};
};
struct RequestCancelled { RequestId id{}; };  // nothing happens to one that runs: it will finish
struct ModelArrived { FunctionId function{}; GpuId gpu{}; };
struct ModelLeft { FunctionId function{}; GpuId gpu{}; };  // unasked: unloaded by hand, say
struct RequestFinished {
  RequestId id{};
  Duration run{};   // from the run's begin until its answer
  bool ok = true;   // an answer that is a failure meets no deadline
};
struct ExecutorFailed { GpuId gpu{}; };  // all on it is gone, the GPU goes on
struct TimerFired {};

using Event = std::variant<FunctionAdded, FunctionChanged, FunctionRemoved, GpuAdded, PeerAdded, GpuLost, GpuReturned, RequestArrived,
                           RequestCancelled, ModelArrived, ModelLeft, RequestFinished, ExecutorFailed, TimerFired>;

}  // namespace rouse::sched
