#include "bench/serve/fleet.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "bench/report.h"

namespace rouse::bench {
namespace {

std::string functionFile(const FleetOptions& options, unsigned number) {
  std::ostringstream file;
  file << "command = [\"" << binaryPath("rouse-bench").string() << "\", \"serve-function\", \"weights\", \"--mib\", \"" << options.mib[number]
       << "\", \"--seed\", \"" << number + 1 << "\", \"--stride\", \"" << options.effort.stride << "\", \"--uses\", \"" << options.effort.uses
       << "\"]\nclass = \"strict\"\ndeadline = \"" << options.deadlineMs << "ms\"\nqueue_timeout = \"9s\"\ngpu_memory = \""
       << options.mib[number] + kBesideParametersMib << "MiB\"\nhealth_interval = \"30s\"\n";
  return file.str();
}

}  // namespace

std::string describeLinks(const FleetOptions& options, const std::string& prefix) {
  std::ostringstream text;
  for (unsigned gpu = 0; gpu < options.gpus; ++gpu)
    text << "[[" << prefix << "gpu]]\nlink_gb_per_s = " << std::fixed << options.linkGbPerS << "\nlink_latency_us = 0.0\n";
  return text.str();
}

Fleet::Fleet(const FleetOptions& options) : options_(options) {
  char path[] = "/tmp/rouse-bench-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) throw std::runtime_error("cannot make a file in /tmp");
  close(fd);
  topology_ = path;
  std::ofstream(topology_) << "name = \"rouse-bench\"\n" << describeLinks(options, "");
  const unsigned all = std::accumulate(options.mib.begin(), options.mib.end(), static_cast<unsigned>(options.mib.size()) * kBesideParametersMib);
  PoolOptions pool{.gpus = options.gpus, .functionGpus = 1, .memoryBytes = std::uint64_t{options.gpuMib} << 20};
  // Wherever they go, all of them may be on one GPU.
  if (options.swaps) pool.hostStoreBytes = ((std::uint64_t{all} << 20) + (std::uint64_t{64} << 20)) * options.gpus;
  // What the modelled links move is copied by cores that are not the kernels', as far as there are any.
  const unsigned cores = std::max(2u, std::thread::hardware_concurrency());
  pool.arguments = {"--topology", topology_, "--workers", std::to_string(std::max(1u, (cores - 1) / options.gpus))};
  for (unsigned i = 0; i < options.mib.size(); ++i) {
    std::string name = std::to_string(i);
    name.insert(0, 3 - std::min<std::size_t>(3, name.size()), '0');
    pool.functions[names_.emplace_back("model-" + name)] = functionFile(options, i);
  }
  pool_.emplace(pool);
}

Fleet::~Fleet() {
  pool_.reset();
  unlink(topology_.c_str());
}

std::vector<std::string> Fleet::ready(double seconds) const {
  std::vector<std::string> found;
  for (const double deadline = now() + seconds;; usleep(200000)) {
    found.clear();
    for (const std::string& name : names_) {
      try {
        fetch(router(), "/v2/models/" + name + "/ready");
        found.push_back(name);
      } catch (const std::exception&) {
      }
    }
    if (found.size() == names_.size() || now() > deadline) return found;
  }
}

std::map<unsigned, double> Fleet::gpuSeconds() const {
  std::istringstream text(fetch({"", pool_->adminPort()}, "/metrics"));
  const std::string key = "rouse_gpu_request_seconds_total{gpu=\"";
  std::map<unsigned, double> seconds;
  for (unsigned gpu = 0; gpu < options_.gpus; ++gpu) seconds[gpu] = 0;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(key)) seconds[static_cast<unsigned>(std::stoul(line.substr(key.size())))] = std::stod(line.substr(line.rfind(' ')));
  return seconds;
}

}  // namespace rouse::bench
