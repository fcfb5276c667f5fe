// roused: the daemon that owns the GPUs of a node.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "schemas/api/library_names.h"
#include "schemas/wire/commands.h"
#include "schemas/wire/standard_descriptors.h"
#include "server/installation/installation.h"
#include "server/roused/config.h"
#include "server/roused/daemon.h"
#include "server/roused/guard.h"
#include "server/roused/service_notify.h"
#include "server/roused/start_failure.h"
#include "server/roused/state_file.h"
#include "server/roused/version.h"

using namespace rouse;
using namespace rouse::daemon;

namespace {

namespace fs = std::filesystem;

// Flags that stand for a setting, each under the name people expect.
struct Flag {
  const char* flag;
  const char* setting;
  const char* help;
};
constexpr Flag kFlags[] = {
    {"--socket", "daemon.socket", "Path of the socket to listen on"},
    {"--device", "devices.kind", "cpu, cuda or auto"},
    {"--gpus", "devices.count", "Number of GPUs to serve; 0: all there are, one with the CPU device"},
    {"--gpu-memory", "devices.memory", "Memory of each GPU to offer, such as 2GiB"},
    {"--host-store", "devices.host_store", "Host memory for models while others use their GPU, such as 16GiB; 0: none leaves"},
    {"--spares", "executor.spares", "Executors ready in advance on each GPU, once there are isolated functions"},
    {"--workers", "devices.workers", "Threads that run kernels on the CPU device; 0: one a core"},
    {"--link", "devices.link", "Links that the CPU device's transfers are held to, such as pcie3x16, one for each GPU"},
    {"--topology", "devices.topology", "The same from a file that says which links there are and who shares them"},
    {"--code-cache", "devices.code_cache", "Directory where compiled kernels are kept; empty: nowhere (GPUs: where the driver does by itself)"},
    {"--listen", "router.listen", "Address and port for HTTP requests to functions, such as 127.0.0.1:8080"},
    {"--orphan-timeout", "executor.orphan_timeout", "How long executors and functions wait for another daemon when this one is killed, such as 60s; 0s: not at all"},
    {"--log-level", "daemon.log_level", "trace, debug, info, warning, error or critical"},
};

// Empty: there is no place.
std::string defaultCodeCache() {
  const auto given = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : "";
  };
  // systemd gives a list where the unit names more than one.
  if (const std::string cache = given("CACHE_DIRECTORY"); !cache.empty()) return fs::path(cache.substr(0, cache.find(':'))) / "code";
  if (::geteuid() == 0) return "/var/cache/rouse/code";
  if (const std::string cache = given("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "rouse" / "code";
  if (const std::string home = given("HOME"); !home.empty()) return fs::path(home) / ".cache" / "rouse" / "code";
  return "";
}

// Throws where a path is relative and the working directory is gone.
void fillPaths(Settings& settings, const fs::path& file) {
  const installation::Parts parts = installation::ownParts();
  if (settings.executor.empty()) settings.executor = parts.executor;
  if (settings.backends.empty()) settings.backends = parts.backends;
  if (settings.clientLibraries.empty()) settings.clientLibraries = parts.clientLibraries;
  if (settings.codeCache == "auto") settings.codeCache = defaultCodeCache();
  else if (!settings.codeCache.empty()) settings.codeCache = fs::absolute(settings.codeCache);
  if (settings.functionsDirectory.empty() && !file.empty()) settings.functionsDirectory = fs::absolute(file).parent_path() / "functions.d";
  if (settings.functionsRuntime.empty()) settings.functionsRuntime = fs::absolute(settings.socket).parent_path() / "functions";
}

// Each attached process takes a few descriptors for as long as it lives.
void raiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  wire::openStandardDescriptors();
  CLI::App app{"Serves the GPUs of this node to unprivileged processes.", "roused"};
  app.set_version_flag("--version", std::string("roused ") + kVersion);
  ConfigSources sources;
  sources.environment = [](const char* name) -> const char* { return std::getenv(name); };
  std::string file;
  std::string plan;
  bool noConfig = false, discardLaunches = false, quietFailure = false;
  app.add_option("--config", file,
                 "Configuration file (default /etc/rouse/rouse.toml); rouse.d/*.toml beside it is read too");
  app.add_flag("--no-config", noConfig, "Read no files and no environment");
  app.add_flag("--discard-launches", discardLaunches, "Decode kernel launches and drop them (for measurements)");
  app.add_option("--swap-plan", plan, "How memory comes to a GPU: whole, granule or grouped (for measurements)");
  app.add_flag("--quiet-failure", quietFailure)->group("");  // for `rouse`, which prints the reason itself
  std::string guarded;
  std::uint64_t guardMs = 0;
  pid_t guardOf = 0;
  app.add_option("--guard", guarded)->group("");  // guard.h
  app.add_option("--guard-ms", guardMs)->group("");
  app.add_option("--guard-of", guardOf)->group("");
  std::vector<std::string> values(std::size(kFlags));
  for (std::size_t i = 0; i < std::size(kFlags); ++i) app.add_option(kFlags[i].flag, values[i], kFlags[i].help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (!guarded.empty()) return guard(guarded, std::chrono::milliseconds(guardMs), guardOf);
  if (!file.empty()) {
    sources.file = file;
    sources.required = true;
  }
  if (noConfig) {
    sources.file.clear();
    sources.environment = nullptr;
  }
  for (std::size_t i = 0; i < std::size(kFlags); ++i) {
    if (app.count(kFlags[i].flag) != 0) sources.flags.emplace_back(kFlags[i].setting, values[i]);  // an empty one says something, too
  }
  if (app.count("--swap-plan") != 0) sources.flags.emplace_back("executor.swap_plan", plan);
  if (discardLaunches) sources.flags.emplace_back("executor.discard_launches", "true");

  const auto read = [sources]() -> std::variant<Settings, ConfigErrors> {
    auto result = readConfig(sources);
    try {
      if (auto* settings = std::get_if<Settings>(&result)) fillPaths(*settings, sources.file);
    } catch (const fs::filesystem_error& error) {
      result = ConfigErrors{{std::string("a relative path: ") + error.code().message() + ": " + error.path1().string()}, {}};
    }
    return result;
  };
  auto config = read();
  if (const auto* errors = std::get_if<ConfigErrors>(&config)) {
    for (const std::string& message : errors->messages) std::cerr << "roused: " << message << "\n";
    return kExitUsage;
  }
  auto inherited = inheritedDescriptors();
  if (!inherited) {
    std::cerr << "roused: " << inherited.error().message << "\n";
    return kExitFailed;
  }

  auto& settings = std::get<Settings>(config);
  auto log = spdlog::stderr_logger_st("roused");
  // The journal has its own clock.
  log->set_pattern(std::getenv("JOURNAL_STREAM") != nullptr ? "%l: %v" : "%Y-%m-%dT%H:%M:%S.%e roused[%P] %l: %v");
  spdlog::set_default_logger(log);
  spdlog::set_level(spdlog::level::from_str(settings.logLevel));
  raiseDescriptorLimit();
  ::signal(SIGPIPE, SIG_IGN);  // whoever reads the log may go

  boost::asio::io_context io(1);
  Daemon daemon(io, {.settings = settings,
                     .contract = {.wireHash = wire::kWireHash, .apiNames = api::kAllNames},
                     .reload = read,
                     .listener = std::move(inherited->listener),
                     .keptStore = std::move(inherited->store),
                     .kindAsked = app.count("--device") != 0,
                     .quietFailure = quietFailure});
  if (Status status = daemon.start(); !status) {
    std::cerr << "roused: " << status.error().message << "\n";
    return kExitFailed;
  }
  ChildProcess guardian;
  if (settings.orphanTimeout != 0) {
    if (auto started = startGuard(statePath(settings.socket), std::chrono::milliseconds(settings.orphanTimeout)))
      guardian = std::move(*started);
    else
      spdlog::error("functions would outlive this daemon if it were killed and no other started: {}", started.error().message);
  }
  io.run();
  stopGuard(guardian);
  return daemon.exitCode();
}
