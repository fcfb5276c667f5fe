// rouse-executor: drives one device for the daemon that started it. Not for people to start.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "server/executor/backend.h"
#include "server/executor/control_link.h"
#include "server/executor/executor.h"
#include "server/executor/log.h"

namespace rouse::executor {
namespace {

constexpr int kExitUsage = 2, kExitNoDevice = 3, kExitFailed = 4;

unsigned usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

// Where the executor must not outlive the daemon, whose death closes the control socket; this covers an executor that is too
// busy to look.
bool dieWithParent() {
  const pid_t parent = ::getppid();
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

// The daemon says it for us, once, where the operator looks; on standard error only if there is nobody to tell.
int noDevice(wire::OwnedFd socket, const Error& reason) {
  ControlLink daemon(std::move(socket));
  if (!daemon.send(0, reason) || daemon.unsent()) std::fprintf(stderr, "rouse-executor: %s\n", reason.message.c_str());
  return kExitNoDevice;
}

int run(int argc, char** argv) {
  CLI::App app{"Drives one device for roused, which starts it"};
  std::string kind = "cpu", backends = defaultBackendDirectory();
  memory::DeviceOptions device;
  ExecutorOptions options;
  int control = -1;
  app.add_option("--device", kind, "kind of device: cpu or cuda")->capture_default_str();
  app.add_option("--backend-dir", backends, "where librouse-device-KIND.so lies")->capture_default_str();
  app.add_option("--ordinal", device.ordinal, "which device of its kind");
  app.add_option("--memory", device.memoryBytes, "bytes of device memory to offer; 0: all there is (cuda)");
  app.add_option("--workers", device.workers, "threads that run kernels (cpu); 0: one a core");
  app.add_option("--control-fd", control, "connected socket to the daemon")->required();
  app.add_option("--homes-fd", options.homesFd, "memfd of the host store");
  app.add_option("--homes-offset", options.homesOffset, "where this executor's part of it begins");
  app.add_option("--homes-bytes", options.homesBytes, "its length; 0: no function's memory leaves the device");
  app.add_flag("--isolated", options.isolated, "for one session, with no memory of the device's at first");
  app.add_option("--absent", options.absentBytes, "bytes of the device's memory that other executors have");
  app.add_option("--links-fd", device.linksFd, "memfd of the node's modelled links (cpu)");
  app.add_option("--swap-plan", options.plan, "how memory comes to the device: 0 all at once, 1 by granules, 2 in groups");
  app.add_option("--code-cache", device.codeCache, "directory where compiled kernels are kept; empty: nowhere");
  app.add_option("--code-cache-bytes", device.codeCacheBytes, "most that they take");
  app.add_option("--adoption-socket", options.adoptionSocket, "where to look for another daemon when this one is gone");
  std::uint64_t orphanMs = 0;
  app.add_option("--orphan-ms", orphanMs, "and for how long; 0: it ends with its daemon");
  app.add_option("--description", options.description, "of these options, for another daemon");
  app.add_flag("--discard-launches", options.discardLaunches, "check launches, then drop them (benchmarks)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }

  openLog();
  ::signal(SIGPIPE, SIG_IGN);
  int type = 0;
  socklen_t length = sizeof type;
  if (::getsockopt(control, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM) {
    std::fprintf(stderr, "rouse-executor: --control-fd %d is not a stream socket\n", control);
    return kExitUsage;
  }
  options.orphanNs = options.adoptionSocket.empty() ? 0 : orphanMs * 1'000'000;
  if (options.orphanNs == 0 && !dieWithParent()) return kExitFailed;
  wire::OwnedFd socket(control), links(device.linksFd);

  options.cores = usableCores();
  // The shared executor has told what the link is like.
  device.measureLink = !options.isolated || device.linksFd >= 0;
  if (options.isolated) options.absentBytes = device.memoryBytes;
  device.absentBytes = options.absentBytes;
  device.compileApart = true;
  auto opened = openDevice(backends, kind, device);
  if (options.orphanNs != 0) options.linksFd = links.release();
  links.reset();
  if (!opened) return noDevice(std::move(socket), opened.error());
  wire::OwnedFd spare(::fcntl(control, F_DUPFD_CLOEXEC, 0));
  auto executor = Executor::create(std::move(*opened), std::move(socket), options);
  if (!executor) return noDevice(std::move(spare), executor.error());
  spare = {};
  const Status status = (*executor)->run();
  // Kernels may still run and need not end: the process does, with all it holds.
  std::fflush(nullptr);
  ::_exit(status ? 0 : kExitFailed);
}

}  // namespace
}  // namespace rouse::executor

int main(int argc, char** argv) { return rouse::executor::run(argc, argv); }
