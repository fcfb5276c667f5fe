#include "bench/serve/demo.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "bench/networks/served.h"
#include "bench/pool.h"
#include "bench/report.h"
#include "bench/serve/function.h"
#include "bench/serve/load.h"
#include "bench/serve/page.h"
#include "bench/swap/networks.h"

namespace rouse::bench {
namespace {

using nlohmann::json;

struct Options {
  int functions = 20;
  double seconds = 40, rate = 10;
  std::uint64_t memory = 80;  // MiB, of each GPU
  bool networks = true;
  std::string report = "demo-report.html";
  bool spoiled = false;
};

// Networks of the Torpor paper, an eighth of each: they come to several times what both GPUs hold.
constexpr double kScale = 0.125;
constexpr std::uint32_t kStride = 16;
constexpr int kDeadlineMs = 500;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr const char* kIds = "demo-";
constexpr std::array kNetworks = {"resnet50", "efficientnet_b0", "densenet201", "resnet101", "inception_v3", "densenet169", "resnet152"};

std::string nameOf(int i) { return std::string(kNetworks[static_cast<std::size_t>(i) % kNetworks.size()]) + "-" + std::to_string(i / static_cast<int>(kNetworks.size()) + 1); }

std::string fileOf(int i, bool spoiled) {
  return "command = [\"" + binaryPath("rouse-bench").string() + "\", \"demo-function\", \"" + kNetworks[static_cast<std::size_t>(i) % kNetworks.size()] + "\", \"" +
         std::to_string(i + 1) + "\"" + (spoiled ? ", \"--spoiled\"" : "") + "]\ndeadline = \"" + std::to_string(kDeadlineMs) + "ms\"\nqueue_limit = 200\nqueue_timeout = \"20s\"\n";
}

std::string size(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f MiB", static_cast<double>(bytes) / static_cast<double>(kMiB));
  return text;
}

void awaitReady(const Place& router, double patience) {
  for (const double deadline = now() + patience; now() < deadline; usleep(100'000)) {
    try {
      fetch(router, "/v2/health/ready");
      return;
    } catch (const std::exception&) {
    }
  }
  throw std::runtime_error("the functions are not ready after " + std::to_string(static_cast<int>(patience)) + " s");
}

// Two GPUs whose links are slow enough that one sees what comes over them, and two processor cores can move it; gone with the object.
class TopologyFile {
 public:
  TopologyFile() : path_(std::filesystem::temp_directory_path() / ("rouse-demo-" + std::to_string(getpid()) + ".toml")) {
    std::ofstream(path_) << "name = \"demo\"\n[[gpu]]\nlink_gb_per_s = 0.5\n[[gpu]]\nlink_gb_per_s = 0.5\n[[nvlink]]\ngpus = [0, 1]\ngb_per_s = 2.0\n";
  }
  ~TopologyFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TopologyFile(const TopologyFile&) = delete;
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// `rouse VERB ...` of this pool, on our own standard output.
pid_t startTool(const Pool& pool, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), binaryPath("rouse"));
  arguments.insert(arguments.end(), {"--socket", pool.socket()});
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}
void end(pid_t pid, bool now) {
  if (now) kill(pid, SIGTERM);
  int status = 0;
  waitpid(pid, &status, 0);
  const bool fine = (WIFEXITED(status) && WEXITSTATUS(status) == 0) || (now && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  if (!fine) throw std::runtime_error("rouse failed: it should have shown what the pool does");
}

// Some are asked often and evenly, most now and then, every third in bursts.
std::vector<Stream> streamsOf(const Options& options) {
  std::vector<Stream> streams;
  double sum = 0;
  for (int i = 0; i < options.functions; ++i) {
    streams.push_back({1 / std::sqrt(i + 1.0), i % 3 == 2 ? 2.5 : 1});
    sum += streams.back().perSecond;
  }
  for (Stream& stream : streams) stream.perSecond *= options.rate / sum;
  return streams;
}

// What each network answers to the requests that it is going to get, while nobody else is asked for anything.
using Answers = std::map<std::string, std::vector<std::string>>;
constexpr std::uint64_t kInputs = 4;

Answers askAlone(const Place& router, const std::vector<ServedNetwork>& networks) {
  Answers answers;
  for (const ServedNetwork& network : networks)
    for (std::uint64_t input = 0; input < kInputs; ++input) {
      auto [status, body] = post(router, "/v2/models/" + network.name + "/infer", ServedNetwork::bodyAtOnce(input));
      if (status != 200) throw std::runtime_error(network.name + " answered with " + std::to_string(status) + ": " + body.substr(0, 300));
      answers[network.name].push_back(std::move(body));
    }
  return answers;
}

std::map<std::string, Dialogue> dialoguesOf(const Answers& answers) {
  std::map<std::string, Dialogue> dialogues;
  for (const auto& [name, right] : answers)
    dialogues[name] = {[](std::uint64_t number) { return ServedNetwork::bodyAtOnce(number % kInputs); },
                       [&right](std::uint64_t number, const std::string& answer) { return answer == right[number % kInputs]; }};
  return dialogues;
}

int demo(const Options& options) {
  const TopologyFile topology;
  PoolOptions pool{.gpus = 2, .functionGpus = 1, .memoryBytes = options.memory * kMiB, .hostStoreBytes = static_cast<std::uint64_t>(options.functions) * 80 * kMiB, .arguments = {"--topology", topology.path()}};
  Served served{.title = "Rouse: " + std::to_string(options.functions) + " functions on two small GPUs", .seconds = options.seconds, .functions = {}, .conditions = {}};
  std::vector<std::string> names;
  std::uint64_t models = 0;
  std::vector<ServedNetwork> networks;
  if (options.networks) networks = servedNetworks(NetworkSize::small);
  if (networks.size() >= static_cast<std::size_t>(options.functions)) networks.resize(static_cast<std::size_t>(options.functions) - 1);
  for (int i = 0; i < options.functions - static_cast<int>(networks.size()); ++i) {
    pool.functions[names.emplace_back(nameOf(i))] = fileOf(i, options.spoiled && i == 0);
    models += scaled(network(kNetworks[static_cast<std::size_t>(i) % kNetworks.size()]), kScale).bytes();
  }
  for (const ServedNetwork& network : networks) {
    pool.functions[names.emplace_back(network.name)] = network.file(pool.memoryBytes, kDeadlineMs);
    models += network.modelBytes;
  }
  std::printf("%d functions with models of %s in all, on 2 GPUs of %s: starting them\n", options.functions, size(models).c_str(), size(pool.memoryBytes).c_str());
  std::fflush(stdout);
  const Pool running(pool);
  const Place router{"", running.routerPort()};
  awaitReady(router, 90);
  const Answers answers = askAlone(router, networks);

  std::printf("%g requests a second for %g s, each answer checked\n\n", options.rate, options.seconds);
  const bool live = isatty(STDOUT_FILENO) == 1;
  const pid_t top = live ? startTool(running, {"top", "--delay", "1"})
                         : startTool(running, {"top", "--delay", std::to_string(options.seconds / 3), "--iterations", "3"});
  std::map<std::string, FunctionLoad> load;
  double elapsed = 0;
  try {
    load = openLoop({.router = router, .functions = names, .seconds = options.seconds, .warmUp = 0, .arrivals = generate(streamsOf(options), options.seconds, 1),
                     .requestIds = kIds, .dialogues = dialoguesOf(answers), .samples = true},
                    elapsed);
  } catch (...) {
    kill(top, SIGTERM);
    waitpid(top, nullptr, 0);
    throw;
  }
  end(top, live);

  const json used = running.status().at("usage");
  std::uint64_t brought = 0, arrivals = 0, doubled = 0;
  for (const json& one : used) brought += one.at("brought_bytes").get<std::uint64_t>(), arrivals += one.at("arrivals").get<std::uint64_t>();
  const Sample* slowest = nullptr;
  for (const std::string& name : names) {
    served.functions.push_back({name, kDeadlineMs, 98, load[name].samples});
    doubled += load[name].doubled;
  }
  for (const ServedFunction& function : served.functions)
    for (const Sample& sample : function.samples)
      if (sample.verdict == Sample::Verdict::right && (slowest == nullptr || sample.ms > slowest->ms)) slowest = &sample;
  const json machine = environment();
  served.conditions = {{"Models", size(models) + " in all"}, {"GPUs", "2 of " + size(pool.memoryBytes) + ", on the processor, links of 0.5 GB/s each and 2 GB/s between them modelled"},
                       {"Swapped in", size(brought) + " in " + std::to_string(arrivals) + " arrivals"},
                       {"Processor", machine.at("cpu").get<std::string>() + ", " + machine.at("cores").dump() + " cores"}};
  writeReport(served, options.report);

  std::printf("%-20s %9s %9s %9s %9s\n", "FUNCTION", "REQUESTS", "P50 MS", "P98 MS", "IN TIME");
  for (const ServedFunction& function : served.functions) {
    const ServedFigures f = figuresOf(function);
    std::printf("%-20s %9zu %9.1f %9.1f %8.1f%%\n", function.name.c_str(), f.requests, f.p50, f.p98, std::floor(f.attainment() * 1000) / 10);
  }
  const ServedFigures all = figuresOf(served);
  std::printf("\n%zu requests: %zu answered, %zu in time; %zu wrong, %zu lost, %zu refused. Models came to a GPU %llu times, %s.\n", all.requests, all.answered,
              all.inTime, all.wrong, all.lost, all.refused, static_cast<unsigned long long>(arrivals), size(brought).c_str());
  if (slowest != nullptr) {
    const std::string id = kIds + std::to_string(slowest->number);
    std::printf("\nThe slowest, $ rouse explain %s\n\n", id.c_str());
    end(startTool(running, {"explain", id}), false);
  }
  std::printf("\nReport: %s\n", options.report.c_str());
  std::fflush(stdout);
  const char* defect = all.wrong != 0         ? "an answer was wrong"
                       : doubled != 0         ? "a request was answered twice"
                       : all.lost != 0        ? "a request was not answered"
                       : all.answered == 0    ? "nothing was answered"
                       : brought == 0         ? "no model was swapped in: the GPUs held them all, and nothing was shown"
                                              : nullptr;
  if (defect != nullptr) std::cerr << "\n*** FAILED: " << defect << " ***\n";
  return defect == nullptr ? 0 : 1;
}

}  // namespace

void addDemo(CLI::App& app, int& status) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("demo", "Functions on two small GPUs under load: a live table, a report, each answer checked");
  command->add_option("--functions", options->functions, "How many")->check(CLI::Range(2, 100));
  command->add_option("--seconds", options->seconds, "Of load")->check(CLI::Range(1.0, 3600.0));
  command->add_option("--rate", options->rate, "Requests a second, of all together")->check(CLI::Range(0.1, 10000.0));
  command->add_option("--gpu-memory", options->memory, "MiB of each GPU; the largest model has 46")->check(CLI::Range(72, 100000));
  command->add_flag("!--no-networks", options->networks, "Without those of bench/functions");
  command->add_option("--report", options->report, "HTML file to write; its figures as JSON beside it");
  command->add_flag("--spoiled", options->spoiled)->group("");  // one bit of a model is flipped, for the test that this is noticed
  command->callback([options, &status] { status = demo(*options); });
  auto kind = std::make_shared<std::string>();
  auto seed = std::make_shared<std::uint64_t>(1);
  auto* function = app.add_subcommand("demo-function", "")->group("");
  function->add_option("network", *kind)->required();
  function->add_option("seed", *seed)->required();
  auto spoiled = std::make_shared<bool>(false);
  function->add_flag("--spoiled", *spoiled);
  // One that is spoiled reads every word, so that each answer is wrong.
  function->callback([kind, seed, spoiled, &status] { status = serveNetwork(*kind, kScale, *spoiled ? 1 : kStride, *seed, *spoiled); });
}

}  // namespace rouse::bench
