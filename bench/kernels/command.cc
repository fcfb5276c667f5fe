#include "bench/kernels/command.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/kernels/cases.h"
#include "bench/kernels/client.h"
#include "bench/pool.h"
#include "bench/report.h"
#include "bench/targets.h"

namespace rouse::bench {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Request {
  bool asJson = false;
  double scale = 1;
  int repetitions = 7;
  unsigned threads = 0;
  double slack = 0;
};

// A directory of its own, gone with the object.
class Directory {
 public:
  Directory() {
    char path[] = "/tmp/rouse-bench-code-XXXXXX";
    if (!mkdtemp(path)) throw std::runtime_error("cannot make a folder in /tmp");
    path_ = path;
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  const fs::path& path() const { return path_; }
  std::set<fs::path> files() const {
    std::set<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file()) found.insert(entry.path());
    }
    return found;
  }

 private:
  fs::path path_;
};

// In a pool of its own, which keeps its code in `cache`.
json inPool(const std::vector<std::string>& arguments, const Directory& cache, unsigned threads) {
  const Pool pool({.memoryBytes = std::uint64_t{1} << 30,
                   .arguments = {"--code-cache", cache.path(), "--workers", std::to_string(threads)}});
  return pool.startClient(arguments).hear();
}

std::vector<double> millisecondsOver(const json& first, const json& second) {
  std::vector<double> values;
  for (const auto& [name, value] : first.items()) values.push_back(value.get<double>() - second.at(name).get<double>());
  return values;
}

json all(const Request& request) {
  double load[3] = {0, 0, 0};
  (void)getloadavg(load, 3);
  const unsigned threads = request.threads != 0 ? request.threads : std::thread::hardware_concurrency();
  json report{{"schema", 1},         {"benchmark", "kernels"},  {"device", "cpu"},
              {"threads", threads},  {"scale", request.scale},  {"repetitions", request.repetitions},
              {"load_average", load[0]}, {"environment", environment()}};
  const Directory cache;
  std::fprintf(stderr, "measuring compilation\n");
  const json cold = inPool({"kernels-client", "first"}, cache, threads);
  const auto compiled = cache.files();
  std::fprintf(stderr, "measuring kernels that are compiled already\n");
  const json warm = inPool({"kernels-client", "first"}, cache, threads);
  std::size_t added = 0;
  for (const auto& file : cache.files()) added += compiled.contains(file) ? 0 : 1;
  report["compile_ms_p50"] = median(millisecondsOver(cold.at("first_ms"), cold.at("second_ms")));
  report["compile_ms_max"] = percentile(millisecondsOver(cold.at("first_ms"), cold.at("second_ms")), 1);
  report["compilations"] = compiled.size();
  report["warm_first_ms_p50"] = median(millisecondsOver(warm.at("first_ms"), warm.at("second_ms")));
  report["warm_compilations"] = added;
  for (const auto& [name, value] : cold.at("first_ms").items())
    report["compile_ms"][name] = value.get<double>() - cold.at("second_ms").at(name).get<double>();
  if (compiled.empty()) throw std::runtime_error("no code was kept, so nothing is known of what is compiled again");
  std::fprintf(stderr, "measuring kernels\n");
  report.update(inPool({"kernels-client", "run", "--scale", std::to_string(request.scale), "--repetitions",
                        std::to_string(request.repetitions), "--threads", std::to_string(threads)},
                       cache, threads));
  return report;
}

void print(const json& report) {
  for (const auto& [key, value] : report.items()) {
    if (value.is_number()) std::printf("%-28s %.6g\n", key.c_str(), value.get<double>());
  }
}

}  // namespace

void addKernels(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("kernels", "Kernels on the CPU device beside the same in C++, compilation");
  auto request = std::make_shared<Request>();
  command->add_flag("--json", request->asJson, "Print one JSON object");
  command->add_option("--scale", request->scale, "Work of each computation, by the usual")->check(CLI::Range(0.001, 10.0));
  command->add_option("--repetitions", request->repetitions, "Runs of each, in turns")->check(CLI::Range(1, 1000));
  command->add_option("--threads", request->threads, "Of the device, and of the C++; 0: one a core")->check(CLI::Range(0, 1024));
  command->add_option("--check", request->slack, "Exit with 4 where a promised figure is missed by more than this factor (1: the promise itself)")
      ->check(CLI::Range(1.0, 100.0));
  command->callback([request, &status] {
    const json report = all(*request);
    if (request->asJson) {
      std::cout << report.dump(2) << '\n';
    } else {
      print(report);
    }
    for (const auto& name : report.at("wrong")) {
      std::fprintf(stderr, "wrong: %s: differs by %g\n", name.get<std::string>().c_str(),
                   report.at("difference_" + name.get<std::string>()).get<double>());
      status = 1;
    }
    if (status != 0 || request->slack == 0) return;
    const auto missed = missedTargets(kernelsTargets(), report, request->slack);
    for (const auto& line : missed) std::fprintf(stderr, "missed: %s\n", line.c_str());
    if (!missed.empty()) status = 4;
  });

  // What `kernels` runs inside the pool.
  auto* client = app.add_subcommand("kernels-client", "One measurement, run inside the pool")->group("");
  client->require_subcommand(1);
  auto inside = std::make_shared<Request>();
  auto* run = client->add_subcommand("run");
  run->add_option("--scale", inside->scale);
  run->add_option("--repetitions", inside->repetitions);
  run->add_option("--threads", inside->threads);
  run->callback([inside, &status] { status = runKernels(inside->scale, inside->repetitions, inside->threads); });
  client->add_subcommand("first")->callback([&status] { status = runFirstLaunches(); });
}

}  // namespace rouse::bench
