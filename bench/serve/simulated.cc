#include "bench/serve/simulated.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <stdexcept>

#include "bench/report.h"

namespace rouse::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kRounds = 4;
// Of the link's time for its parameters: who takes less was there, or most of it was.
constexpr double kSwapped = 0.9;

double linkMs(unsigned mib, const FleetOptions& setup) { return mib * 1048576.0 / (setup.linkGbPerS * 1e6); }

// Of a GPU, by a function; what the scheduler is told it takes.
double memoryMib(unsigned mib) { return mib + kBesideParametersMib; }

}  // namespace

Calibration calibrate(const Fleet& fleet, const FleetOptions& setup) {
  std::map<unsigned, std::vector<double>> runs, swaps;
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t f = 0; f < fleet.names().size(); ++f) {
      const unsigned mib = setup.mib[f];
      const auto us = closedLoop(fleet.router(), "/fn/" + fleet.names()[f] + "/", 3);
      if (us[0] / 1e3 >= kSwapped * linkMs(mib, setup)) swaps[mib].push_back(us[0] / 1e3);
      runs[mib].push_back(us[1] / 1e3);
      runs[mib].push_back(us[2] / 1e3);
    }
  // What a swap takes beside the link's time hardly depends on the size: of a size that never had to come it is the others'.
  std::vector<double> beside;
  for (const auto& [mib, times] : swaps)
    for (const double ms : times) beside.push_back(ms - linkMs(mib, setup));
  if (beside.empty()) throw std::runtime_error("no function was ever swapped in");
  Calibration calibration;
  for (const auto& [mib, times] : runs)
    calibration.byMib[mib] = {median(times), swaps[mib].empty() ? linkMs(mib, setup) + median(beside) : median(swaps[mib]), swaps[mib].size()};
  return calibration;
}

json describe(const Calibration& calibration) {
  json described = json::object();
  for (const auto& [mib, times] : calibration.byMib)
    described[std::to_string(mib) + "_mib"] = {{"run_ms", times.run}, {"host_swap_ms", times.hostSwap}, {"swaps", times.swaps}};
  return described;
}

json simulateServed(const std::vector<std::string>& names, const FleetOptions& setup, const Calibration& alone,
                    const std::vector<Arrival>& schedule, double warmUp, const std::string& keep) {
  std::string folder = keep;
  if (keep.empty()) {
    char path[] = "/tmp/rouse-bench-XXXXXX";
    if (mkdtemp(path) == nullptr) throw std::runtime_error("cannot make a folder in /tmp");
    folder = path;
  } else {
    fs::create_directories(folder);
  }
  std::ofstream node(folder + "/node.toml");
  node << std::fixed << std::setprecision(9) << "name = \"rouse-bench\"\nfunction_memory_gb = " << setup.gpuMib * 1048576e-9
       << "\nnative_functions = 1\n" << describeLinks(setup, "topology.");
  node.close();
  std::ofstream models(folder + "/models.toml");
  models << std::fixed << std::setprecision(9) << "working_gb = 0.0\npercentile = 0.98\nlast_groups_ms = 1.0\n";
  for (std::size_t f = 0; f < names.size(); ++f) {
    const auto& times = alone.byMib.at(setup.mib[f]);
    // What no one has measured here is not asked for: there are no NVLinks, and nothing starts cold.
    models << "\n[[model]]\nname = \"" << names[f] << "\"\nparameters = " << setup.mib[f] * (1048576 / 4) << "\nmemory_gb = "
           << memoryMib(setup.mib[f]) * 1048576e-9 << "\nnative_ms = " << times.run << "\nrun_ms = " << times.run << "\nhost_swap_ms = " << times.hostSwap
           << "\npeer_swap_ms = " << times.hostSwap << "\ncold_ms = " << times.hostSwap << "\ndeadline_ms = " << setup.deadlineMs << "\n";
  }
  models.close();
  std::ofstream events(folder + "/events.csv");
  events << std::fixed << std::setprecision(6) << "timestamp,function\n";
  for (const auto& arrival : schedule) events << arrival.at << "," << names[arrival.function] << "\n";
  events.close();

  const std::string command = "'" + binaryPath("rouse-sim").string() + "' run --json --node '" + folder + "/node.toml' --models '" + folder +
                              "/models.toml' --trace '" + folder + "/events.csv' --warm-up " + std::to_string(warmUp);
  std::FILE* output = popen(command.c_str(), "re");
  if (output == nullptr) throw std::runtime_error("rouse-sim cannot be started");
  std::string text;
  std::array<char, 4096> piece;
  for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), output)) > 0;) text.append(piece.data(), got);
  const int status = pclose(output);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("this failed: " + command);
  if (keep.empty()) fs::remove_all(folder);
  return json::parse(text);
}

}  // namespace rouse::bench
