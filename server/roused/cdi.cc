#include "server/roused/cdi.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "schemas/wire/owned_fd.h"
#include "server/functions/client_environment.h"

namespace rouse::daemon {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* kShared[] = {"/", "/run", "/var/run", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/var", "/home", "/root"};

ordered_json mount(const std::string& folder) {
  return {{"hostPath", folder}, {"containerPath", folder}, {"options", {"ro", "nosuid", "nodev", "rbind", "rprivate"}}};
}

}  // namespace

Result<std::string> cdiSpec(const std::string& socket, const std::string& clientLibraries) {
  for (const std::string& path : {socket, clientLibraries}) {
    if (!path.starts_with('/')) return Error{CudaError::invalidValue, "'" + path + "' is no absolute path: containers cannot be told where it is"};
  }
  const std::string folder = fs::path(socket).lexically_normal().parent_path();
  if (std::ranges::find(kShared, folder) != std::end(kShared))
    return Error{CudaError::invalidValue, "the socket " + socket + " lies in " + folder + ", all of which containers would see: give it a folder of its own (daemon.socket)"};

  // The image's own search path stays: the auditor alone leads programs to the libraries, wherever they look. Without it there is only the path.
  ordered_json variables = ordered_json::array();
  const auto all = functions::clientEnvironment(clientLibraries, [](const char*) { return std::string(); });
  const bool redirected = std::ranges::any_of(all, [](const auto& variable) { return variable.first == "LD_AUDIT"; });
  for (const auto& [name, value] : all) {
    if (!redirected || name != "LD_LIBRARY_PATH") variables.push_back(name + "=" + value);
  }
  variables.push_back("ROUSE_SOCKET=" + socket);

  // The folder of the socket, not the socket: the next daemon makes another one.
  const ordered_json edits = {{"env", variables}, {"mounts", {mount(clientLibraries), mount(folder)}}};
  const ordered_json spec = {
      {"cdiVersion", "0.4.0"}, {"kind", kCdiKind}, {"devices", ordered_json::array({ordered_json{{"name", kCdiDevice}, {"containerEdits", edits}}})}};
  return spec.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Status writeCdi(const std::string& file, const std::string& text) {
  const auto failed = [&](const std::string& what) { return Error{CudaError::systemNotReady, what + ": " + std::strerror(errno)}; };
  std::error_code error;
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) return Error{CudaError::systemNotReady, "making " + folder.string() + ": " + error.message()};
  const std::string fresh = file + ".new";  // no runtime reads what does not end in .json or .yaml
  ::unlink(fresh.c_str());
  {
    const wire::OwnedFd made(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!made) return failed("making " + fresh);
    if (::fchmod(made.get(), 0644) != 0 || ::write(made.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      const Error reason = failed("writing " + fresh);
      ::unlink(fresh.c_str());
      return reason;
    }
  }
  if (::rename(fresh.c_str(), file.c_str()) != 0) return failed("renaming " + fresh);
  return {};
}

}  // namespace rouse::daemon
