#include "server/roused/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern "C" char** environ;

namespace rouse::daemon {
namespace {

// Decimal without allocation: between fork and exec only async-signal-safe functions may be called.
void appendNumber(char* to, pid_t number) {
  char digits[16];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  *to = '\0';
}

std::vector<std::string> mergedEnvironment(const std::vector<std::string>& added) {
  std::vector<std::string> merged = added;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals == nullptr) continue;
    const std::string_view name(*entry, static_cast<std::size_t>(equals - *entry) + 1);
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || other.starts_with(name);
    if (!replaced) merged.emplace_back(*entry);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<ChildProcess> startChild(const std::vector<std::string>& argv, const std::vector<int>& inherited, int deathSignal,
                                const std::vector<std::string>& environment, int standardError) {
  constexpr std::string_view kListenPid = "LISTEN_PID=";
  std::vector<std::string> arguments = argv;
  std::vector<std::string> variables = mergedEnvironment(environment);
  char* listenPid = nullptr;
  for (std::string& variable : variables) {
    if (variable != kListenPid) continue;
    variable.resize(kListenPid.size() + 16);
    listenPid = variable.data() + kListenPid.size();
  }
  const std::vector<char*> argvPointers = pointers(arguments);
  const std::vector<char*> environmentPointers = pointers(variables);
  const pid_t parent = ::getpid();
  std::vector<int> aside(inherited.size());

  const pid_t pid = ::fork();
  if (pid < 0) return Error{CudaError::systemNotReady, "fork: " + std::string(std::strerror(errno))};
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, deathSignal);
    if (::getppid() != parent) ::_exit(127);  // it died before the line above
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (standardError >= 0) ::dup2(standardError, STDERR_FILENO);
    // Out of the way first: one may have the number that another is to get.
    const int count = static_cast<int>(inherited.size());
    for (int i = 0; i < count; ++i) aside[i] = ::fcntl(inherited[i], F_DUPFD, kInheritedFd + count);
    for (int i = 0; i < count; ++i) ::dup2(aside[i], kInheritedFd + i);
    ::syscall(SYS_close_range, kInheritedFd + count, ~0u, 0);
    if (listenPid != nullptr) appendNumber(listenPid, ::getpid());
    ::execve(argvPointers[0], argvPointers.data(), environmentPointers.data());
    ::_exit(127);
  }
  // The child is ours and not reaped yet: its pid cannot mean another process.
  wire::OwnedFd exit(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!exit) {
    const int error = errno;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Error{CudaError::systemNotReady, "pidfd_open: " + std::string(std::strerror(error))};
  }
  return ChildProcess{pid, std::move(exit)};
}

std::string describeExit(int status) {
  if (WIFEXITED(status)) {
    std::string text = "exited with status " + std::to_string(WEXITSTATUS(status));
    if (WEXITSTATUS(status) == 127) text += " (not found or not executable)";
    return text;
  }
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  }
  return "ended";
}

}  // namespace rouse::daemon
