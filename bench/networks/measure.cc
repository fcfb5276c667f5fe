#include "bench/networks/measure.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "bench/pool.h"
#include "bench/report.h"
#include "bench/serve/load.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kInputs = 4;     // different requests to each network
// What a function has on its GPU besides weights, at most.
std::uint64_t beside(NetworkSize size) { return (size == NetworkSize::small ? 32 : 128) * kMiB; }
constexpr int kDeadlineMs = 5000;

// What a network answers to each of its requests when nobody else asks for anything.
using Answers = std::map<std::uint64_t, std::string>;

class Measurement {
 public:
  Measurement(const NetworksOptions& options, std::vector<ServedNetwork> networks, std::uint64_t gpuBytes)
      : options_(options), networks_(std::move(networks)), gpuBytes_(gpuBytes), pool_(poolOf(options_, networks_, gpuBytes)), router_{pool_.routerSocket(), 0} {}

  // One after the other: who uploads beside others on a GPU that does not hold them all has it for a few MiB at a time.
  void start() const {
    const auto folder = std::filesystem::path(pool_.socket()).parent_path() / "functions.d";
    for (const ServedNetwork& network : networks_) {
      if (&network != &networks_.front()) {
        std::ofstream(folder / (network.name + ".toml")) << network.file(gpuBytes_, kDeadlineMs);
        pool_.tell({"reload"});
      }
      awaitReady(network);
    }
  }

  // How many different requests there are to one.
  static std::uint64_t inputsOf(const ServedNetwork& network) { return network.byToken ? static_cast<std::uint64_t>(network.tokens) : kInputs; }

  // One after the other, nobody else at work, the model on the GPU.
  void alone(const ServedNetwork& network, json& report) {
    std::fprintf(stderr, "%s: alone\n", network.name.c_str());
    const std::uint64_t inputs = inputsOf(network);
    for (std::uint64_t i = 0; i < inputs; ++i) answers_[network.name][i] = ask(network, i).second;
    std::vector<double> ms;
    const std::uint64_t before = roundTrips(network);
    for (int repetition = 0; repetition < options_.repetitions; ++repetition)
      for (std::uint64_t i = 0; i < inputs; ++i) ms.push_back(checked(network, i));
    const double trips = static_cast<double>(roundTrips(network) - before) / static_cast<double>(ms.size());
    report["alone_ms_" + network.name] = median(ms);
    report["round_trips_" + network.name] = trips;
  }

  // Each after it was sent home and all others have been served, whose models take its place.
  void swapped(json& report) {
    std::fprintf(stderr, "all in turn, each from home\n");
    std::map<std::string, std::vector<double>> ms, mib;
    for (int repetition = 0; repetition < options_.repetitions; ++repetition)
      for (const ServedNetwork& network : networks_) {
        pool_.tell({"unload", network.name});
        const std::uint64_t before = brought(network);
        ms[network.name].push_back(checked(network, static_cast<std::uint64_t>(repetition)));
        mib[network.name].push_back(static_cast<double>(brought(network) - before) / static_cast<double>(kMiB));
      }
    for (const ServedNetwork& network : networks_) {
      report["swap_ms_" + network.name] = median(ms[network.name]);
      report["swap_mib_" + network.name] = median(mib[network.name]);
    }
  }

