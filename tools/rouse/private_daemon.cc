#include "tools/rouse/private_daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "server/roused/child_process.h"
#include "server/roused/listening_socket.h"
#include "server/roused/start_failure.h"

namespace rouse::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kStopMs = 8000;  // the daemon gives its executors five seconds

Result<fs::path> makeFolder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const char* temporary = std::getenv("TMPDIR");
  std::string why;
  for (const char* base : {runtime, temporary != nullptr && *temporary != '\0' ? temporary : "/tmp"}) {
    if (base == nullptr || *base == '\0') continue;
    std::string path = std::string(base) + "/rouse-XXXXXX";
    if (::mkdtemp(path.data()) != nullptr) return fs::absolute(path);
    why = std::string(base) + ": " + std::strerror(errno);
  }
  return Error{CudaError::systemNotReady, "no folder for a private daemon: " + why};
}

fs::path daemonProgram() { return fs::read_symlink("/proc/self/exe").parent_path() / "roused"; }

}  // namespace

PrivateDaemon::PrivateDaemon(PrivateDaemon&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), pid_(std::exchange(other.pid_, -1)), exit_(std::move(other.exit_)) {}

std::string PrivateDaemon::socket() const { return folder_ / "rouse.sock"; }

Result<PrivateDaemon> PrivateDaemon::start(const PrivateDaemonOptions& options) {
  auto folder = makeFolder();
  if (!folder) return std::move(folder).error();
  PrivateDaemon daemon;
  daemon.folder_ = std::move(*folder);
  // The socket exists before the daemon does: nobody has to look for it again and again.
  auto listener = daemon::makeListeningSocket(daemon.socket(), 0600, "");
  if (!listener) return std::move(listener).error();
  std::vector<std::string> argv = {daemonProgram(), "--no-config",    "--socket",       daemon.socket(),
                                   "--log-level",   options.logLevel, "--quiet-failure",
                                   "--orphan-timeout", "0s"};  // nobody starts it again
  if (!options.device.empty()) argv.insert(argv.end(), {"--device", options.device});
  if (options.gpus != 0) argv.insert(argv.end(), {"--gpus", std::to_string(options.gpus)});
  if (options.gpuMemory != 0) argv.insert(argv.end(), {"--gpu-memory", std::to_string(options.gpuMemory)});
  auto child = daemon::startChild(argv, {listener->get()}, SIGTERM, {"LISTEN_FDS=1", "LISTEN_PID="});
  if (!child) return std::move(child).error();
  daemon.pid_ = child->pid;
  daemon.exit_ = std::move(child->exit);
  return daemon;
}

std::string PrivateDaemon::howItEnded() {
  pollfd ended{exit_.get(), POLLIN, 0};
  constexpr int kSettleMs = 500;  // a connection breaks a little before the process is gone
  if (pid_ < 0 || ::poll(&ended, 1, kSettleMs) != 1) return "";
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  const std::string reason = daemon::readStartFailure(socket());
  return reason.empty() ? daemon::describeExit(status) : reason;
}

void PrivateDaemon::stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    pollfd ended{exit_.get(), POLLIN, 0};
    int ready;
    do {
      ready = ::poll(&ended, 1, kStopMs);
    } while (ready < 0 && errno == EINTR);
    if (ready != 1) ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  if (!folder_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    folder_.clear();
  }
}

}  // namespace rouse::cli
