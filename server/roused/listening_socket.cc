#include "server/roused/listening_socket.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/control/sync_channel.h"

namespace rouse::daemon {
namespace {

Error failed(const std::string& what) { return {CudaError::systemNotReady, what + ": " + std::strerror(errno)}; }

Status setGroup(const std::string& path, const std::string& group) {
  const ::group* entry = ::getgrnam(group.c_str());
  if (entry == nullptr) return Error{CudaError::invalidValue, "there is no group '" + group + "' for " + path};
  if (::chown(path.c_str(), static_cast<uid_t>(-1), entry->gr_gid) != 0) return failed("chown " + path);
  return {};
}

}  // namespace

Result<wire::OwnedFd> makeListeningSocket(const std::string& path, mode_t mode, const std::string& group) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{CudaError::invalidValue, "the path of a socket, '" + path + "', has " + std::to_string(path.size()) +
                                              " bytes, the limit is " + std::to_string(sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  std::error_code folder;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, folder);
  if (folder) return Error{CudaError::systemNotReady, "making " + parent.string() + ": " + folder.message()};

  wire::OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("socket");
  const auto bind = [&] {
    // Nobody may connect before mode and group are set.
    const mode_t before = ::umask(0177);
    const int result = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::umask(before);
    return result;
  };
  if (bind() != 0) {
    if (errno != EADDRINUSE) return failed("binding " + path);
    const auto other = channel::SyncChannel::connect(path);
    if (other.ok()) return Error{CudaError::systemNotReady, "another daemon listens on " + path};
    if (other.error().code == CudaError::notPermitted) return Error{CudaError::systemNotReady, path + " is another user's, who may be listening there"};
    struct stat status{};
    if (::lstat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
      return Error{CudaError::systemNotReady, path + " exists and is not a socket"};
    }
    ::unlink(path.c_str());
    if (bind() != 0) return failed("binding " + path);
  }
  if (!group.empty()) {
    if (Status status = setGroup(path, group); !status) return status.error();
  }
  if (::chmod(path.c_str(), mode) != 0) return failed("chmod " + path);
  if (::listen(socket.get(), 1024) != 0) return failed("listening on " + path);
  return socket;
}

}  // namespace rouse::daemon
