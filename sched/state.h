// All that the scheduler knows. Policies read it; only Scheduler changes it.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "sched/actions.h"
#include "sched/estimate.h"
#include "sched/events.h"
#include "sched/traffic.h"
#include "sched/window.h"
#include "schemas/base/range.h"

namespace rouse::sched {

// Who is served first: lower ones. Compared in the order of the members.
struct Key {
  int group = 0;
  double value = 0;
  std::uint64_t arrival = 0;  // of requests, counted: first come, first served among equals
  auto operator<=>(const Key&) const = default;
};

// Who leaves first: lower ones.
struct Rank {
  int group = 0;
  double value = 0;
  auto operator<=>(const Rank&) const = default;
};

struct Request {
  enum class State : std::uint8_t { waits, runs };
  RequestId id{};
  FunctionId function{};
  Time arrived{}, deadline{};
  std::uint64_t number = 0;  // in order of arrival
  State state = State::waits;
  GpuId gpu{};          // where it runs
  Source source{};      // of its model when it began
  bool whole = false;   // the model was there, all of it, when it began
  bool swapsAll = false;// or nothing of it
  bool retried = false;
  std::optional<GpuId> failedOn{};
};

// A model on a GPU, or on its way there.
struct Copy {
  GpuId gpu{};
  bool arriving = false;
  bool used = false;      // by a request since it came
  bool held = false;      // cannot be evicted now
  bool counted = false;   // in Gpu::held or Gpu::leavers
  std::uint64_t missing = 0; // bytes, of what it uses last; none while it arrives
  std::uint64_t coming = 0;  // bytes, while it arrives
  Source source{};        // where it comes from, while it arrives
  Time begun{}, arrives{};// of its way here; arrives as expected, for those from a peer
  Time usedAt{};
  std::uint32_t users = 0;// requests that run, and copies on their way to other GPUs
  Rank rank{};
  bool whole() const { return !arriving && missing == 0; }
};

struct Function {
  FunctionId id{};
  FunctionSpec spec;
  bool known = false, leaving = false;
  std::deque<RequestId> waiting;  // in order of arrival
  std::uint32_t running = 0;
  std::vector<Copy> copies;
  Window window;
  Median run, hostSwap, peerSwap;
  Rate rate;
  double meanLatency = 0;  // seconds, of those that were answered lately
  Time headDeadline{};     // of its first waiting request
  std::uint64_t headNumber = 0;
  std::optional<GpuId> headFailedOn{};
  std::optional<Key> key;  // its place in the order, while it is there

  const Copy* copyOn(GpuId gpu) const {
    for (const Copy& copy : copies)
      if (copy.gpu == gpu) return &copy;
    return nullptr;
  }
  bool comes() const { return std::any_of(copies.begin(), copies.end(), [](const Copy& copy) { return copy.arriving; }); }
  bool wholeSomewhere() const { return std::any_of(copies.begin(), copies.end(), [](const Copy& copy) { return copy.whole(); }); }
  // Of a GPU's memory.
  std::uint64_t size(const Copy& copy) const { return spec.memoryBytes - copy.missing; }
  bool allowedOn(GpuId gpu) const { return !spec.tied || *spec.tied == gpu; }
  std::uint64_t transferBytes() const { return spec.transferBytes != 0 ? spec.transferBytes : spec.memoryBytes; }
};

struct Entry {
  Key key;
  FunctionId function{};
  auto operator<=>(const Entry&) const = default;
};

// What memory comes and goes in: a part that leaves is so many of them.
inline constexpr std::uint64_t kPieceBytes = kGranuleBytes;
constexpr std::uint64_t wholePieces(std::uint64_t bytes) { return (bytes + kPieceBytes - 1) / kPieceBytes * kPieceBytes; }

struct Leaver {
  Rank rank;
  FunctionId function{};
  auto operator<=>(const Leaver&) const = default;
};

// Placement looks at each GPU for each request that waits: what it reads is together, and first.
struct Gpu {
  GpuId id{};
  bool known = false, present = false;
  std::uint64_t used = 0;  // bytes of all copies
  std::uint64_t held = 0;  // of those that cannot be evicted now
  Time free{};             // when a slot is expected to be free; the clock's beginning: one is
  double load = 0;         // time with requests lately, by State::recent: for comparisons between GPUs
  double leavesFirst = 0;  // the value of the first leaver's rank, while there is one
  std::set<Entry> ready;   // functions of State::order with a copy here, arriving or not
  GpuSpec spec;
  std::set<Leaver> leavers;        // those that can be evicted, in the order in which they would be
  std::vector<FunctionId> models;  // copies here, in no order
  std::vector<GpuId> readers;      // that can copy from it directly
  struct Slot {
    RequestId request{};
    Time ends{};     // as expected
    Duration takes{};// the same, from its begin: charged to the GPU's load
  };
  std::vector<Slot> running;
  bool idle() const { return present && running.size() < spec.slots; }
};

class State {
 public:
  static constexpr Duration kUnknownRun = std::chrono::milliseconds(20);
  static constexpr Duration kLastGroups = std::chrono::milliseconds(2);  // of a swap, that nothing hides

  std::vector<Function> functions;
  std::vector<Gpu> gpus;
  std::unordered_map<RequestId, Request> requests;
  std::set<Entry> order;        // functions with a waiting request that could run, the most urgent first
  std::vector<GpuId> idle;      // GPUs with a free slot, in order of numbers
  std::vector<Traffic> traffic; // by switch
  std::size_t slots = 0;        // of all GPUs that are there
  double queuedSeconds = 0;     // of GPU time, of all requests that wait
  Landmark recent;              // for Gpu::load
  double load = 0;              // of all GPUs

