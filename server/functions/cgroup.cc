#include "server/functions/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace rouse::functions {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& what) { return {CudaError::systemNotReady, what + ": " + std::strerror(errno)}; }

bool write(const fs::path& file, const std::string& text) {
  const wire::OwnedFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// One at a time: a controller that is not there is no reason to have none.
void enableControllers(const fs::path& group) {
  for (const char* controller : {"+memory", "+cpu", "+pids"}) write(group / "cgroup.subtree_control", controller);
}

// "0::/system.slice/roused.service"
std::string ownGroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "";
}

// systemd marks what it has delegated (systemd.resource-control(5), Delegate=).
bool isDelegated(const fs::path& group) {
  char value[8];
  for (const char* attribute : {"trusted.delegate", "user.delegate"}) {
    if (::getxattr(group.c_str(), attribute, value, sizeof value) == 1 && value[0] == '1') return true;
  }
  return false;
}

}  // namespace

Result<ControlGroup> ControlGroup::make(const fs::path& parent, const std::string& name, const GroupLimits& limits,
                                        std::vector<std::string>& notApplied) {
  const fs::path path = parent / name;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return failed("making " + path.string());
  wire::OwnedFd procs(::open((path / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!procs) return failed("opening " + (path / "cgroup.procs").string());
  const auto set = [&](const char* file, const std::string& value, const char* key) {
    if (!write(path / file, value))
      notApplied.push_back(std::string(key) + " (" + file + ": " + std::strerror(errno) + ")");
  };
  if (limits.memory != 0) {
    set("memory.max", std::to_string(limits.memory), "memory");
    write(path / "memory.swap.max", "0");   // absent where there is no swap
    write(path / "memory.oom.group", "1");  // a function that lost one of its processes is no function
  }
  constexpr int kPeriodUs = 100000;
  if (limits.cpus > 0)
    set("cpu.max", std::to_string(static_cast<std::int64_t>(limits.cpus * kPeriodUs)) + " " + std::to_string(kPeriodUs),
        "cpus");
  if (limits.processes != 0) set("pids.max", std::to_string(limits.processes), "processes");
  return ControlGroup(path, std::move(procs));
}

ControlGroup::~ControlGroup() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

bool ControlGroup::kill() const { return write(path_ / "cgroup.kill", "1"); }

Result<fs::path> functionGroups(const std::string& setting) {
  if (setting.empty()) return Error{CudaError::notSupported, "none are wanted (functions.cgroup)"};
  fs::path own = setting;
  if (setting == "auto") {
    const std::string path = ownGroup();
    own = fs::path("/sys/fs/cgroup") / fs::path(path).relative_path();
    if (path.empty() || !fs::exists(own / "cgroup.subtree_control"))
      return Error{CudaError::notSupported, "this system has no cgroup v2 at /sys/fs/cgroup"};
    if (!isDelegated(own))
      return Error{CudaError::notSupported, "the daemon's group " + own.string() +
                                                " is not delegated to it (Delegate=yes, or functions.cgroup)"};
    // Processes are in leaves only.
    if (::mkdir((own / "daemon").c_str(), 0755) != 0 && errno != EEXIST)
      return failed("making " + (own / "daemon").string());
    // Executors too: they are there already.
    std::ifstream members(own / "cgroup.procs");
    for (std::string pid; std::getline(members, pid);) write(own / "daemon" / "cgroup.procs", pid);
    if (!write(own / "daemon" / "cgroup.procs", "0")) return failed("joining " + (own / "daemon").string());
    enableControllers(own);
    own /= "functions";
    if (::mkdir(own.c_str(), 0755) != 0 && errno != EEXIST) return failed("making " + own.string());
  } else if (!fs::exists(own / "cgroup.procs")) {
    return Error{CudaError::invalidValue, own.string() + " is not a control group (functions.cgroup)"};
  }
  enableControllers(own);
  return own;
}

}  // namespace rouse::functions
