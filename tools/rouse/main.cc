// rouse: the command line of the pool.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "schemas/wire/standard_descriptors.h"
#include "server/roused/byte_size.h"
#include "server/roused/version.h"
#include "tools/rouse/cdi_generate.h"
#include "tools/rouse/config_check.h"
#include "tools/rouse/coverage.h"
#include "tools/rouse/doctor.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/explain.h"
#include "tools/rouse/move.h"
#include "tools/rouse/order.h"
#include "tools/rouse/run.h"
#include "tools/rouse/status.h"
#include "tools/rouse/timeline.h"
#include "tools/rouse/top.h"
#include "tools/rouse/usage.h"

using namespace rouse;
using namespace rouse::cli;

namespace {

constexpr std::uint32_t kMaxGpus = 16;

struct MoveVerb {
  const char* verb;
  channel::MoveAction action;
  const char* what;
};
constexpr MoveVerb kMoves[] = {
    {"load", channel::MoveAction::load, "Bring a function's memory to its GPU now"},
    {"unload", channel::MoveAction::unload, "Save a function's memory and free its GPU now; it comes back at its next call"},
    {"pin", channel::MoveAction::pin, "Bring a function's memory to its GPU, and keep it there"},
    {"unpin", channel::MoveAction::unpin, "Let a pinned function take turns again"},
    {"migrate", channel::MoveAction::migrate, "Let another GPU serve a function from now on; the function does not notice"}};

struct OrderVerb {
  const char* verb;
  channel::OrderAction action;
  const char* what;
};
constexpr OrderVerb kOrders[] = {
    {"start", channel::OrderAction::start, "Start a function of functions.d that is stopped, or waits to be started again"},
    {"stop", channel::OrderAction::stop, "Stop a function: its requests are refused until it is started"},
    {"restart", channel::OrderAction::restart, "Start a function anew: its requests wait"},
    {"reload", channel::OrderAction::reload, "Read the daemon's configuration and functions.d again"}};

std::string checkSize(const std::string& text) {
  return daemon::parseByteSize(text) ? "" : "'" + text + "' is not a size, such as 2GiB";
}

}  // namespace