  const Function& operator[](FunctionId id) const { return functions[index(id)]; }
  const Gpu& operator[](GpuId id) const { return gpus[index(id)]; }

  Duration run(const Function& f) const { return f.run(f.spec.run.count() != 0 ? f.spec.run : kUnknownRun); }
  // From the host, or from a peer, while it runs and nothing else is under way.
  Duration hostSwap(const Function& f, const Gpu& gpu) const {
    if (f.hostSwap.known()) return f.hostSwap({});
    if (f.spec.hostSwap.count() != 0) return f.spec.hostSwap;
    return std::max(run(f), transfer(f, gpu)) + kLastGroups;
  }
  Duration peerSwap(const Function& f, double bytesPerSecond) const {
    if (f.peerSwap.known()) return f.peerSwap({});
    if (f.spec.peerSwap.count() != 0) return f.spec.peerSwap;
    return std::max(run(f), fromSeconds(static_cast<double>(f.transferBytes()) / std::max(1.0, bytesPerSecond))) + kLastGroups;
  }
  static Duration transfer(std::uint64_t bytes, const Gpu& gpu) {
    return fromSeconds(static_cast<double>(bytes) / std::max(1.0, gpu.spec.linkBytesPerSecond));
  }
  static Duration transfer(const Function& f, const Gpu& gpu) { return transfer(f.transferBytes(), gpu); }
  // How long a run from the host takes when only these bytes have to come, the ones that it uses last. What of the whole swap neither
  // the transfer nor the run accounts for is taken to go with the bytes.
  Duration hostSwap(const Function& f, const Gpu& gpu, std::uint64_t bytes) const {
    const Duration all = hostSwap(f, gpu);
    if (bytes >= f.transferBytes()) return all;
    return std::max(run(f) + kLastGroups, transfer(bytes, gpu) + tail(f, gpu, bytes));
  }
  // From the last byte to the end.
  Duration tail(const Function& f, const Gpu& gpu, std::uint64_t bytes) const {
    const Duration all = std::max(kLastGroups, hostSwap(f, gpu) - std::max(run(f), transfer(f, gpu)));
    const double part = static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, f.transferBytes()));
    return kLastGroups + Duration(static_cast<Duration::rep>(static_cast<double>((all - kLastGroups).count()) * std::min(1.0, part)));
  }
  // From now to the end of a request, if it is served at once.
  Duration serve(const Function& f) const {
    Duration least = Duration::max();
    for (const Copy& copy : f.copies)
      least = std::min(least, copy.missing == 0 ? run(f) : hostSwap(f, (*this)[copy.gpu], copy.missing));
    if (!f.copies.empty()) return least;
    for (const Gpu& gpu : gpus)
      if (gpu.present) return hostSwap(f, gpu);
    return run(f);
  }
  // Torpor's heavy models are those that PCIe slows down (section 5.3, Table 4's underlined: 1.4 times and more; the others: 1.2).
  bool heavy(const Function& f, const Gpu& gpu) const { return hostSwap(f, gpu) > run(f) * 13 / 10; }

  // Whether there is room for all of it, or can be made.
  bool fits(const Function& f, const Gpu& gpu) const { return fits(f, f.copyOn(gpu.id), gpu); }
  static bool fits(const Function& f, const Copy* copy, const Gpu& gpu) {
    const std::uint64_t own = copy != nullptr && copy->held ? f.size(*copy) : 0;
    return gpu.present && gpu.held - own + f.spec.memoryBytes <= gpu.spec.memoryBytes;
  }
  // Nothing of it is there or comes, or only a part is: it can be brought.
  static bool lacks(const Function& f, GpuId gpu) {
    const Copy* copy = f.copyOn(gpu);
    return copy == nullptr || (!copy->arriving && copy->missing != 0);
  }
  // 0: there is no direct way.
  double peerRate(const Gpu& to, GpuId from) const {
    for (const Peer& peer : to.spec.peers)
      if (peer.gpu == from) return peer.bytesPerSecond;
    return 0;
  }
  // Of the work that all GPUs have had lately, by what would be this one's part: 1 where load is even.
  double loadShare(const Gpu& gpu) const {
    return load > 0 && slots != 0 ? gpu.load * static_cast<double>(slots) / (load * gpu.spec.slots) : 1;
  }
  // When a slot is expected to be free.
  Time freeAt(const Gpu& gpu, Time now) const {
    return std::max(gpu.free, now);
  }
  // When all of a copy is expected to be there.
  Time arrival(const Function& f, const Copy& copy, Time now) const {
    if (!copy.arriving) return now;
    if (copy.source.kind != Source::Kind::host) return std::max(now, copy.arrives);
    return traffic[(*this)[copy.gpu].spec.switchId].arrival(f.id, copy.gpu, now);
  }
  // From when on a request would not wait for parts of it longer than it takes to run: its end is then as early as if it had begun
  // with the transfer, and the GPU has been free for others so long.
  Time ready(const Function& f, const Copy& copy, Time now) const {
    if (!copy.arriving) return now;
    const Duration last = copy.source.kind == Source::Kind::host ? tail(f, (*this)[copy.gpu], copy.coming) : kLastGroups;
    return std::max(copy.begun, arrival(f, copy, now) + std::min(last, run(f)) - run(f) - kLastGroups);
  }
};

}  // namespace rouse::sched