  // Everybody at once, each asked by one client without a pause.
  void storm(json& report) {
    std::fprintf(stderr, "all at once for %g s\n", options_.seconds);
    std::map<std::string, std::vector<double>> ms;
    for (const ServedNetwork& network : networks_) ms[network.name];
    const double until = now() + options_.seconds;
    std::vector<std::thread> clients;
    std::vector<std::string> failures;
    std::mutex mutex;
    for (const ServedNetwork& network : networks_)
      clients.emplace_back([&, this] {
        try {
          for (std::uint64_t i = 0; now() < until; ++i) ms.at(network.name).push_back(checked(network, i));
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex);
          failures.push_back(network.name + ": " + error.what());
        }
      });
    for (std::thread& client : clients) client.join();
    if (!failures.empty()) throw std::runtime_error(failures.front());
    for (const auto& [name, samples] : ms) {
      report["storm_requests_" + name] = samples.size();
      report["storm_ms_" + name] = median(samples);
      report["storm_p98_ms_" + name] = percentile(samples, 0.98);
    }
  }

  void sum(json& report) const {
    std::uint64_t bytes = 0, arrivals = 0;
    for (const ServedNetwork& network : networks_) bytes += brought(network), arrivals += function(network).at("gpus")[0].at("arrivals").get<std::uint64_t>();
    report["swapped_in_bytes"] = bytes;
    report["arrivals"] = arrivals;
    report["requests"] = requests_;
    report["wrong"] = wrong_;
  }

 private:
  void awaitReady(const ServedNetwork& network) const {
    for (const double deadline = now() + 300; now() < deadline; usleep(100'000)) {
      try {
        fetch(router_, "/v2/models/" + network.name + "/ready");
        return;
      } catch (const std::exception&) {
      }
    }
    throw std::runtime_error(network.name + " is not ready after 300 s");
  }

  static PoolOptions poolOf(const NetworksOptions& options, const std::vector<ServedNetwork>& networks, std::uint64_t gpuBytes) {
    PoolOptions pool{.device = options.device, .memoryBytes = gpuBytes, .hostStoreBytes = 0};
    pool.functions[networks.front().name] = networks.front().file(gpuBytes, kDeadlineMs);
    for (const ServedNetwork& network : networks) pool.hostStoreBytes += network.modelBytes + beside(options.size);
    return pool;
  }

  // Milliseconds and the answer.
  std::pair<double, std::string> ask(const ServedNetwork& network, std::uint64_t number) const {
    const double begin = now();
    auto [status, body] = post(router_, "/v2/models/" + network.name + "/infer", network.body(number));
    if (status != 200) throw std::runtime_error(network.name + " answered with " + std::to_string(status) + ": " + body.substr(0, 300));
    return {(now() - begin) * 1e3, std::move(body)};
  }

  double checked(const ServedNetwork& network, std::uint64_t number) {
    const std::uint64_t input = number % inputsOf(network);
    const auto [ms, body] = ask(network, input);
    const std::lock_guard lock(counting_);
    ++requests_;
    if (body != answers_.at(network.name).at(input)) {
      ++wrong_;
      std::fprintf(stderr, "wrong: %s: request %llu\n", network.name.c_str(), static_cast<unsigned long long>(input));
    }
    return ms;
  }

  json function(const ServedNetwork& network) const {
    const json status = pool_.status();
    for (const json& one : status.at("functions"))
      if (one.at("name") == network.name) return one;
    throw std::runtime_error(network.name + " is not attached");
  }
  std::uint64_t roundTrips(const ServedNetwork& network) const { return function(network).at("round_trips"); }
  std::uint64_t brought(const ServedNetwork& network) const { return function(network).at("gpus")[0].at("brought_bytes"); }

  const NetworksOptions options_;
  const std::vector<ServedNetwork> networks_;
  const std::uint64_t gpuBytes_;
  const Pool pool_;
  const Place router_;
  std::map<std::string, Answers> answers_;
  std::mutex counting_;
  std::uint64_t requests_ = 0, wrong_ = 0;
};

}  // namespace

json measureNetworks(const NetworksOptions& options) {
  std::vector<ServedNetwork> networks;
  for (ServedNetwork& network : servedNetworks(options.size))
    if (options.only.empty() || std::find(options.only.begin(), options.only.end(), network.name) != options.only.end()) networks.push_back(std::move(network));
  for (const std::string& name : options.only)
    if (std::none_of(networks.begin(), networks.end(), [&](const ServedNetwork& network) { return network.name == name; })) throw std::runtime_error("there is no program for " + name);
  if (networks.empty()) throw std::runtime_error("there are no programs beside rouse-bench: the target network-programs builds them");

  std::uint64_t models = 0, largest = 0;
  for (const ServedNetwork& network : networks) models += network.modelBytes, largest = std::max(largest, network.modelBytes + beside(options.size));
  const std::uint64_t gpu = options.gpuMib != 0 ? options.gpuMib * kMiB : std::max(largest, models / 2) / (2 * kMiB) * (2 * kMiB) + 2 * kMiB;
  double load[3] = {0, 0, 0};
  (void)getloadavg(load, 3);
  json report{{"schema", 1}, {"benchmark", "networks"}, {"device", options.device}, {"size", options.size == NetworkSize::small ? "small" : "whole"},
              {"repetitions", options.repetitions}, {"seconds", options.seconds}, {"model_bytes", models}, {"gpu_memory_bytes", gpu}, {"load_average", load[0]}, {"environment", environment()}};
  for (const ServedNetwork& network : networks) report["networks"].push_back(network.name), report["model_mib_" + network.name] = static_cast<double>(network.modelBytes) / static_cast<double>(kMiB);
  Measurement measurement(options, networks, gpu);
  const double begin = now();
  measurement.start();
  report["ready_s"] = now() - begin;
  for (const ServedNetwork& network : networks) measurement.alone(network, report);
  measurement.swapped(report);
  measurement.storm(report);
  measurement.sum(report);
  return report;
}

}  // namespace rouse::bench
