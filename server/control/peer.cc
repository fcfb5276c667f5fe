#include "server/control/peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace rouse::channel {

Result<Peer> peerOf(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return Error{CudaError::notPermitted, std::string("SO_PEERCRED: ") + std::strerror(errno)};
  }
  return Peer{credentials.pid, credentials.uid, credentials.gid};
}

}  // namespace rouse::channel