int main(int argc, char** argv) {
  wire::openStandardDescriptors();
  CLI::App app{"Runs CUDA programs on a pool of GPUs, and shows what the pool does.", "rouse"};
  app.set_version_flag("--version", std::string("rouse ") + daemon::kVersion);
  app.require_subcommand(1);
  std::string socket;

  RunOptions runOptions;
  std::string gpuMemory;
  CLI::App* runCommand = app.add_subcommand("run", "Run a program on the pool, or on a private one if no daemon runs");
  runCommand->add_option("--gpus", runOptions.gpus, "Number of GPUs the program sees")->check(CLI::Range(1u, kMaxGpus));
  runCommand->add_option("--gpu-memory", gpuMemory, "Memory it may use on each, such as 2GiB")->check(checkSize);
  runCommand->add_flag("--isolated", runOptions.isolated, "On executors of its own: another program's fault cannot touch it, nor its own another");
  CheckOptions& check = runOptions.check;
  auto* checks = runCommand->add_flag("--check", check.check,
                                      "Check every access of kernels, as NVIDIA's compute-sanitizer does; on the CPU device, and much slower");
  runCommand
      ->add_option_function<std::string>("--leak-check", [&check](const std::string& kind) { check.leaks = kind == "full"; },
                                         "full: report memory that is not freed at the end (default no)")
      ->check(CLI::IsMember({"full", "no"}))
      ->needs(checks);
  runCommand
      ->add_option_function<std::string>("--report-api-errors", [&check](const std::string& kind) { check.apiErrors = kind == "all"; },
                                         "all: report calls that return errors (default); no: do not")
      ->check(CLI::IsMember({"all", "no"}))
      ->needs(checks);
  runCommand->add_option("--print-limit", check.printLimit, "Print so many errors, count the others; 0: print all (default 100)")->needs(checks);
  runCommand->add_option("--error-exitcode", check.errorExitcode, "End with this if errors were found; 0: as the program does (default)")
      ->check(CLI::Range(0, 255))
      ->needs(checks);
  auto* device =
      runCommand->add_option("--device", runOptions.device, "Start a private daemon with this kind of device")
          ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
  auto* isPrivate =
      runCommand->add_flag("--private", runOptions.privateDaemon, "Start a private daemon even if one runs");
  runCommand->add_option("--socket", socket, "Socket of the daemon (default $ROUSE_SOCKET, then the system's)")
      ->excludes(device)
      ->excludes(isPrivate);
  runCommand->add_option("--name", runOptions.name, "Name of the function (default the program's)");
  runCommand->prefix_command();
  runCommand->footer(
      "The program and its arguments follow; everything behind -- is theirs: rouse run --gpus 2 -- ./program "
      "--verbose");

  StatusOptions statusOptions;
  CLI::App* statusCommand = app.add_subcommand("status", "Show the daemon and its GPUs");
  statusCommand->add_option("--socket", socket, "Socket of the daemon");
  statusCommand->add_flag("--json", statusOptions.json, "Everything, as JSON");
  statusCommand->add_flag("--unsupported", statusOptions.unsupported, "Calls of names that are not supported, by name");

  PsOptions psOptions;
  CLI::App* psCommand = app.add_subcommand("ps", "Show the attached functions, and those of functions.d");
  psCommand->add_option("--socket", socket, "Socket of the daemon");
  psCommand->add_flag("--json", psOptions.json, "As JSON");
  ExplainOptions explainOptions;
  CLI::App* explainCommand = app.add_subcommand("explain", "Tell what became of a request: why it waited, where it ran, who had to leave for it");
  explainCommand->add_option("REQUEST", explainOptions.request, "Its X-Request-Id, the id of its trace, or its traceparent")->required();
  explainCommand->add_option("--socket", socket, "Socket of the daemon");
  explainCommand->add_flag("--json", explainOptions.json, "As JSON");

  TimelineOptions timelineOptions;
  CLI::App* timelineCommand = app.add_subcommand("timeline", "Write what became of the last requests as a trace for Perfetto: a track for each function and GPU");
  timelineCommand->add_option("--output,-o", timelineOptions.output, "The file to write (default: to standard output)");
  timelineCommand->add_option("--function,-f", timelineOptions.functions, "Of this function alone; may stand several times");
  timelineCommand->add_option("--last", timelineOptions.last, "Of so many requests at most, the last ones")->check(CLI::Range(1u, 1000000000u));
  timelineCommand->add_option("--socket", socket, "Socket of the daemon");

  TopOptions topOptions;
  CLI::App* topCommand = app.add_subcommand("top", "Show functions and GPUs live: requests, latencies, deadlines met, memory, links");
  topCommand->add_option("--delay,-d", topOptions.delay, "Seconds between two looks (default 2)")->check(CLI::Range(0.1, 3600.0));
  topCommand->add_option("--iterations,-n", topOptions.iterations, "End after so many")->check(CLI::Range(1u, 1000000u));
  topCommand->add_flag_callback("--once", [&topOptions] { topOptions.iterations = 1; }, "The same as --iterations 1");
  topCommand->add_option("--sort", topOptions.sort, "By name, rate, p98, met, queue or gpu (default name)")
      ->check(CLI::IsMember({"name", "rate", "p98", "met", "queue", "gpu"}));
  topCommand->add_flag("--json", topOptions.json, "A line of JSON for each look");
  topCommand->add_option("--socket", socket, "Socket of the daemon");

  UsageOptions usageOptions;
  CLI::App* usageCommand = app.add_subcommand("usage", "Show what functions have used: GPU time, memory over time, swaps");
  usageCommand->add_option("--socket", socket, "Socket of the daemon");
  usageCommand->add_flag("--json", usageOptions.json, "As JSON");

  MoveOptions moveOptions;
  for (const auto& [verb, action, what] : kMoves) {
    CLI::App* command = app.add_subcommand(verb, what);
    command->add_option("FUNCTION", moveOptions.function, "Number of a session, or a name: all that bear it")->required();
    command->add_option("--socket", socket, "Socket of the daemon");
    if (action == channel::MoveAction::migrate)
      command->add_option("GPU", moveOptions.gpu, "Number of the GPU, as rouse status shows it")->required();
    command->callback([&moveOptions, action = action] { moveOptions.action = action; });
  }

  OrderOptions orderOptions;
  bool isOrder = false;
  for (const auto& [verb, action, what] : kOrders) {
    CLI::App* command = app.add_subcommand(verb, what);
    if (action != channel::OrderAction::reload) command->add_option("FUNCTION", orderOptions.function, "Name of the function")->required();
    command->add_option("--socket", socket, "Socket of the daemon");
    command->callback([&, action = action] {
      orderOptions.action = action;
      isOrder = true;
    });
  }

  LogsOptions logsOptions;
  CLI::App* logsCommand = app.add_subcommand("logs", "Show what a function of functions.d printed last");
  logsCommand->add_option("FUNCTION", logsOptions.function, "Name of the function")->required();
  logsCommand->add_option("--lines,-n", logsOptions.lines, "At most so many")->check(CLI::Range(1u, 100000u));
  logsCommand->add_option("--socket", socket, "Socket of the daemon");

  DoctorOptions doctorOptions;
  CLI::App* doctorCommand =
      app.add_subcommand("doctor", "Tell whether programs can use the pool, or the GPUs be served, and if not, why");
  doctorCommand->add_option("FILE", doctorOptions.files, "Programs or shared libraries; none: the GPUs");
  doctorCommand->add_option("--socket", doctorOptions.socket, "Socket of the daemon to ask about its GPUs");
  doctorCommand->add_flag("--json", doctorOptions.json, "As JSON");

  CoverageOptions coverageOptions;
  CLI::App* coverageCommand = app.add_subcommand("coverage", "Show what of the CUDA libraries is there: exported, implemented, tested");
  coverageCommand->add_option("LIBRARY", coverageOptions.library, "One of them, such as libcublas.so.13 (default all)");
  coverageCommand->add_flag("--names", coverageOptions.names, "Each name, not only how many");
  coverageCommand->add_flag("--json", coverageOptions.json, "As JSON, with all names");

  CdiOptions cdiOptions;
  CLI::App* cdiCommand = app.add_subcommand("cdi", "The pool for containers");
  cdiCommand->require_subcommand(1);
  CLI::App* generateCommand = cdiCommand->add_subcommand("generate", "Write what container runtimes need to give containers the pool (Container Device Interface)");
  generateCommand->add_option("--output", cdiOptions.output, "File, such as /var/run/cdi/rouse.json (default standard output)");
  generateCommand->add_option("--socket", socket, "Socket of the daemon (default $ROUSE_SOCKET, then the system's)");

  std::string configFile;
  CLI::App* configCommand = app.add_subcommand("config", "The daemon's configuration");
  configCommand->require_subcommand(1);
  CLI::App* checkCommand = configCommand->add_subcommand("check", "Check it: file, line and key of every error");
  checkCommand->add_option("--config", configFile, "Configuration file (default /etc/rouse/rouse.toml)");

  // Everything behind the first "--" is the program's, untouched.
  const auto dashes =
      std::find_if(argv + 1, argv + argc, [](const char* argument) { return std::string_view(argument) == "--"; });
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands([&](const CLI::App* command) { return command->get_name() == argv[1]; }).empty()) {
    std::cerr << "rouse: there is no command '" << argv[1] << "'\nRun with --help for more information.\n";
    return kUsage;
  }
  const bool hasDashes = dashes != argv + argc && argc > 1 && std::string_view(argv[1]) == "run";
  try {
    app.parse(hasDashes ? static_cast<int>(dashes - argv) : argc, argv);
    if (*runCommand) {
      runOptions.command = runCommand->remaining();
      if (hasDashes && !runOptions.command.empty()) throw CLI::ExtrasError("run", runOptions.command);
      if (hasDashes) runOptions.command.assign(std::next(dashes), argv + argc);
      if (runOptions.command.empty()) throw CLI::RequiredError("PROGRAM");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }

  if (*runCommand) {
    runOptions.socket = socket;
    if (!gpuMemory.empty()) runOptions.gpuMemory = *daemon::parseByteSize(gpuMemory);
    return run(runOptions);
  }
  if (*statusCommand) {
    statusOptions.socket = socket;
    return status(statusOptions);
  }
  if (*usageCommand) {
    usageOptions.socket = socket;
    return usage(usageOptions);
  }
  if (*explainCommand) {
    explainOptions.socket = socket;
    return explain(explainOptions);
  }
  if (*timelineCommand) {
    timelineOptions.socket = socket;
    return timeline(timelineOptions);
  }
  if (*topCommand) {
    topOptions.socket = socket;
    return top(topOptions);
  }
  if (*psCommand) {
    psOptions.socket = socket;
    return ps(psOptions);
  }
  if (*doctorCommand) return doctor(doctorOptions);
  if (*coverageCommand) return coverage(coverageOptions);
  if (*cdiCommand) {
    cdiOptions.socket = socket;
    return cdiGenerate(cdiOptions);
  }
  if (isOrder) {
    orderOptions.socket = socket;
    return order(orderOptions);
  }
  if (*logsCommand) {
    logsOptions.socket = socket;
    return logs(logsOptions);
  }
  if (!*configCommand) {
    moveOptions.socket = socket;
    return cli::move(moveOptions);
  }
  return configCheck(configFile);
}
