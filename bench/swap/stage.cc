#include "bench/swap/stage.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "bench/report.h"
#include "memory/topology.h"

namespace rouse::bench {
namespace {

constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;

// The file's path.
std::string writeTopology(unsigned gpus, const ModelledLink& link, bool apart = false, double nvlinkGbPerS = 0) {
  char path[] = "/tmp/rouse-bench-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) throw std::runtime_error("cannot make a file in /tmp");
  close(fd);
  std::ofstream file(path);
  file << "name = \"rouse-bench\"\n";
  const bool shared = gpus > 1 && !apart;
  if (shared) file << "[[switch]]\nname = \"shared\"\nuplink_gb_per_s = " << std::fixed << link.gbPerS << "\n";
  for (unsigned gpu = 0; gpu < gpus; ++gpu)
    file << "[[gpu]]\nlink_gb_per_s = " << std::fixed << link.gbPerS << "\nlink_latency_us = " << link.latencyUs() << "\n" << (shared ? "switch = \"shared\"\n" : "");
  if (nvlinkGbPerS != 0) file << "[[nvlink]]\ngpus = [0, 1]\ngb_per_s = " << nvlinkGbPerS << "\n";
  return path;
}

}  // namespace

double ModelledLink::latencyUs() const {
  const memory::LinkKind* kind = memory::findLinkKind(like);
  if (kind == nullptr) throw std::runtime_error("no kind of link is called " + like);
  return kind->latencySeconds * 1e6 * kind->bytesPerSecond / (gbPerS * 1e9);
}

bool knowsPlan(const std::string& plan) { return rousedAccepts("--swap-plan", plan); }

bool knowsTopology() {
  const std::string file = writeTopology(1, {.gbPerS = 1});
  const bool known = rousedAccepts("--topology", file);
  unlink(file.c_str());
  return known;
}

Stage::Stage(const StageOptions& options, const std::string& network, double scale)
    : network_(network), scale_(scale), bytes_(scaled(bench::network(network), scale).bytes()) {
  // Tensors of a granule and more begin with one, so their ends leave gaps.
  const std::uint64_t one = bytes_ + bytes_ / 4 + 16 * kGranule;
  memoryBytes_ = (one * options.instances + kGranule - 1) / kGranule * kGranule;
  if (options.memoryBytes != 0) memoryBytes_ = options.memoryBytes;
  PoolOptions pool{.device = options.device, .gpus = options.gpus, .memoryBytes = memoryBytes_};
  // Whoever attaches must have room at home: those that serve (two take turns), and the one that takes everything.
  pool.hostStoreBytes = options.gpus * (3 * memoryBytes_ + 64 * kGranule);
  if (options.apart) pool.functionGpus = 1;
  if (!options.plan.empty()) pool.arguments.insert(pool.arguments.end(), {"--swap-plan", options.plan});
  if (options.link.gbPerS > 0) {
    topology_ = writeTopology(options.gpus, options.link, options.apart, options.nvlinkGbPerS);
    pool.arguments.insert(pool.arguments.end(), {"--topology", topology_});
    // What the modelled links move is copied by cores that are not the kernels', as a GPU's copy engines are not its multiprocessors.
    const unsigned cores = std::max(2u, std::thread::hardware_concurrency());
    pool.arguments.insert(pool.arguments.end(), {"--workers", std::to_string(std::max(1u, (cores - 1) / options.gpus))});
  }
  pool_.emplace(pool);
}

Stage::~Stage() {
  pool_.reset();
  if (!topology_.empty()) unlink(topology_.c_str());
}

Client Stage::serve(unsigned gpu, nlohmann::json* loaded) const {
  std::ostringstream scale;
  scale << scale_;
  Client client = pool_->startClient({"swap-client", "--network", network_, "--scale", scale.str(), "--gpu", std::to_string(gpu)});
  nlohmann::json first = client.hear();
  if (loaded != nullptr) *loaded = std::move(first);
  return client;
}

Client Stage::serveSmall() const {
  Client client = pool_->startClient({"swap-client", "--network", network_, "--scale", "0.001"});
  client.hear();
  return client;
}

Stage::Usage Stage::usage() const {
  const double deadline = now() + 20;
  for (;; usleep(2000)) {
    const nlohmann::json seen = pool_->status();
    Usage usage{.functions = seen.at("functions").size()};
    // An executor that is busy for longer than the daemon waits is missing from what it says.
    bool complete = true;
    for (const auto& gpu : seen.at("gpus")) {
      complete = complete && gpu.contains("host_store_used_bytes");
      usage.hostStoreUsedBytes += gpu.value("host_store_used_bytes", std::uint64_t{0});
      usage.hostStorePendingBytes += gpu.value("host_store_pending_bytes", std::uint64_t{0});
      usage.acquisitions += gpu.value("device_allocations", std::uint64_t{0}) + gpu.value("host_pinnings", std::uint64_t{0});
      usage.heldBytes += gpu.value("memory_held_bytes", std::uint64_t{0});
    }
    for (const auto& function : seen.at("functions")) {
      for (const auto& gpu : function.at("gpus")) {
        complete = complete && gpu.contains("resident_bytes");
        usage.residentBytes += gpu.value("resident_bytes", std::uint64_t{0});
        usage.residentOf[function.at("pid")] += gpu.value("resident_bytes", std::uint64_t{0});
        usage.mappedOf[function.at("pid")] += gpu.value("mapped_bytes", std::uint64_t{0});
        if (const auto ns = gpu.find("last_departure_ns"); ns != gpu.end() && ns->is_number())
          usage.departureUsOf[function.at("pid")] = ns->get<double>() * 1e-3;
        usage.savedBytes += gpu.value("saved_bytes", std::uint64_t{0});
        usage.peerBytes += gpu.value("peer_bytes", std::uint64_t{0});
      }
    }
    if (complete) return usage;
    if (now() > deadline) throw std::runtime_error("for 20 s no executor has said what is resident");
  }
}

std::uint64_t Stage::restingHostStoreBytes() const {
  for (const double deadline = now() + 60;; usleep(20'000)) {
    const Usage seen = usage();
    if (seen.hostStorePendingBytes == 0) return seen.hostStoreUsedBytes;
    if (now() > deadline) throw std::runtime_error("for 60 s pages in the host store have not been compared");
  }
}

void Stage::settle(std::size_t functions) const {
  const double deadline = now() + 20;
  while (usage().functions != functions) {
    if (now() > deadline) throw std::runtime_error("20 s after a program has ended, its function is still there");
    usleep(2000);
  }
}

Client Stage::hold(std::uint64_t bytes, unsigned gpu) const {
  Client client = pool_->startClient({"swap-client", "--hold", std::to_string(bytes), "--gpu", std::to_string(gpu)});
  client.hear();
  return client;
}

void Stage::turnTo(Client& holder) const {
  holder.ask("touch");
  std::uint64_t others = 0;
  for (const auto& [pid, resident] : usage().residentOf)
    if (pid != holder.pid()) others += resident;
  if (others != 0) throw std::runtime_error("with all memory of a GPU taken, " + std::to_string(others) + " bytes of others are on it");
}

std::vector<double> Stage::evict() const {
  const std::size_t before = usage().functions;
  std::vector<double> milliseconds;
  {
    Client other = pool_->startClient({"swap-client", "--occupy", std::to_string(memoryBytes_)});
    milliseconds = other.hear().at("ms").get<std::vector<double>>();
  }
  // It has ended; until the daemon has noticed, its memory is not free. (What is promised to functions that are away counts as
  // not free in "memory_free_bytes".)
  const double deadline = now() + 20;
  for (;; usleep(2000)) {
    const Usage seen = usage();
    if (seen.functions == before && seen.residentBytes == 0) return milliseconds;
    if (now() > deadline) {
      throw std::runtime_error("20 s after an eviction " + std::to_string(seen.residentBytes) + " bytes of functions are on the GPU");
    }
  }
}

}  // namespace rouse::bench
