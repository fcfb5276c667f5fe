#include "server/functions/process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rouse::functions {
namespace {

// What the child tells of a step that failed. Steps from kFatal on end it.
enum Step : int { kDevices, kGroup, kLimits, kFatal, kUser = kFatal, kDirectory, kOutput, kProgram };
constexpr const char* kStepNames[] = {"a /dev of its own",   "joining its control group", "resource limits",
                                      "becoming its user",   "entering its directory",    "its output",
                                      "starting its program"};
struct Report {
  int step;
  int error;
};

constexpr const char* kDeviceNames[] = {"null", "zero", "full", "random", "urandom", "tty"};

// Everything the child needs, made before fork(): between fork and exec only async-signal-safe functions may be called.
struct Prepared {
  std::vector<char*> argv, environment;
  std::array<std::string, std::size(kDeviceNames)> devices, places;
  std::string shm, shmOptions;
  pid_t parent = 0;
  int nothing = -1, report = -1;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// A mount namespace in which /dev is a small file system of a few harmless nodes: what is not there cannot be opened,
// whatever its mode, and what the driver makes later does not appear.
bool takeDevicesAway(const ProcessPlan& plan, const Prepared& prepared) {
  const char* folder = plan.deviceFolder.c_str();
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return false;
  if (::mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") != 0) return false;
  for (std::size_t i = 0; i < prepared.devices.size(); ++i) {
    const int place = ::open(prepared.places[i].c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (place < 0) return false;
    ::close(place);
    if (::mount(prepared.devices[i].c_str(), prepared.places[i].c_str(), nullptr, MS_BIND, nullptr) != 0 &&
        errno != ENOENT)
      return false;
  }
  if (::mkdir(prepared.shm.c_str(), 01777) != 0) return false;
  if (::mount("tmpfs", prepared.shm.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, prepared.shmOptions.c_str()) != 0)
    return false;
  return ::mount(folder, "/dev", nullptr, MS_MOVE, nullptr) == 0;
}

void tell(int fd, Step step) {
  const Report report{step, errno};
  (void)!::write(fd, &report, sizeof report);
  if (step >= kFatal) ::_exit(126);
}

bool limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both{value, value};
  return ::setrlimit(resource, &both) == 0;
}

[[noreturn]] void become(const ProcessPlan& plan, const Prepared& prepared) {
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (plan.joinGroup >= 0 && ::write(plan.joinGroup, "0", 1) != 1) tell(prepared.report, kGroup);
  if (!plan.deviceFolder.empty() && !takeDevicesAway(plan, prepared)) tell(prepared.report, kDevices);
  bool limited = limit(RLIMIT_CORE, 0);
  if (plan.dataLimit != 0) limited = limit(RLIMIT_DATA, plan.dataLimit) && limited;
  if (plan.processLimit != 0 && plan.ownUser) limited = limit(RLIMIT_NPROC, plan.processLimit) && limited;
  if (!limited) tell(prepared.report, kLimits);
  if (plan.user) {
    const auto [uid, gid] = *plan.user;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0)
      tell(prepared.report, kUser);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!plan.survives) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // forgotten when the user changes: after that
  if (::getppid() != prepared.parent) ::_exit(126);  // it died before the line above
  if (::chdir(plan.directory.c_str()) != 0) tell(prepared.report, kDirectory);
  if (::dup2(prepared.nothing, 0) < 0 || ::dup2(plan.output, 1) < 0 || ::dup2(plan.output, 2) < 0)
    tell(prepared.report, kOutput);
  // Closed by exec: the parent sees that it has happened.
  const int report = ::dup3(prepared.report, 3, O_CLOEXEC) < 0 ? prepared.report : 3;
  if (report == 3) ::syscall(SYS_close_range, 4, ~0u, 0);
  ::execve(prepared.argv[0], prepared.argv.data(), prepared.environment.data());
  tell(report, kProgram);
  ::_exit(126);
}

}  // namespace

Result<FunctionProcess> startProcess(const ProcessPlan& plan) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{CudaError::systemNotReady, std::string("pipe: ") + std::strerror(errno)};
  // Above the number that the child gives it.
  const wire::OwnedFd reading(ends[0]);
  wire::OwnedFd writing(::fcntl(ends[1], F_DUPFD_CLOEXEC, 4));
  ::close(ends[1]);
  const wire::OwnedFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!writing || !nothing)
    return Error{CudaError::systemNotReady, std::string("descriptors: ") + std::strerror(errno)};
  Prepared prepared{.argv = pointers(plan.argv),
                    .environment = pointers(plan.environment),
                    .devices = {},
                    .places = {},
                    .shm = {},
                    .shmOptions = {}};
  for (std::size_t i = 0; i < std::size(kDeviceNames); ++i) {
    prepared.devices[i] = std::string("/dev/") + kDeviceNames[i];
    prepared.places[i] = plan.deviceFolder + "/" + kDeviceNames[i];
  }
  prepared.shm = plan.deviceFolder + "/shm";
  prepared.shmOptions = "mode=1777" + (plan.sharedMemory != 0 ? ",size=" + std::to_string(plan.sharedMemory) : "");
  prepared.parent = ::getpid();
  prepared.nothing = nothing.get();
  prepared.report = writing.get();

  FunctionProcess process;
  process.pid = ::fork();
  if (process.pid < 0) return Error{CudaError::systemNotReady, std::string("fork: ") + std::strerror(errno)};
  if (process.pid == 0) become(plan, prepared);
  writing.reset();
  // Ours and not reaped yet: its pid cannot mean another process.
  process.exit.reset(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  std::optional<Error> fatal;
  if (!process.exit) fatal = Error{CudaError::systemNotReady, std::string("pidfd_open: ") + std::strerror(errno)};
  for (Report report{}; !fatal && ::read(reading.get(), &report, sizeof report) == sizeof report;) {
    const std::string what = std::string(kStepNames[report.step]) + ": " + std::strerror(report.error);
    if (report.step >= kFatal) {
      fatal = Error{CudaError::systemNotReady, what + (report.step == kProgram     ? " (" + plan.argv[0] + ")"
                                                       : report.step == kDirectory ? " (" + plan.directory + ")"
                                                                                   : "")};
    } else {
      process.notApplied.push_back(what);
    }
  }
  if (fatal) {
    ::kill(process.pid, SIGKILL);
    ::waitpid(process.pid, nullptr, 0);
    return *fatal;
  }
  return process;
}

void signalProcesses(pid_t leader, int signal) {
  // Its own session is made right after the fork.
  if (leader > 1 && ::kill(-leader, signal) != 0) ::kill(leader, signal);
}

void killAllOf(const User& user) {
  if (user.uid == 0 || ::geteuid() != 0) return;
  const pid_t killer = ::fork();
  if (killer == 0) {
    // As that user, "all whom I may signal" is all of its processes.
    if (::setgroups(0, nullptr) == 0 && ::setresgid(user.gid, user.gid, user.gid) == 0 &&
        ::setresuid(user.uid, user.uid, user.uid) == 0)
      ::kill(-1, SIGKILL);
    ::_exit(0);
  }
  if (killer > 0) ::waitpid(killer, nullptr, 0);
}

}  // namespace rouse::functions
