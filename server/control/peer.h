// Who is at the other end of a Unix socket, from the kernel (SO_PEERCRED): as of the connect, whatever the peer says of
// itself.
#pragma once

#include <sys/types.h>

#include "schemas/base/result.h"

namespace rouse::channel {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

Result<Peer> peerOf(int socket);

}  // namespace rouse::channel
