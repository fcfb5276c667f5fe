// The links of a node as its executors share them: one small memfd, made by the daemon and mapped by every executor, that says
// which links there are and what moves over them now.
//
// Lock-free: whoever changes what moves works on a copy in a place of its own and publishes that with one compare-and-swap. A process
// that is killed, or stopped, at whatever point holds up nobody; flows that it had under way end in the model when they would
// have. Executors trust each other with time, not with memory: what is read is checked, and rubbish counts as no flows.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "memory/topology.h"
#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"
#include "server/device/link_flows.h"

namespace rouse::device {

// Of a GPU's bytes: from the host, to the host, and from another GPU, over an NVLink between the two.
enum class LinkDirection : std::uint8_t { toDevice = 0, toHost = 1, fromGpu0 = 2 /* and so on: fromGpu() */ };

constexpr LinkDirection fromGpu(std::uint32_t gpu) {
  return static_cast<LinkDirection>(static_cast<std::uint32_t>(LinkDirection::fromGpu0) + gpu);
}

using FlowId = std::uint64_t;
using Nanoseconds = std::int64_t;  // of the monotonic clock

class LinkBoard {
 public:
  // Sealed: its size stays. An error names what cannot be had.
  static Result<wire::OwnedFd> create(const memory::Topology& topology);
  // The view of one GPU's executor; ends flows that an earlier process left in its name. The descriptor is borrowed for the call.
  static Result<std::unique_ptr<LinkBoard>> attach(int fd, std::uint32_t gpu);
  ~LinkBoard();
  LinkBoard(const LinkBoard&) = delete;

  std::uint32_t gpus() const { return static_cast<std::uint32_t>(paths_.size()); }
  // There is such a path: always to and from the host, from another GPU where an NVLink is.
  bool has(LinkDirection direction) const { return paths_[gpu_][static_cast<std::size_t>(direction)].count != 0; }
  // Of the slowest link of a path, and of all links of it. Here and below: one that there is.
  double bytesPerSecond(LinkDirection direction) const;
  Nanoseconds latency(LinkDirection direction) const;
  // The slowest link of the way from the host that another GPU's goes over, too: its number, the same for both, and its rate; none: the way
  // is this GPU's alone.
  struct Shared {
    std::uint32_t link = 0;
    double bytesPerSecond = 0;
  };
  std::optional<Shared> sharedWay() const;

  // --- Any thread
  // A transfer of this GPU begins. If nothing else is under way on its links, it counts as having begun at `since`: what followed
  // another at once in the model, and is told a wake-up later, loses nothing. 0: there are kMaxFlows already; try again later.
  FlowId start(Nanoseconds now, LinkDirection direction, std::uint64_t bytes, Nanoseconds since);
  FlowId start(Nanoseconds now, LinkDirection direction, std::uint64_t bytes) { return start(now, direction, bytes, now); }
  // It ends, whatever it has left.
  void cancel(Nanoseconds now, FlowId flow);
  // Bytes of it need not be moved after all.
  void credit(Nanoseconds now, FlowId flow, std::uint64_t bytes);
  struct View {
    double remaining = 0;  // bytes
    bool ended = false;    // all have moved
  };
  View look(Nanoseconds now, FlowId flow);
  // When no more than `remaining` bytes will be left if nothing else begins or is cancelled; rounded up.
  Nanoseconds whenLeft(Nanoseconds now, FlowId flow, double remaining);

  // Bytes that have moved already, or will whatever the model says: they take their share of the link from `now` on, and nobody
  // waits for them. One store and one addition: fit for a signal handler.
  void charge(Nanoseconds now, LinkDirection direction, std::uint64_t bytes) noexcept;

 private:
  struct Header;
  // Changes that one thread of this process makes; a buffer is in the hands of one thread, or published, or free.
  static constexpr std::uint32_t kBuffersPerGpu = 8;
  static constexpr std::uint32_t kMaxDirections = 2 + memory::Topology::kMaxGpus;

  LinkBoard(void* memory, std::size_t bytes, std::uint32_t gpu);
  static std::size_t bytesFor(std::size_t gpus);
  Status readHeader();
  std::atomic<std::uint64_t>* buffer(std::uint64_t index) const;
  std::uint64_t read(Nanoseconds now, LinkFlows& into) const;
  bool check(LinkFlows& flows, Nanoseconds now) const;
  bool chargesPending() const;
  std::uint32_t directions() const { return 2 + gpus(); }
  template <class Change>
  void change(Nanoseconds now, Change change);
  void addCharge(LinkFlows& flows, std::uint32_t gpu, std::uint32_t direction, double bytes, double since) const;

  Header* header_;
  std::size_t bytes_;
  std::uint32_t gpu_;
  std::vector<LinkRate> rates_;
  std::vector<std::vector<LinkPath>> paths_;  // by GPU and direction, of which there are two more than GPUs
  std::atomic<std::uint64_t> nextFlow_{0};
  std::atomic<bool> taken_[kBuffersPerGpu] = {};
};

}  // namespace rouse::device
