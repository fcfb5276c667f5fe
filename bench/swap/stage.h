// Where swaps are made to happen: a pool in which a network fits but not much beside it, and a second function that takes all of
// the memory for a moment, so that the network has to go home.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/pool.h"
#include "bench/swap/networks.h"

namespace rouse::bench {

// A link in slow motion: at this rate, with the fixed cost that a copy over `like` has, made as many times longer as the link is slower.
// So a transfer of one tensor has the same part of its time in fixed costs as on the real one, which the rate alone would hide.
struct ModelledLink {
  double gbPerS = 0;              // 0: no link is modelled
  std::string like = "pcie5x16";  // a kind that memory/topology knows
  double latencyUs() const;
};

struct StageOptions {
  std::string device = "cpu";
  unsigned gpus = 1;
  unsigned instances = 1;    // that fit on a GPU at once
  std::string plan{};        // of --swap-plan; empty: the pool's own
  std::uint64_t memoryBytes = 0;  // of each GPU; 0: what the network takes, and a quarter
  ModelledLink link{};       // of each GPU; its rate, of the switch they share, too
  bool apart = false;        // the GPUs share no switch, and each function sees one of them
  double nvlinkGbPerS = 0;   // between two that are apart; 0: there is none
};

class Stage {
 public:
  Stage(const StageOptions& options, const std::string& network, double scale);
  ~Stage();

  // A program with the network on this GPU. `loaded`: its first answer, where wanted.
  Client serve(unsigned gpu = 0, nlohmann::json* loaded = nullptr) const;

  // One of the same network that is next to nothing, wherever the pool puts it.
  Client serveSmall() const;

  // Returns when all programs that have ended are gone from the pool too, and only so many are left.
  void settle(std::size_t functions) const;

  // From now on this GPU serves it.
  void migrate(const Client& client, unsigned gpu) const { pool_->migrate(client, gpu); }

  // A second function that, when told to, takes all memory of this GPU, so that whoever is there leaves. It keeps what it took.
  Client holder(unsigned gpu = 0) const { return hold(memoryBytes_, gpu); }
  Client hold(std::uint64_t bytes, unsigned gpu = 0) const;
  // Tells it to. Throws if afterwards anything but its own is on a GPU.
  void turnTo(Client& holder) const;

  // Another function takes all memory of all GPUs and ends. Returns the milliseconds until it had that of each GPU. Throws if
  // anything of the others stayed.
  std::vector<double> evict() const;

  // Of all functions together, as the executors count them.
  struct Usage {
    std::size_t functions = 0;
    std::uint64_t residentBytes = 0;
    std::uint64_t heldBytes = 0;  // of the GPUs' memory: what several functions share counts once
    std::map<pid_t, std::uint64_t> residentOf{}, mappedOf{};  // by process; mapped: resident or not
    std::map<pid_t, double> departureUsOf{};  // by process: its last departure, as the executor measured it
    std::uint64_t savedBytes = 0;  // by all departures
    std::uint64_t acquisitions = 0;  // of the driver: allocations of device memory, pinnings of host memory
    std::uint64_t peerBytes = 0;   // by all arrivals: from another GPU
    std::uint64_t hostStoreUsedBytes = 0, hostStorePendingBytes = 0;
  };
  Usage usage() const;
  // Of the host store, when all of it has been compared: equal pages are found some time after they have left a GPU.
  std::uint64_t restingHostStoreBytes() const;
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t memoryBytes() const { return memoryBytes_; }

 private:
  std::string network_;
  double scale_;
  std::uint64_t bytes_, memoryBytes_;
  std::string topology_;  // file; empty: none
  std::optional<Pool> pool_;
};

// Whether roused knows --swap-plan with this plan, and --topology.
bool knowsPlan(const std::string& plan);
bool knowsTopology();

}  // namespace rouse::bench
