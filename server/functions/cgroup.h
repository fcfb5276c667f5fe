// Control groups (cgroup v2) for functions, in a folder that is the daemon's to use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/wire/owned_fd.h"

namespace rouse::functions {

struct GroupLimits {
  std::uint64_t memory = 0;  // bytes; 0 here and below: none
  double cpus = 0;
  std::uint32_t processes = 0;
};

// One function's. The group is removed with the object, if nobody is in it any more.
class ControlGroup {
 public:
  // Makes it, or takes over the one of that name. `notApplied`: what of the limits could not be set, each with why.
  static Result<ControlGroup> make(const std::filesystem::path& parent, const std::string& name, const GroupLimits&,
                                   std::vector<std::string>& notApplied);
  ControlGroup(ControlGroup&&) noexcept = default;
  ControlGroup& operator=(ControlGroup&&) noexcept = default;
  ~ControlGroup();

  // A process joins by writing "0" to it.
  int joining() const { return procs_.get(); }
  // Everybody in it, at once; false: the kernel cannot (it is older than 5.14).
  bool kill() const;

 private:
  ControlGroup(std::filesystem::path path, wire::OwnedFd procs) : path_(std::move(path)), procs_(std::move(procs)) {}
  std::filesystem::path path_;
  wire::OwnedFd procs_;
};

// The folder for functions' groups: as configured; or, "auto", the group of the unit rouse-functions.service beside the daemon's, where that is
// delegated, whose own process goes to a leaf; or else below the daemon's own group where that has been delegated to it, which then goes to a leaf of its own in it. The last keeps a
// service manager that knows no DelegateSubgroup= (systemd before 254) from starting another daemon in that group while it has groups with limits. The error says
// why there is none. `hierarchy`, `list`: where cgroup v2 is mounted and what the daemon's groups are; others for tests.
Result<std::filesystem::path> functionGroups(const std::string& setting, const std::filesystem::path& hierarchy = "/sys/fs/cgroup",
                                             const std::filesystem::path& list = "/proc/self/cgroup");

}  // namespace rouse::functions
