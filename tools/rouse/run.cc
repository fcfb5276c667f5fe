#include "tools/rouse/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "server/functions/client_environment.h"
#include "tools/rouse/daemon_client.h"
#include "tools/rouse/diagnosis.h"
#include "tools/rouse/exit_codes.h"
#include "tools/rouse/private_daemon.h"

namespace rouse::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

int failed(const std::string& what) {
  std::cerr << "rouse: " << what << "\n";
  return kRunFailed;
}

// What the program finds its pool by.
Status enterPool(const std::string& socket, const channel::Prepared& prepared) {
  const fs::path library = fs::path(prepared.clientLibraries) / "libcudart.so.13";
  if (!fs::exists(library)) {
    return Error{CudaError::systemNotReady,
                 "the daemon's client library " + library.string() + " is not there (daemon.client_libraries)"};
  }
  const auto before = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  for (const auto& [name, value] : functions::clientEnvironment(prepared.clientLibraries, before)) ::setenv(name.c_str(), value.c_str(), 1);
  ::setenv("ROUSE_SOCKET", socket.c_str(), 1);
  ::setenv("ROUSE_TOKEN", prepared.token.c_str(), 1);
  // Somebody is watching, and wants to read which instruction of a module is not covered, say. Any level asked for
  // stays.
  ::setenv("ROUSE_LOG", "error", 0);
  return {};
}

// Does not return if the program can be started; else what to end with.
int become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  std::cerr << "rouse: " << command[0] << ": " << std::strerror(error) << "\n";
  return error == ENOENT || error == ENOTDIR ? kNotFound : kCannotExecute;
}

// Runs the program as a child, passes signals on, returns what to end with.
int supervise(const std::vector<std::string>& command) {
  sigset_t awaited, before;
  ::sigemptyset(&awaited);
  for (const int signal : kForwarded) ::sigaddset(&awaited, signal);
  ::sigaddset(&awaited, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &awaited, &before);
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return failed(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    // Without us its daemon may be gone too, and nobody hears what was found.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != self) ::_exit(kRunFailed);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::_exit(become(command));
  }
  while (true) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&awaited, &info);
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != child) continue;
      ::sigprocmask(SIG_SETMASK, &before, nullptr);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    // The terminal sends its signals to the whole foreground group: the program has had those already.
    if (signal > 0 && info.si_code <= 0) ::kill(child, signal);
  }
}

// A program with a runtime of its own never comes to the pool, and that runtime does not say why it finds no GPU. Programs that are looked for in PATH
// are interpreters, mostly: what they load is not known yet.
void warnOfStaticRuntime(const std::string& program) {
  std::error_code error;
  if (program.find('/') == std::string::npos || !fs::is_regular_file(program, error)) return;
  const Diagnosis found = diagnose(program);
  if (found.runtime != Runtime::statically) return;
  std::cerr << "rouse: " << program << ": " << found.problems.at(0) << " " << found.hints.at(0) << "\n";
}

channel::Prepare preparation(const RunOptions& options) {
  const std::string name = options.name.empty() ? fs::path(options.command.at(0)).filename().string() : options.name;
  return {name, options.gpus, options.gpuMemory, options.isolated, CheckRun::reports(options.check)};
}

// With the summary of a check, if there is one.
int superviseChecked(const RunOptions& options) {
  if (!options.check.check) return supervise(options.command);
  auto check = CheckRun::begin(options.check);
  return check ? check->finish(supervise(options.command)) : failed(check.error().message);
}

int runPrivately(const RunOptions& options) {
  // Only there accesses are checked.
  const std::string device = options.check.check && options.device.empty() ? "cpu" : options.device;
  auto daemon = PrivateDaemon::start({.device = device, .gpus = options.gpus, .gpuMemory = options.gpuMemory});
  if (!daemon) return failed("no private daemon: " + daemon.error().message);
  auto client = DaemonClient::connect(daemon->socket());
  auto prepared = client ? client->prepare(preparation(options)) : Result<channel::Prepared>(client.error());
  if (!prepared) {
    const std::string ended = daemon->howItEnded();
    if (client && ended.empty()) return failed(prepared.error().message);
    return failed("no private daemon: " + (ended.empty() ? prepared.error().message : ended));
  }
  if (Status status = enterPool(daemon->socket(), *prepared); !status) return failed(status.error().message);
  return superviseChecked(options);
}

}  // namespace

int run(const RunOptions& options) {
  warnOfStaticRuntime(options.command.at(0));
  if (options.privateDaemon || !options.device.empty()) return runPrivately(options);
  const SocketChoice socket = chooseSocket(options.socket);
  auto client = DaemonClient::connect(socket.path);
  if (!client) {
    if (socket.chosen) return failed(client.error().message);
    // There is a pool, and this is not it.
    if (client.error().code == CudaError::notPermitted) std::cerr << "rouse: " << client.error().message << "; a private daemon is started\n";
    return runPrivately(options);
  }
  auto prepared = client->prepare(preparation(options));
  if (!prepared) return failed(prepared.error().message);
  if (Status status = enterPool(socket.path, *prepared); !status) return failed(status.error().message);
  return options.check.check ? superviseChecked(options) : become(options.command);
}

}  // namespace rouse::cli
