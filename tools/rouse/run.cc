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
    // Without us its daemon is gone too.
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

channel::Prepare preparation(const RunOptions& options) {
  const std::string name = options.name.empty() ? fs::path(options.command.at(0)).filename().string() : options.name;
  return {name, options.gpus, options.gpuMemory, options.isolated};
}

int runPrivately(const RunOptions& options) {
  auto daemon = PrivateDaemon::start({.device = options.device, .gpus = options.gpus, .gpuMemory = options.gpuMemory});
  if (!daemon) return failed("no private daemon: " + daemon.error().message);
  auto client = DaemonClient::connect(daemon->socket());
  auto prepared = client ? client->prepare(preparation(options)) : Result<channel::Prepared>(client.error());
  if (!prepared) {
    const std::string ended = daemon->howItEnded();
    return failed("no private daemon: " + (ended.empty() ? prepared.error().message : ended));
  }
  if (Status status = enterPool(daemon->socket(), *prepared); !status) return failed(status.error().message);
  return supervise(options.command);
}

}  // namespace

int run(const RunOptions& options) {
  if (options.privateDaemon || !options.device.empty()) return runPrivately(options);
  const SocketChoice socket = chooseSocket(options.socket);
  auto client = DaemonClient::connect(socket.path);
  if (!client) {
    if (!socket.chosen) return runPrivately(options);
    return failed(client.error().message);
  }
  auto prepared = client->prepare(preparation(options));
  if (!prepared) return failed(prepared.error().message);
  if (Status status = enterPool(socket.path, *prepared); !status) return failed(status.error().message);
  return become(options.command);
}

}  // namespace rouse::cli
