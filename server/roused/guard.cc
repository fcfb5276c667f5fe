#include "server/roused/guard.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "server/roused/process_handle.h"
#include "server/roused/state_file.h"

namespace rouse::daemon {
namespace {

using namespace std::chrono_literals;

// Executors go first: who has none left is better told by them than by being killed.
constexpr auto kGrace = 1s;

void end(const SavedState::Process& process, bool session) {
  const wire::OwnedFd handle = openProcess(process.pid, process.start);
  if (!handle) return;
  // It leads a session of its own, all of which is this function.
  if (session) ::kill(-process.pid, SIGKILL);
  signalProcess(handle, SIGKILL);
}

}  // namespace

Result<ChildProcess> startGuard(const std::string& statePath, std::chrono::milliseconds orphanTimeout) {
  return startChild({"/proc/self/exe", "--guard", statePath, "--guard-ms", std::to_string(orphanTimeout.count()), "--guard-of", std::to_string(::getpid())}, {}, 0);
}

void stopGuard(ChildProcess& child) {
  if (child.pid <= 0) return;
  signalProcess(child.exit, SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  child.pid = -1;
}

int guard(const std::string& path, std::chrono::milliseconds orphanTimeout, pid_t parent) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::signal(signal, SIG_IGN);  // which are for the daemon
  // It may have ended before this process has come so far; then its number may be another's.
  const wire::OwnedFd daemon(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0)));
  pollfd ended{daemon.get(), POLLIN, 0};
  while (daemon && ::getppid() == parent && ::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  const auto deadline = std::chrono::steady_clock::now() + orphanTimeout + kGrace;
  for (;;) {
    const auto state = readState(path);
    // An orderly end, or nothing that could be gone by.
    if (!state || state->daemon.pid == 0) return 0;
    if (state->daemon.pid != parent && openProcess(state->daemon.pid, state->daemon.start)) return 0;  // which has a guard of its own
    if (std::chrono::steady_clock::now() >= deadline) {
      std::fprintf(stderr, "roused: no daemon has come within %lld ms: %zu functions and %zu executors of the one before are ended\n",
                   static_cast<long long>(orphanTimeout.count()), state->functions.size(), state->executors.size());
      for (const auto& executor : state->executors) end(executor, false);
      for (const auto& function : state->functions) end(function.process, true);
      ::unlink(path.c_str());
      return 0;
    }
    std::this_thread::sleep_for(200ms);
  }
}

}  // namespace rouse::daemon
