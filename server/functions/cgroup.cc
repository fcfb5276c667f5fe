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

constexpr char kUnitOfFunctions[] = "rouse-functions.service";

// "0::/system.slice/roused.service"
std::string ownGroup(const fs::path& list) {
  std::ifstream file(list);
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

// A folder for groups with limits in a delegated group. Processes are in leaves only: those that are in it go to `leaf` there, and the daemon with them, if it `joins`.
Result<fs::path> makeRoom(const fs::path& group, const char* leaf, bool joins) {
  const fs::path apart = group / leaf, functions = group / "functions";
  for (const fs::path& made : {apart, functions}) {
    if (::mkdir(made.c_str(), 0755) != 0 && errno != EEXIST) return failed("making " + made.string());
  }
  std::ifstream members(group / "cgroup.procs");
  for (std::string pid; std::getline(members, pid);) write(apart / "cgroup.procs", pid);
  if (joins && !write(apart / "cgroup.procs", "0")) return failed("joining " + apart.string());
  enableControllers(group);
  return functions;
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

Result<fs::path> functionGroups(const std::string& setting, const fs::path& hierarchy, const fs::path& list) {
  if (setting.empty()) return Error{CudaError::notSupported, "none are wanted (functions.cgroup)"};
  fs::path groups = setting;
  if (setting == "auto") {
    const std::string path = ownGroup(list);
    const fs::path own = hierarchy / fs::path(path).relative_path();
    if (path.empty() || !fs::exists(own / "cgroup.subtree_control"))
      return Error{CudaError::notSupported, "this system has no cgroup v2 at " + hierarchy.string()};
    const fs::path unit = own.parent_path() / kUnitOfFunctions;
    const bool apart = isDelegated(unit);
    if (!apart && !isDelegated(own)) {
      return Error{CudaError::notSupported, "neither " + unit.string() + " nor the daemon's group " + own.string() +
                                                " is delegated to it (Delegate=, or functions.cgroup)"};
    }
    // The unit has a process that keeps it.
    auto made = apart ? makeRoom(unit, "keeper", false) : makeRoom(own, "daemon", true);  // executors are in the daemon's: they are there already
    if (!made) return std::move(made).error();
    groups = *made;
  } else if (!fs::exists(groups / "cgroup.procs")) {
    return Error{CudaError::invalidValue, groups.string() + " is not a control group (functions.cgroup)"};
  }
  enableControllers(groups);
  return groups;
}

}  // namespace rouse::functions
