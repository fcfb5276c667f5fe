// What transfers over a node's links would take: virtual time only, so that both a device that plays its links against the
// real clock and a simulator use it.
//
// A transfer waits for the latencies of its path, then moves its bytes; all that move at one time share each link max-min
// fairly (progressive filling: Bertsekas and Gallager, Data Networks, 6.5.2): nobody's rate can be raised but by lowering
// that of somebody who has no more. Concurrent copies through one PCIe switch then slow each other as in Torpor's Table 3.
// A start or a completion changes all rates at once.
//
// Times are nanoseconds of one clock; one that is before the last counts as the last. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/topology.h"

namespace rouse::swap {

using Nanoseconds = std::int64_t;
using TransferId = std::uint64_t;

class LinkModel {
 public:
  struct Completion {
    TransferId id = 0;
    Nanoseconds at = 0;  // rounded up
    bool operator==(const Completion&) const = default;
  };

  // Links have bandwidths above 0.
  explicit LinkModel(std::span<const memory::Link> links, Nanoseconds now = 0);

  // The path names no link twice. Without links, or without bytes, it takes no longer than the latencies. Completions that
  // are due by now are returned by the next advance().
  TransferId start(Nanoseconds now, std::span<const memory::LinkId> path, std::uint64_t bytes);
  // False if it is complete, or never was.
  bool cancel(Nanoseconds now, TransferId id);
  // When the next transfer will be complete if none is started before.
  std::optional<Nanoseconds> nextCompletion() const;
  // All transfers that were complete by then, in order of completion, each once.
  std::vector<Completion> advance(Nanoseconds now);

  std::size_t inFlight() const { return transfers_.size(); }
  // Bytes a second, at the time last advanced to; 0 while it waits for the latencies, or when it is not in flight.
  double rate(TransferId id) const;
  // Bytes of a transfer in flight that have not moved yet.
  double remainingBytes(TransferId id) const;
  // All that has moved over a link, by transfers that were cancelled too.
  double carriedBytes(memory::LinkId link) const { return links_[link].carried; }

 private:
  struct Link {
    double capacity = 0;  // bytes a nanosecond
    double latency = 0;   // nanoseconds
    double carried = 0;
  };
  struct Transfer {
    TransferId id = 0;
    std::vector<memory::LinkId> path;
    double movesAt = 0;
    double remaining = 0;
    double rate = 0;
    bool moving = false;
  };

  double since(Nanoseconds time) const { return static_cast<double>(time - origin_); }
  void progress(double until);
  void share();

  Nanoseconds origin_;
  double now_ = 0;  // since origin_: small enough for a double to be exact to a fraction of a nanosecond
  TransferId last_ = 0;
  std::vector<Link> links_;
  std::vector<Transfer> transfers_;
  std::vector<Completion> done_;
};

}  // namespace rouse::swap
